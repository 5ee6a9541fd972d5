"""How often the gate lets a rubric through that deserves it, and one that cannot.

    python -m experiments measure gate --data FOLDER -o experiments/gate/results/embedded.json

A run learns from labels that say nothing about their texts, as they were dealt out anew, and asks the gate. In a
`whole` run they were dealt before anything was learned, so that criteria are made from them; in a `matrix` run before
criteria are chosen and weighed. Runs with the labels as they are show the power.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from experiments.runner.arms import uncached_judge
from experiments.runner.measurement import Measurement, Options, StoredRow, stored_rows
from experiments.runner.training import SETS, LabelledAspect, joint_plans, labelled_aspects
from rubriclab import DataError, Example
from rubriclab.learning.baselines import FEATURE_NAMES, feature_values
from rubriclab.learning.candidates import Candidates, find_candidates
from rubriclab.learning.fitting import JointSettings, cross_validate, fit
from rubriclab.learning.gate import validation
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.methods.catalogue import JOINT
from rubriclab.models.version import Validation
from rubriclab.stats.correlation import FloatArray

SEED = 42
# The learning sets: texts wherever they fall, which are compared over the whole set; and rivals, compared in groups.
TEXTS = 30
GROUPS, RIVALS = 12, 4
# In a matrix run the settings that cross-validation would choose between are given: a hundred times as fast.
GIVEN = JointSettings(calibration="linear", repeats=1)


class GateOptions(Options):
    """Which aspects, and how often labels are dealt.

    Attributes:
        sets: each SET or SET:ASPECT, separated by commas.
        runs: matrix runs of each kind a case.
        whole: whole runs a case.
    """

    sets: str = SETS
    runs: int = 7
    whole: int = 2


@dataclass(frozen=True)
class Case:
    """One aspect of one set, and how texts are drawn from it."""

    aspect: LabelledAspect
    design: str
    judge: str
    runs: int
    whole: int

    def __str__(self) -> str:
        """Return what the case is of."""
        return f"{self.aspect} {self.design}"


def cases(options: GateOptions) -> Iterator[Case]:
    """Yield the cases of the sets named."""
    for aspect in labelled_aspects(options.data, options.sets):
        for design in ("texts", "rivals"):
            yield Case(aspect, design, options.judge, options.runs, options.whole)


def run(case: Case) -> list[StoredRow]:
    """Return a row for each run of a case; none where its groups hold too few rivals."""
    rows = []
    examples = drawn(case, random.Random(f"{case.aspect} {case.design}"))
    if not examples:
        return []
    features = feature_values(examples, FEATURE_NAMES)
    found = asyncio.run(candidates(case, examples))
    judged = found.table(case.aspect.assignment, "by method")
    rows.append(row(case, "as they are", "whole", asked(judged, features, JointSettings())))
    for kind in kinds(case):
        rng = np.random.default_rng([SEED, len(kind), len(case.aspect.aspect)])
        for number in range(case.runs):
            shuffled = replace(judged, labels=dealt(judged, kind, rng))
            rows.append(row(case, kind, "matrix", asked(shuffled, features, GIVEN, number)))
        for number in range(case.whole):
            labels = dealt(judged, kind, rng)
            relabelled = [
                replace(example, scores={case.aspect.aspect: float(label)})
                for example, label in zip(examples, labels, strict=True)
            ]
            made = asyncio.run(candidates(case, relabelled)).table(case.aspect.assignment, "by method")
            rows.append(row(case, kind, "whole", asked(made, features, JointSettings(), number)))
    return rows


def kinds(case: Case) -> tuple[str, ...]:
    """Return how labels are dealt: `within` groups where rivals are compared, as what differs between groups then stays
    and has no part in the figures; else and also `among` them, so that rivals' labels stay as alike as they are."""
    return ("within", "among") if case.design == "rivals" else ("among",)


def dealt(judged: RatingMatrix, kind: str, rng: np.random.Generator) -> FloatArray:
    """Return the labels shuffled within groups, and for `among` the groups' labels exchanged before that."""
    groups = np.array(judged.groups)
    names = sorted(set(judged.groups))
    order = rng.permutation(names) if kind == "among" else names
    labels = np.concatenate([rng.permutation(judged.labels[groups == name]) for name in order])
    given = np.empty(len(labels))
    given[np.concatenate([np.flatnonzero(groups == name) for name in names])] = labels
    return given


