"""How often learning calls a rubric better that deserves it, and one that cannot; and how stable the verdict is.

    python -m experiments measure gate --data FOLDER -o experiments/gate/results/embedded.json

Each run is `learn` as users call it. With shuffled labels, which say nothing about the texts, criteria and everything
after them are learned from these labels. With the labels as they are, it runs with three seeds, and twice with other
ids and another order of the rows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.runner.measurement import Measurement, Options, StoredRow, stored_rows
from experiments.runner.training import SETS, LabelledAspect, labelled_aspects, temporary_lab
from experiments.tables import table as markdown
from rubriclab import DataError, Example, Rubric, Version
from rubriclab.models.evaluation import CALIBRATED, DIRECT
from rubriclab.models.rubric import matched_criteria

SEEDS = (42, 1, 2)
RENAMINGS = (1, 2)
# The learning sets: texts wherever they fall, which are compared over the whole set; and rivals, compared in groups.
TEXTS = 30
GROUPS, RIVALS = 12, 4
REAL = "real"
# Stored results of earlier runs say of both that the rubric is not better.
UNPASSED = {"worse", "not better"}


class GateOptions(Options):
    """Which aspects, each SET or SET:ASPECT, and how often labels are shuffled in each way."""

    sets: str = SETS
    runs: int = 2


@dataclass(frozen=True)
class Case:
    """One aspect of one set, and how texts are drawn from it."""

    aspect: LabelledAspect
    design: str
    judge: str
    runs: int

    def __str__(self) -> str:
        """Return what the case is of."""
        return f"{self.aspect} {self.design}"


def cases(options: GateOptions) -> Iterator[Case]:
    """Yield the cases of the sets named."""
    for aspect in labelled_aspects(options.data, options.sets):
        for design in ("texts", "rivals"):
            yield Case(aspect, design, options.judge, options.runs)


def run(case: Case) -> list[StoredRow]:
    """Return a row for each run of a case; none where its groups hold too few rivals."""
    draw = random.Random(str(case))
    examples = drawn(case, draw)
    if not examples:
        return []
    rng, aspect = np.random.default_rng(list(str(case).encode())), case.aspect.aspect
    with temporary_lab(case.judge) as lab:

        def learned(texts: Sequence[Example], seed: int = SEEDS[0]) -> Version:
            return lab.learn(texts, name="gate", seed=seed, **case.aspect.options)

        first, *others = ((f"seed {seed}", learned(examples, seed)) for seed in SEEDS)
        others += [(f"other ids {number}", learned(renamed(examples, draw))) for number in RENAMINGS]
        rows = [row(case, REAL, name, version, first[1].rubric) for name, version in (first, *others)]
        for kind in ("within groups", "among groups") if case.design == "rivals" else ("among groups",):
            for number in range(case.runs):
                version = learned(shuffled(examples, aspect, kind, rng))
                rows.append(row(case, kind, str(number), version, first[1].rubric))
    return rows


def row(case: Case, labels: str, run: str, version: Version, first: Rubric) -> dict[str, Any]:
    """Return what `learn` says of a rubric, and how much of it the first rubric has too, by the rule of `diff`."""
    said, weights = version.provenance.validation, weights_of(version.rubric)
    assert said is not None
    rubric, *others = said.evaluators
    common = [
        min(weights_of(first)[each.before.id], weights[each.after.id])
        for each in matched_criteria(first.criteria, version.rubric.criteria)
    ]
    return {
        "set": case.aspect.set,
        "aspect": case.aspect.aspect,
        "design": case.design,
        "labels": labels,
        "run": run,
        "outcome": said.outcome,
        "deciding": said.deciding_verdict.against,
        "verdicts": {each.against: [each.outcome, each.error_outcome] for each in said.verdicts if each.outcome},
        "pearson": rubric.pearson.value,
        "low": rubric.pearson.low,
        "training": said.training.pearson.value,
        "direct": next((each.pearson.value for each in others if each.name == DIRECT), None),
        "criteria in common": round(len(common) / max(len(first.criteria), len(weights)), 4),
        "weight in common": round(sum(common), 4),
    }


def weights_of(rubric: Rubric) -> dict[str, float]:
    """Return the share of each criterion in a text's score."""
    assert rubric.aggregation is not None
    return {term.criterion: abs(term.weight) for term in rubric.aggregation.terms}


