"""What the tests of HypoEval share: labelled texts, an assignment, and judges that answer by script."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.hypoeval.learn import learn
from rubriclab.methods.hypoeval.score import HypoEvalSettings
from rubriclab.methods.method import Learned, TrainingInput, ignore_progress
from rubriclab.methods.sources import Finding
from rubriclab.models.base import digest
from rubriclab.models.rubric import Criterion, Evidence, Level
from rubriclab.models.text import Assignment, Example, Scale, find_aspect, format_score, task_words
from rubriclab.prompts.prompt import Prompt

ONE_TO_FIVE = Scale(low=1, high=5, whole=True)
ASPECT = "coherence"

Said = Mapping[str, Any] | str


def assignment(scale: Scale = ONE_TO_FIVE) -> Assignment:
    """Return the coherence of summaries, judged on `scale`."""
    return Assignment(task_words("summarization"), find_aspect("summarization", ASPECT), scale)


def example(number: int, score: float, group: str = "g0", **fields: Any) -> Example:
    """Return a text that its number tells apart from every other."""
    return Example(
        id=f"t{number:02d}", output=f"Summary number {number}.", group=group, scores={ASPECT: score}, **fields
    )


def examples(count: int = 30, scale: Scale = ONE_TO_FIVE, groups: int = 6, seed: int = 0) -> tuple[Example, ...]:
    """Return texts with labels drawn from the scale's anchors, in `groups` groups, from several systems."""
    draw = random.Random(f"labels {seed}")
    return tuple(
        example(i, draw.choice(scale.anchors()), f"g{i % groups}", source=f"Source {i % groups}.", system=f"s{i // 6}")
        for i in range(count)
    )


def findings(count: int = 2) -> tuple[Finding, ...]:
    """Return claims from publications that nobody wrote."""
    return tuple(
        Finding(id=f"f{i}", aspects=(), claim=f"Claim {i} of the literature.", citation="A (2024)")
        for i in range(count)
    )


def training_input(texts: Sequence[Example]) -> TrainingInput:
    """Return these labelled texts with findings, to learn from."""
    return TrainingInput(tuple(texts), assignment(), findings())


def words(name: str, count: int) -> str:
    """Return made-up words: the same for the same name, and unlike those of any other."""
    draw = random.Random(name)
    return " ".join("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 9))) for _ in range(count))


def hypothesis(name: str, anchors: Sequence[float] = (1, 2, 3, 4, 5)) -> dict[str, Any]:
    """Return a hypothesis as a generator would word it; names decide the wording."""
    levels = {format_score(anchor): words(f"{name} {anchor}", 6) for anchor in anchors}
    return {"trait": name, "statement": words(name, 20), "levels": levels}


def proposal(*names: str, anchors: Sequence[float] = (1, 2, 3, 4, 5)) -> dict[str, Any]:
    """Return a reply with a hypothesis for each name."""
    return {"reasoning": "Compared.", "hypotheses": [hypothesis(name, anchors) for name in names]}


def criterion(
    name: str, *, weight: float = 1.0, origin: Any = "labels", anchors: Sequence[float] = (1, 2, 3, 4, 5)
) -> Criterion:
    """Return a criterion with the id and trait `name`."""
    told = hypothesis(name, anchors)
    levels = tuple(Level(score=float(score), description=text) for score, text in told["levels"].items())
    evidence = Evidence(origin=origin)
    return Criterion(
        id=name,
        kind="hypothesis",
        trait=name,
        statement=told["statement"],
        levels=levels,
        weight=weight,
        evidence=evidence,
    )


def rating(score: float, reasoning: str = "Because.") -> dict[str, Any]:
    """Return a reply to a rating prompt."""
    return {"reasoning": reasoning, "score": score}


def drawn_rating(prompt: Prompt[Any], trait: str, seed: int = 0) -> float:
    """Return an anchor of the scale by lot: the same for the same trait and text."""
    lot = random.Random(digest([seed, trait, prompt.fields["output"]]))
    return float(lot.choice(prompt.fields["scale"]["anchors"]))


class Scripted:
    """The usual answers to every prompt of HypoEval; `answers` replaces single ones by the template's name.

    Hypotheses are all new and unlike, ratings are drawn by lot, and nothing is redundant.
    """

    def __init__(self, seed: int = 0, **answers: Callable[[Prompt[Any]], Said]) -> None:
        self._seed = seed
        self._proposed = 0
        self._answers: dict[str, Callable[[Prompt[Any]], Said]] = {
            "propose": lambda prompt: self.proposal(prompt.fields["count"], _anchors(prompt)),
            "refine": lambda prompt: self.proposal(len(prompt.fields["hypotheses"]), _anchors(prompt)),
            "group": lambda _: {"groups": []},
            "rate": lambda prompt: rating(drawn_rating(prompt, prompt.fields["criteria"][0]["trait"], seed)),
            "rate_together": self._together,
            **answers,
        }

    def __call__(self, prompt: Prompt[Any]) -> Said:
        return self._answers[prompt.name.rsplit("/", 1)[1]](prompt)

    def proposal(self, count: int, anchors: Sequence[float] = (1, 2, 3, 4, 5)) -> dict[str, Any]:
        """Return `count` hypotheses unlike all before."""
        names = [f"trait {self._seed}.{self._proposed + place}" for place in range(count)]
        self._proposed += count
        return proposal(*names, anchors=anchors)

    def _together(self, prompt: Prompt[Any]) -> Said:
        return {
            each["id"]: {"reason": "Because.", "score": drawn_rating(prompt, each["trait"], self._seed)}
            for each in prompt.fields["criteria"]
        }


def _anchors(prompt: Prompt[Any]) -> list[float]:
    return list(prompt.fields["scale"]["anchors"])


def scripted(seed: int = 0, **answers: Callable[[Prompt[Any]], Said]) -> FakeJudge:
    """Return a fake judge with the usual answers, except for `answers`."""
    return FakeJudge(Scripted(seed, **answers))


def of_kind(judge: FakeJudge, name: str) -> list[Prompt[Any]]:
    """Return the prompts of one template that the judge was asked."""
    return [prompt for prompt in judge.prompts if prompt.name.endswith(f"/{name}")]


# Runs of learning in little, and what tests read off them

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
    texts=TEXTS, *, judge=None, generator=None, found=None, scale=None, seed=1, on_progress=ignore_progress, **chosen
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
