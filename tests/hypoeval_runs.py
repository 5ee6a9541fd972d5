"""Runs of HypoEval's learning in little, and what tests read off them."""

from __future__ import annotations

from collections import Counter

from hypoeval_scripts import (
    ASPECT,
    assignment,
    examples,
    findings,
    scripted,
)

from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.hypoeval.learn import learn
from rubriclab.methods.hypoeval.score import HypoEvalSettings
from rubriclab.methods.method import Learned, TrainingInput, silent
from rubriclab.models.text import Example

TEXTS = examples(14)
SMALL = {
    "initial_examples": 3,
    "initial_hypotheses": 3,
    "k": 4,
    "wrong_bank": 3,
    "new_hypotheses": 2,
    "refine_rounds": 3,
    "bank_size": 8,
    "selected": 2,
}


async def run(
    texts=TEXTS, *, judge=None, generator=None, found=None, scale=None, seed=1, on_progress=silent, **chosen
) -> tuple[Learned, FakeJudge, FakeJudge]:
    """Learn with small settings, except for those chosen, and return the result with the two judges."""
    judge, generator = judge or scripted(), generator or scripted()
    found = findings() if found is None else found
    learned = await learn(
        TrainingInput(tuple(texts), assignment(scale) if scale else assignment(), tuple(found)),
        HypoEvalSettings(**{**SMALL, **chosen}),
        judge=judge,
        generator=generator,
        seed=seed,
        on_progress=on_progress,
    )
    return learned, judge, generator


def label_of(prompt, texts=TEXTS) -> float:
    return next(text.scores[ASPECT] for text in texts if text.output == prompt.fields["output"])


def everybody(learned: Learned):
    return [*learned.part.criteria, *(dropped.criterion for dropped in learned.part.dropped)]


def questions(judge: FakeJudge) -> Counter:
    """Count how often each rating was asked for, repairs aside."""
    return Counter(
        (c["statement"], p.fields["output"])
        for p in judge.prompts
        if p.name.startswith("hypoeval/rate") and p.repair is None
        for c in p.fields["criteria"]
    )


def seen_texts(prompt) -> list[str]:
    return [item["output"] for item in prompt.fields["observations"]]


def order_of(learned: Learned) -> list[Example]:
    by_id = {text.id: text for text in TEXTS}
    return [by_id[name] for name in learned.examples]
