"""Views of made-up results: at least one of each kind, and each with hostile words in every text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from difflib import unified_diff
from functools import partial
from typing import Any

from drift_samples import compared, version as drift_version
from pydantic import BaseModel
from report_samples import (
    answer_rows,
    around,
    checklist,
    checklist_part,
    criterion,
    examples,
    explained,
    joint_record,
    joint_trust,
    joint_version,
    question,
    scores_of,
    shown,
    unlabelled,
    version,
)

from rubriclab.learning.paired_scores import DriftLimits
from rubriclab.learning.scoring import Score
from rubriclab.methods.rewriting import ChangedSentence, TextFault
from rubriclab.models.evaluation import GateVerdict
from rubriclab.models.rubric import Part
from rubriclab.models.text import Aspect, Example, Scale, Units
from rubriclab.models.version import EditOrigin, Effort, Version
from rubriclab.ops.agree import CriterionAgreement, InterraterAgreement, JudgePair, JudgeScores, Kind, ScoreAgreement
from rubriclab.ops.evaluate import Evaluation
from rubriclab.ops.improve import Improvement, RevisionRound, RevisionSummary, ScoreGain
from rubriclab.ops.scores import ScoredRow, Scores, summarize_scores
from rubriclab.ops.transfer import ActionEvaluation, Transfer
from rubriclab.ops.versions import VerifyResult
from rubriclab.report.evaluation import evaluation_view
from rubriclab.report.render import View, view
from rubriclab.report.results import comparison_view, difference_view, names_view
from rubriclab.report.rubrics import evidence_view, matrix_view, training_view, version_view
from rubriclab.stats.intervals import Interval
from rubriclab.store.diff import compare
from rubriclab.store.store import Problem

Rate = Callable[[int, Example], float | None]
Sample = partial[View]


def agreed(name: str, kind: Kind, value: float | None, **fields: Any) -> CriterionAgreement:
    own: dict[str, Any] = {"trait": "linked sentences", "criteria": 1, "answers": 60, "missing": 0, "inapplicable": 0}
    return CriterionAgreement(id=name, kind=kind, alpha=around(value), **(own | fields))


def interrater(**fields: Any) -> InterraterAgreement:
    """Return how far two judges agree, with four criteria; `fields` replace its own."""
    own: dict[str, Any] = {
        "aspect": "coherence",
        "scale": Scale(low=1, high=5, whole=True),
        "texts": 60,
        "groups": 12,
        "unit": "groups",
        "judges": (JudgeScores("embedded", 60, 0, 3.1, 0.62), JudgeScores("openai/mine", 59, 1, 3.9, 0.41)),
        "pairs": (JudgePair("embedded", "openai/mine", 59, around(0.7), around(-0.8)),),
        "scores": ScoreAgreement(59, 1, around(0.71)),
        "criteria": (
            agreed("q1", "yes/no", 0.32, missing=2),
            agreed("h1", "graded", 0.11),
            agreed("q2", "yes/no", 0.62, inapplicable=7),
            agreed("q3", "yes/no", None),
        ),
        "pooled": (agreed("yes/no", "yes/no", 0.42, criteria=3, answers=180, missing=2, inapplicable=7),),
    }
    return InterraterAgreement(**(own | fields))


def gain(name: str, before: float, after: float) -> ScoreGain:
    """Return a gain with an interval of 0.1 to either side."""
    return ScoreGain(name, 3, before, after, around(after - before))


REVISION = RevisionSummary(
    rubric="news@1",
    texts=4,
    outcomes={
        "improved": 1,
        "without fault": 1,
        "rejected by the judge": 1,
        "no usable rewriting": 0,
        "no sentence at fault": 2,
        "unscored": 1,
    },
    sentences=12,
    changed=2,
    judge=gain("embedded", 3, 4),
    criteria=(gain("h01 order", 2, 4), ScoreGain("h02 links", 3, 4.0, 4.0, Interval(0.0, 0.0, 0.0))),
)


def _improvement() -> Improvement:
    """Return a text with a round that was rejected and one that was accepted."""
    wrong, right = "It is wrong.", "It is right."
    before, after = (Score("t1", "coherence", value, (), None, "news@1", "embedded") for value in (2.0, 4.5))
    change = ChangedSentence(2, wrong, right, wrong)
    faults = (TextFault(wrong, "asks", "aim", (2,), wrong), TextFault("order", "asks", "aim", (), wrong))
    rounds = (
        RevisionRound(1, faults, (change,), 2.0, "rejected by the judge", "the judge: 2 to 2"),
        RevisionRound(2, faults, (change,), 4.5, None, "the judge: 2 to 4.5"),
    )
    text = Example(id="t1", output=wrong, group="g")
    return Improvement("t1", text, right, "news@1", "embedded", "embedded", before, after, rounds=rounds)


ONE_TO_FIVE, FIGURE = Scale(low=1, high=5, whole=True), Interval(0.4, 0.1, 0.6)
# One way to use a rubric on other texts was measured, the other one not.
TRANSFER = Transfer(
    rubric="news@1",
    judge="blog.jsonl",
    calibrated_for="embedded",
    target="blog.jsonl",
    aspect="blog.jsonl",
    source_aspect="coherence",
    scale=ONE_TO_FIVE,
    source_scale=ONE_TO_FIVE,
    texts=21,
    unscored=1,
    unscored_reason="blog.jsonl",
    labels=20,
    groups=6,
    actions=(
        ActionEvaluation(action="reuse", level="group", n=20, groups=6, spearman=FIGURE, error=FIGURE),
        ActionEvaluation(action="relearn", skipped="blog.jsonl"),
    ),
    recommended="reuse",
)


def _scores() -> Scores:
    scores = scores_of(version(), examples(), every_score_but_one)
    rows = tuple(ScoredRow(score, None) for score in scores)
    return Scores(rows, version().ref, Effort(), summarize_scores(scores, ONE_TO_FIVE))


def every_score_but_one(number: int, _: Example) -> float | None:
    """Return the score of a text by its number."""
    return None if number == 5 else 1.0 + (number * 3) % 4


def evaluated(
    versions: Sequence[Version], scored: Mapping[str, Any], texts: Sequence[Example], *, brief: bool = False
) -> View:
    """Return the evaluation that `rubriclab evaluate` makes of these scores."""
    evaluation = Evaluation(tuple(versions), tuple(texts), scored, Effort())
    return evaluation_view(evaluation, brief=brief)


def evaluation(*versions: Version, rate: Rate = every_score_but_one, brief: bool = False, **fields: Any) -> Sample:
    """Return the evaluation of versions of one aspect; checklists answer, others score by `rate`."""
    texts = [replace(text, **fields) for text in examples()]
    scored = {
        one.ref: answer_rows(one, texts) if one.rubric.criteria[0].kind == "question" else scores_of(one, texts, rate)
        for one in versions
    }
    return partial(evaluated, versions, scored, texts, brief=brief)


def _combination() -> Sample:
    """Return the evaluation of a rubric of several methods, of whose criteria it is known what each adds."""
    one, texts = joint_version(), examples()
    scores = []
    for score in scores_of(one, texts, lambda number, _: 1.0 + (number * 3) % 4):
        criteria = [replace(each, contribution=-0.4 if each.id == "h01" else 0.25) for each in score.criteria]
        scores.append(replace(score, interval=(1.0, 2.755), criteria=tuple(criteria)))
    return partial(evaluated, (one,), {one.ref: scores}, texts)


def _two_aspects() -> Sample:
    texts = [replace(text, scores={**text.scores, "fluency": 9 - text.scores["coherence"]}) for text in examples()]
    one, two = version(), version(name="plain", aspect=Aspect(name="fluency", definition="How well it reads."))
    scored = {each.ref: scores_of(each, texts, lambda _, text: text.scores["coherence"]) for each in (one, two)}
    return partial(evaluated, (one, two), scored, texts, brief=True)


def _training(**fields: Any) -> Sample:
    """Return how a rubric of several methods was learned; `fields` replace those of every text of its record."""
    record = joint_record()
    texts = tuple(text.model_copy(update=fields) for text in record.texts)
    return partial(training_view, joint_version(), record.model_copy(update={"texts": texts}))


def _edited() -> Version:
    """Return a version that an edit has made worse than `joint_version()`."""
    edit = EditOrigin(
        author="lead", because="order", changes=(), labels=30, folds=6, difference=Interval(-0.1, -0.2, -0.05)
    )
    worse = joint_trust(verdicts=(GateVerdict(against="word count", outcome="not better", difference=Interval(0.0)),))
    first = joint_version()
    made = first.provenance.model_copy(update={"validation": worse, "edit": edit})
    return replace(first, number=4, parent=first.ref, provenance=made)


BARE_PARTS = (Part(method="hypoeval", settings={"k": 10}, criteria=(criterion(),)),)
BARE = version(agreement=None, baseline=None, parent=None, model_versions=(), tags=(), parts=BARE_PARTS)
BY_ONE_CRITERION = drift_version({"a": 1}), drift_version({"a": 1}, number=2)
BEFORE_AND_AFTER = [{"a": 2.0}, {"a": 4.0}], [{"a": 2.5}, {"a": 4.5}]
FACTS = Units(kind="fact", beside=("source",))
BY_FACTS: dict[str, Any] = {"method": "seal", "units": FACTS, "settings": {"weights": "as packed"}, "dropped": ()}
FACT_PART = checklist_part(question("f1", support="source"), question("f2")).model_copy(update=BY_FACTS)


def _difference(before: Version, after: Version) -> Sample:
    return partial(difference_view, compare(before, after))


VERDICTS = Scale(low=0, high=1, whole=False, names=("bad", "good"))
LIMITS = DriftLimits(max_shift=0.1, max_flips=0.5, min_rank=0.5)
# What each view is made by and of.
VIEWS: dict[str, Sample] = {
    "training": partial(evidence_view, joint_version()),
    "version": partial(evidence_view, version()),
    "combined": partial(version_view, joint_version()),
    "checklist": partial(evidence_view, checklist()),
    "explanation": partial(version_view, explained()),
    "demonstrations": partial(version_view, shown()),
    "unlabelled": partial(version_view, unlabelled()),
    "rubric": partial(view, "rubric", result=version().rubric),
    "results": evaluation(version(), brief=True),
    "scores": partial(view, "scores", result=_scores()),
    "transfer": partial(view, "transfer", transfer=TRANSFER),
    "difference": _difference(version(), checklist(2)),
    "matrix": partial(
        matrix_view,
        joint_version(),
        joint_record().model_copy(update={"texts": joint_record().texts[:6], "cells": joint_record().cells[:6]}),
    ),
    "interrater": partial(view, "interrater", version=version(2), agreement=interrater()),
    "revision": partial(view, "revision", summary=REVISION, effort=Effort(calls=7)),
    "rewriting": partial(view, "rewrite", result=_improvement()),
    "names": partial(names_view, [version(), version(2, agreement=None, tags=()), explained(), joint_version()]),
    "log": partial(view, "log", versions=[version(2), version(1, parent=None, judge="embedded", generator="embedded")]),
    "problems": partial(
        view,
        "verify",
        result=VerifyResult(
            "store.db", 2, (Problem("news@1", "its rubric is missing"), Problem("news@2", "it differs"))
        ),
    ),
    "nothing measured": partial(version_view, BARE),
    "verdicts": partial(evidence_view, version(scale=VERDICTS)),
    "units": partial(version_view, version(name="pieces", parts=(FACT_PART,))),
    "edited": _difference(joint_version(), _edited()),
    "drift": partial(
        comparison_view,
        compared(
            drift_version({"a": 1, "b": 1}),
            drift_version({"b": 1, "c": 3}, number=2),
            [{"a": 5.0, "b": 4.0, "c": 1.0}, {"a": 4.0, "b": 4.0, "c": 4.0}],
        ),
    ),
    "limits": partial(comparison_view, compared(*BY_ONE_CRITERION, *BEFORE_AND_AFTER, limits=LIMITS)),
}
PAGES: dict[str, Sample] = {
    "training": _training(),
    "training with context": _training(context="What about it?"),
    "training without held-out scores": _training(predicted=None, low=None, high=None),
    "training without record": partial(training_view, joint_version(), None),
    **{f"training of {one.ref}": partial(training_view, one, None) for one in (version(), checklist(), explained())},
    "evaluation": evaluation(version(), version(2)),
    "evaluation of answers": evaluation(checklist()),
    "evaluation with raters": evaluation(
        version(), rate=lambda n, _: 1.0 + (n * 3) % 4, annotations={"coherence": (1.0, 2.0)}
    ),
    "evaluation without scores": evaluation(version(agreement=None, baseline=None), rate=lambda *_: None),
    "evaluation of a combination": _combination(),
    "evaluation of two aspects": _two_aspects(),
}
# Variants of a view or page, of which only the lines are pinned that it does not share with the other.
VARIANTS = {
    "combined": "training",
    "verdicts": "version",
    "units": "checklist",
    "demonstrations": "explanation",
    "unlabelled": "nothing measured",
    "limits": "drift",
    **{name: "training of news@1" for name in PAGES if name.startswith("training of ")},
    **{name: name.split()[0] for name in PAGES if name.startswith(("training with", "evaluation "))},
}
del VARIANTS["training of news@1"]


def pinned(name: str, lines: Callable[[Sample], list[str]], samples: Mapping[str, Sample]) -> str:
    """Return the lines of a sample; of a variant the new ones, each run below the numbers of lines that it replaces."""
    if name not in VARIANTS:
        return "\n".join(lines(samples[name]))
    changes = unified_diff(lines(samples[VARIANTS[name]]), lines(samples[name]), n=0, lineterm="")
    # The places of later runs would change with every line before them.
    runs = (re.sub(r"^@@ -\d+(,\d+)? .*", r"@@ \1", each) for each in list(changes)[2:] if each[0] in "@+")
    return "\n".join(runs)


# Fields that hold names of ours, not texts from outside.
OURS = """
kind origin better absent broken level levels outcome action state limit weights beside outcomes rejected method
settings feature answers figures measure statistic constant pairing recommended error_outcome names made_by
"""
CODES = frozenset(OURS.split())


def hostile(sample: Sample, words: str) -> View:
    """Return the view of a sample in which every text that may be from outside begins with these words."""
    options = {name: _spoiled(value, words) for name, value in sample.keywords.items() if name != "brief"}
    # The name of a template stays.
    template = [each for each in sample.args if isinstance(each, str)]
    shown: View = sample.func(*(template or _spoiled(sample.args, words)), **{**sample.keywords, **options})
    return shown


def _spoiled(value: Any, words: str) -> Any:
    if isinstance(value, str):
        return f"{words}{value}"
    if isinstance(value, Mapping):
        spoiled = {_spoiled(key, words): _spoiled(each, words) for key, each in value.items()}
        return type(value)(spoiled) if isinstance(value, dict) else spoiled
    if isinstance(value, list | tuple):
        return type(value)(_spoiled(each, words) for each in value)
    if isinstance(value, BaseModel):
        names = set(type(value).model_fields) - CODES
        return value.model_copy(update={name: _spoiled(getattr(value, name), words) for name in names})
    if is_dataclass(value) and not isinstance(value, Interval):
        names = {each.name for each in fields(value) if each.init} - CODES
        return replace(value, **{name: _spoiled(getattr(value, name), words) for name in names})  # type: ignore[type-var]
    return value
