"""What the tests of SEEval and the baselines share: judges that score by script, and replies with probabilities."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypoeval_scripts import ASPECT, assignment, example

from rubriclab.errors import JudgeUnavailable
from rubriclab.judges.judge import FakeJudge, Reply, Token
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import Learned, TrainingInput, ignore_progress
from rubriclab.models.base import digest
from rubriclab.models.rubric import Criterion, Evidence, Part
from rubriclab.models.text import Example, Scale
from rubriclab.prompts import render
from rubriclab.prompts.prompt import Prompt

Said = Mapping[str, Any] | str | Reply
Script = Callable[[Prompt[Any]], Said]
Scorer = Callable[[Prompt[Any]], float | None]

BASELINES = ("direct", "few_shot", "geval", "analyze_rate")
OVERALL = ("seeval", *BASELINES)
WITHOUT_LABELS = ("seeval", "direct", "geval", "analyze_rate")


def by_lot(prompt: Prompt[Any]) -> float:
    """Return an anchor of the scale: the same for the same text, explanation and sample."""
    fields = prompt.fields
    draw = random.Random(digest([fields["output"], fields.get("explanation"), prompt.sample]))
    return float(draw.choice(fields["scale"]["anchors"]))


class Overall:
    """The usual answers to every prompt of SEEval and the baselines.

    `score` gives each text's score, `None` for a text that the judge is unavailable for; `answers` replace others by
    the template's name.
    """

    def __init__(self, score: Scorer = by_lot, **answers: Script) -> None:
        self._score = score
        self._answers: dict[str, Script] = {
            "seeval/explain": lambda p: {"explanation": f"Explanation number {p.sample}."},
            "seeval/refine": lambda p: {"reasoning": "Compared.", "explanation": rewriting(p)},
            "geval/steps": lambda _: {"steps": ["Read it.", "Settle on a score."]},
            **{name.replace("__", "/"): script for name, script in answers.items()},
        }

    def __call__(self, prompt: Prompt[Any]) -> Said:
        if prompt.name in self._answers:
            return self._answers[prompt.name](prompt)
        score = self._score(prompt)
        if score is None:
            raise JudgeUnavailable(f"busy with {prompt.fields['output']}")
        words = {"reasoning": "Because.", "analysis": "At length."}
        return {name: words.get(name, score) for name in prompt.reply.model_fields}


def rewriting(prompt: Prompt[Any]) -> str:
    """Return an explanation that tells what it was rewritten from."""
    return f"Rewritten from: {' '.join(item['output'] for item in prompt.fields['observations'])}"


def overall(score: Scorer = by_lot, **answers: Script) -> FakeJudge:
    """Return a fake judge with the usual answers, except for `answers`."""
    return FakeJudge(Overall(score, **answers))


def weighing(shares: Mapping[float, float]) -> Reply:
    """Return a bare score as a provider with log-probabilities gives it; the likeliest score is the one chosen."""
    alternatives = tuple((f"{score:g}", math.log(share)) for score, share in shares.items())
    chosen = f"{max(shares, key=lambda score: shares[score]):g}"
    tokens = (
        Token('{"score": ', (('{"score": ', -0.01),)),
        Token(chosen, alternatives),
        Token("}", (("}", -0.01),)),
    )
    return Reply("".join(token.text for token in tokens), "fake", tokens=tokens)


def whole(statement: str = "What is said of it.", **fields: Any) -> Criterion:
    """Return a criterion of the whole aspect."""
    own = {"id": "score", "kind": "score", "trait": ASPECT, "evidence": Evidence(origin="definition")}
    return Criterion(**{**own, "statement": statement, **fields})


def part(method: Any, criterion: Criterion | None = None, **chosen: Any) -> Part:
    """Return a part of one criterion, with the method's settings as chosen."""
    settings = METHODS[method].settings(**chosen).model_dump(mode="json")
    return Part(method=method, settings=settings, criteria=(criterion or whole(),))


def graded(count: int, groups: int = 6, scale: Scale | None = None) -> tuple[Example, ...]:
    """Return texts whose labels run through the scale's anchors again and again."""
    anchors = (scale or Scale(low=1, high=5, whole=True)).anchors()
    return tuple(example(i, anchors[i % len(anchors)], f"g{i % groups}", source=f"Source {i}.") for i in range(count))


def labels_of(texts: Sequence[Example]) -> dict[str, float]:
    """Return the label of each text by its words."""
    return {text.output: text.scores[ASPECT] for text in texts}


async def learn(
    method: str,
    texts: Sequence[Example],
    *,
    judge: Any = None,
    generator: Any = None,
    seed: int = 1,
    scale: Scale | None = None,
    on_progress: Any = ignore_progress,
    **chosen: Any,
) -> Learned:
    """Return what a method learns from the texts."""
    found = METHODS[method]
    judge = judge or overall()
    return await found.learn(
        TrainingInput(tuple(texts), assignment(scale) if scale else assignment()),
        found.settings(**chosen),
        judge=judge,
        generator=generator or judge,
        seed=seed,
        on_progress=on_progress,
    )


def ratings_asked(judge: FakeJudge) -> list[Prompt[Any]]:
    """Return the prompts by which texts were scored, repairs aside."""
    return [prompt for prompt in judge.prompts if prompt.name.endswith("/rate") and prompt.repair is None]


def of_template(judge: FakeJudge, name: str) -> list[Prompt[Any]]:
    """Return the prompts of one template that the judge was asked."""
    return [prompt for prompt in judge.prompts if prompt.name == name]


def said(prompt: Prompt[Any]) -> str:
    """Return everything that a judge reads of a prompt."""
    return json.dumps(render(prompt), ensure_ascii=False)