def asked(judged: RatingMatrix, features: FloatArray, settings: JointSettings, seed: int = 0) -> Validation:
    """Return what the gate says of the rubric that is learned from a table."""
    found = cross_validate(judged, settings, seed=seed)
    fitted = fit(judged, settings).raw(judged.values)
    return validation(judged, features, found.raw, fitted, found.folds[0], alone={}, calls={JOINT: 0.0})


def row(case: Case, labels: str, run: str, said: Validation) -> dict[str, Any]:
    """Return one run with what the gate said."""
    first, evaluator_agreement = said.verdicts[0], {each.name: each.pearson.value for each in said.evaluators}
    return {
        "set": case.aspect.set,
        "aspect": case.aspect.aspect,
        "design": case.design,
        "labels": labels,
        "run": run,
        "level": said.level,
        "n": said.n,
        "groups": said.groups,
        "outcome": said.outcome,
        "against": first.against,
        "difference": asdict(first.difference),
        "more_labels": first.more_labels,
        "own": asdict(said.evaluators[0].pearson),
        "training": said.training.pearson.value,
        "evaluators": evaluator_agreement,
        "verdicts": {verdict.against: verdict.outcome for verdict in said.verdicts},
    }


async def candidates(case: Case, examples: Sequence[Example]) -> Candidates:
    """Return what the methods find on these texts."""
    judge = uncached_judge(case.judge)
    plans = joint_plans(case.aspect, examples)
    return await find_candidates(plans, judge=judge, generator=judge, seed=SEED)


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


def table(rows: Sequence[StoredRow]) -> str:
    """Return the outcomes by design, labels and run, for Markdown."""
    lines = [
        "| learning set | correlations | labels | learned from the labels | runs | better | not better | "
        "inconclusive | interval above 0 | mean held out | mean training |",
        "|---" * 11 + "|",
    ]
    keys = dict.fromkeys((each["design"], each["level"], each["labels"], each["run"]) for each in rows)
    for key in sorted(keys):
        own = [each for each in rows if (each["design"], each["level"], each["labels"], each["run"]) == key]
        counts = Counter(each["outcome"] for each in own)
        shares = [f"{counts[outcome] / len(own):.1%}" for outcome in ("better", "not better", "inconclusive")]
        above = sum((each["own"]["low"] or 0) > 0 for each in own) / len(own)
        means = [np.mean([each["own"]["value"] or 0 for each in own]), np.mean([each["training"] or 0 for each in own])]
        figures = [str(len(own)), *shares, f"{above:.1%}", *(f"{mean:.3f}" for mean in means)]
        lines.append(f"| {' | '.join((*(_CELLS[name] for name in key), *figures))} |")
    return "\n".join(lines)


_CELLS = {
    "rivals": "12 groups of 4",
    "texts": "30 texts",
    "group": "within groups",
    "dataset": "over all texts",
    "among": "shuffled among groups",
    "within": "shuffled within groups",
    "as they are": "real",
    "matrix": "selection and weights",
    "whole": "everything",
}


def alarms(rows: Sequence[StoredRow]) -> str:
    """Return in a sentence how often the gate passed labels that say nothing, and what it said of the true ones."""
    dealt_out = [each for each in rows if each["labels"] != "as they are"]
    true = Counter(each["outcome"] for each in rows if each["labels"] == "as they are")
    whole = [each for each in dealt_out if each["run"] == "whole"]
    passed, of_whole = (sum(each["outcome"] == "better" for each in own) for own in (dealt_out, whole))
    return (
        f"The gate said `better` in {passed} of {len(dealt_out)} runs with shuffled labels ({of_whole} of the "
        f"{len(whole)} that learned everything from them).\nWith real labels it said `better` in {true['better']}, "
        f"`not better` in {true['not better']} and `inconclusive` in {true['inconclusive']} of {true.total()} runs."
    )


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    rows = stored_rows("gate")
    return {"offline": f"{table(rows)}\n\n{alarms(rows)}"}


MEASUREMENT = Measurement(
    "gate",
    "How often does the gate pass a rubric whose labels say nothing, and how often one that deserves it?",
    GateOptions,
    cases,
    run,
    table,
)
