"""How rubrics learned from pass and fail do on texts that learning never saw, beside the judge asked directly.

    python -m experiments measure binary --data FOLDER -o experiments/binary/results/embedded.json

Scores of two public sets, and of the sample, become pass and fail by a threshold. `learn` gets 30 of these labels, of
half of the groups, and `evaluate` the texts of the other groups; the sample is divided as it ships.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from experiments import ROOT
from experiments.datasets import native_row
from experiments.runner.measurement import Measurement, Options, StoredRow, stored_rows
from experiments.runner.training import LabelledAspect, labelled_aspects, temporary_lab
from experiments.tables import table as markdown
from rubriclab import Example, Lab, read
from rubriclab.data.check import training_examples

LEARNED = 30
SAMPLE_ASPECTS = ("coherence", "consistency", "fluency", "relevance")
FIGURES = ("recall of fail", "recall of pass", "balanced accuracy", "AUROC", "Brier score")
EVALUATORS = ("rubric", "direct")


class BinaryOptions(Options):
    """Which human-scored texts, each SET:ASPECT, with the lowest score that passes, and how many learning sets."""

    aspects: str = (
        "newsroom:coherence=3.5,newsroom:fluency=3.5,newsroom:informativeness=3.5,newsroom:relevance=3.5,"
        "topical_chat:naturalness=2.5,topical_chat:coherence=2.5,topical_chat:engagingness=2.5"
    )
    sample: float = 4
    runs: int = 5


class Case(NamedTuple):
    """One aspect; of the sample without a set."""

    aspect: LabelledAspect | str
    passing: float
    runs: int
    judge: str

    def __str__(self) -> str:
        """Return what the case is of."""
        return f"sample {self.aspect}" if isinstance(self.aspect, str) else str(self.aspect)


def cases(options: BinaryOptions) -> Iterator[Case]:
    """Yield the cases."""
    for name in filter(None, options.aspects.split(",")):
        named, _, passing = name.partition("=")
        (aspect,) = labelled_aspects(options.data, named)
        yield Case(aspect, float(passing), options.runs, options.judge)
    for name in SAMPLE_ASPECTS:
        yield Case(name, options.sample, 1, options.judge)


def run(case: Case) -> list[StoredRow]:
    """Return a row for each learning set."""
    rng = np.random.default_rng(list(str(case).encode()))
    with temporary_lab(case.judge) as lab:
        return [row for number in range(case.runs) for row in measured(lab, case, number, *divided(case, rng))]


def divided(case: Case, rng: np.random.Generator) -> tuple[Sequence[Example], Sequence[Example]]:
    """Return texts to learn from, and texts of other groups."""
    if isinstance(case.aspect, str):
        paths = (ROOT / "sample" / f"{name}.jsonl" for name in ("labelled", "heldout"))
        labelled, others = (training_examples(read(path), case.aspect).examples for path in paths)
        return labelled, others
    examples = case.aspect.examples
    groups = rng.permutation(sorted({each.group for each in examples})).tolist()
    half = set(groups[: len(groups) // 2])
    pool = [each for each in examples if each.group in half]
    chosen = [pool[place] for place in sorted(rng.permutation(len(pool))[:LEARNED].tolist())]
    return chosen, [each for each in examples if each.group not in half]


def measured(
    lab: Lab, case: Case, number: int, labelled: Sequence[Example], others: Sequence[Example]
) -> Iterator[StoredRow]:
    """Yield what `evaluate` says of the verdicts of the rubric, and of the judge asked directly."""
    aspect = case.aspect if isinstance(case.aspect, str) else case.aspect.aspect
    about = {"task": "summarization", "aspect": aspect} if isinstance(case.aspect, str) else case.aspect.options
    options = {name: value for name, value in about.items() if name != "scale"}
    learned_from, test = ([passed(each, aspect, case.passing) for each in texts] for texts in (labelled, others))
    versions = [
        lab.learn(learned_from, name=name, **methods, **options)
        for name, methods in (("rubric", {}), ("direct", {"methods": ["direct"]}))
    ]
    found = [row for row in lab.evaluate(test, versions).to_row()["results"] if "recalls" in row]
    said = versions[0].provenance.validation
    assert said is not None
    for row, name in zip(found, EVALUATORS, strict=False):
        figures = (*row["recalls"], row["balanced_accuracy"], row["auroc"], row["brier"])
        yield {
            "case": str(case),
            "run": number,
            "passed": round(float(np.mean([each["scores"][aspect] for each in test])), 4),
            "outcome": said.outcome,
            "evaluator": name,
            **{name: each["value"] for name, each in zip(FIGURES, figures, strict=True)},
        }


def passed(example: Example, aspect: str, passing: float) -> dict[str, Any]:
    """Return a text as a row whose label is whether its score is high enough."""
    row = native_row(replace(example, annotations={}, raters={}))
    return {**row, "scores": {aspect: example.scores[aspect] >= passing}}


def table(rows: Sequence[StoredRow]) -> str:
    """Return the means of the figures by aspect and evaluator, for Markdown."""
    lines = []
    public = [each for each in rows if not each["case"].startswith("sample")]
    for name in (*dict.fromkeys(each["case"] for each in rows), "mean of the public sets"):
        own = [each for each in rows if each["case"] == name] or public or rows
        passes = f"{np.mean([each['passed'] for each in own]):.0%}"
        for evaluator in EVALUATORS:
            found = [each for each in own if each["evaluator"] == evaluator]
            values = ([each[figure] for each in found if each[figure] is not None] for figure in FIGURES)
            lines.append([name, passes, str(len(found)), evaluator, *(f"{np.mean(each):.2f}" for each in values)])
    return markdown(["aspect", "pass", "sets", "evaluator", *FIGURES], lines)


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    return {"binary": table(stored_rows("binary"))}


MEASUREMENT = Measurement(
    "binary",
    "How do rubrics learned from pass and fail do on texts that learning never saw?",
    BinaryOptions,
    cases,
    run,
    table,
)