def drawn(case: Case, draw: random.Random) -> list[Example]:
    """Return the texts to learn from, by id: `TEXTS` of half of the groups, or `RIVALS` texts of `GROUPS` groups each,
    groups with more labels that differ first."""
    rows = case.aspect.examples
    groups = sorted({each.group for each in rows})
    draw.shuffle(groups)
    if case.design == "texts":
        some = set(groups[: len(groups) // 2])
        within = [each for each in rows if each.group in some]
        if len(within) < TEXTS:
            raise DataError(f"{case.aspect} has {len(within)} texts in half of its groups.", f"{TEXTS} are needed.")
        return sorted(draw.sample(within, TEXTS), key=lambda each: each.id)
    members = ([each for each in rows if each.group == group] for group in groups)
    chosen = [draw.sample(own, RIVALS) for own in members if len(own) >= RIVALS]
    chosen.sort(key=lambda own: len({each.scores[case.aspect.aspect] for each in own}) < 2)
    return sorted((each for own in chosen[:GROUPS] for each in own), key=lambda each: each.id)


def renamed(examples: Sequence[Example], draw: random.Random) -> list[Example]:
    """Return the same texts in another order, with other ids of texts and groups."""
    groups = {name: f"g{draw.getrandbits(32):08x}" for name in dict.fromkeys(each.group for each in examples)}
    found = [replace(each, id=f"t{draw.getrandbits(32):08x}", group=groups[each.group]) for each in examples]
    draw.shuffle(found)
    return found


def shuffled(examples: Sequence[Example], aspect: str, kind: str, rng: np.random.Generator) -> list[Example]:
    """Return the texts with their labels shuffled within groups, and for `among groups` the groups' labels exchanged
    before that, so that rivals' labels stay as alike as they are."""
    groups = np.array([each.group for each in examples])
    labels = np.array([each.scores[aspect] for each in examples])
    names = sorted(set(groups.tolist()))
    order = rng.permutation(names).tolist() if kind == "among groups" else names
    dealt = np.concatenate([rng.permutation(labels[groups == name]) for name in order])
    places = np.concatenate([np.flatnonzero(groups == name) for name in names])
    given = dict(zip(places.tolist(), dealt.tolist(), strict=True))
    return [
        replace(each, scores={aspect: given[place]}, annotations={}, raters={}) for place, each in enumerate(examples)
    ]


def table(rows: Sequence[StoredRow]) -> str:
    """Return the outcomes by design and labels, for Markdown."""
    lines = []
    for design, labels in dict.fromkeys((each["design"], each["labels"]) for each in rows):
        own = [each for each in rows if (each["design"], each["labels"]) == (design, labels)]
        outcomes = [each["outcome"] for each in own]
        told = [[each["verdicts"].get(name, [None, None]) for each in own] for name in (DIRECT, CALIBRATED)]
        shares = [share(outcomes, each) for each in ({"better"}, UNPASSED, {"inconclusive"})]
        direct = [share([each[place] for each in told[name]], {"better"}) for name, place in ((0, 0), (0, 1), (1, 1))]
        means = [f"{np.mean([each[name] or 0 for each in own]):.2f}" for name in ("pearson", "training", "direct")]
        lines.append([_DESIGNS[design], labels, str(len(own)), *shares, *direct, *means])
    heads = ["better", "not better", "inconclusive", "better than direct in order", "in error", "in error, calibrated"]
    return markdown(["learning set", "labels", "runs", *heads, "cross-validated", "training", "asked directly"], lines)


def share(found: Sequence[Any], wanted: Set[str]) -> str:
    """Return how often one of some outcomes was found, for the table."""
    return f"{sum(each in wanted for each in found) / len(found):.1%}"


def stability(rows: Sequence[StoredRow]) -> str:
    """Return by set how alike the rubrics are that are learned from the same texts, for Markdown."""
    real = [each for each in rows if each["labels"] == REAL]
    lines = []
    for name in (*dict.fromkeys(each["set"] for each in real), "all"):
        for others in ("seed", "other ids"):
            by_case: dict[tuple[str, ...], list[StoredRow]] = {}
            for each in real:
                if name in ("all", each["set"]) and each["run"].startswith((f"seed {SEEDS[0]}", others)):
                    by_case.setdefault((each["set"], each["aspect"], each["design"]), []).append(each)
            outcomes = [{each["outcome"] for each in own} for own in by_case.values()]
            again = [each for own in by_case.values() for each in own[1:]]
            shares = (
                np.mean([len(each) == 1 for each in outcomes]),
                np.mean(["better" in each and not each.isdisjoint(UNPASSED) for each in outcomes]),
                *(np.mean([each[key] for each in again]) for key in ("criteria in common", "weight in common")),
            )
            moved = np.mean([np.ptp([each["pearson"] or 0 for each in own]) for own in by_case.values()])
            figures = (f"{each:.0%}" for each in shares)
            lines.append([name, _OTHERS[others], str(len(by_case)), *figures, f"{moved:.2f}"])
    heads = ["same verdict", "both better and not better", "criteria in common", "weight in common"]
    return markdown(["set", "three runs with", "cases", *heads, "range of cross-validated Pearson"], lines)


_DESIGNS = {"rivals": "12 groups of 4", "texts": "30 texts"}
_OTHERS = {"seed": "other seeds", "other ids": "other ids and order"}


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    rows = stored_rows("gate")
    return {"gate": table(rows), "stability": stability(rows)}


MEASUREMENT = Measurement(
    "gate",
    "How often does `learn` call a rubric better whose labels say nothing, and how stable is its verdict?",
    GateOptions,
    cases,
    run,
    table,
)
