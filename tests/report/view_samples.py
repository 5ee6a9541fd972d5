"""Results to view, all made up: agreement of judges, rewritten texts, and one view of each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from joint_samples import hostile_joint, joint_record, joint_version
from kinds_samples import checklist, explained, hostile_kinds, shown, unlabelled
from report_samples import examples, hostile_evaluation, hostile_version, results_of, scores_of, version

from rubriclab.learning.rewriting import SentenceEdit, TextFault
from rubriclab.learning.scoring import Score
from rubriclab.models.text import Example, Scale
from rubriclab.models.version import Effort
from rubriclab.ops.evaluate import (
    CriterionAgreement,
    Figure,
    Figures,
    InterraterAgreement,
    JudgePair,
    JudgeScores,
    Kind,
    ScoreAgreement,
)
from rubriclab.ops.improve import Improvement, RevisionRound, RevisionSummary, ScoreGain
from rubriclab.ops.scores import ScoredRow, Scores, summarize_scores
from rubriclab.ops.transfer import ActionEvaluation, Transfer
from rubriclab.report.evaluation import evaluation_view
from rubriclab.report.render import View
from rubriclab.report.results import (
    difference_view,
    improvement_view,
    interrater_view,
    log_view,
    names_view,
    problems_view,
    rewrite_view,
    scores_view,
    transfer_view,
)
from rubriclab.report.rubrics import evidence_view, matrix_view, rubric_view, version_view
from rubriclab.stats.intervals import Interval
from rubriclab.store.diff import compare
from rubriclab.store.store import Problem

UNDEFINED = Interval(None)
FIGURES: dict[Kind, tuple[Figure, ...]] = {
    "yes/no": ("alpha_nominal", "fleiss_kappa"),
    "graded": ("alpha_interval",),
}


def around(value: float | None) -> Interval:
    """Return a figure with an interval of 0.1 to either side."""
    return UNDEFINED if value is None else Interval(value, value - 0.1, value + 0.1)


def figures(names: tuple[Figure, ...], value: float | None) -> Figures:
    """Return figures each a hundredth above the one before."""
    return {name: around(None if value is None else value + place / 100) for place, name in enumerate(names)}


def agreed(name: str, kind: Kind, value: float | None, **fields: Any) -> CriterionAgreement:
    """Return how far judges agree by one criterion."""
    own: dict[str, Any] = {"trait": "linked sentences", "criteria": 1, "answers": 60, "missing": 0, "inapplicable": 0}
    return CriterionAgreement(id=name, kind=kind, figures=figures(FIGURES[kind], value), **(own | fields))


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


NO_GAIN = ScoreGain("h02 links", 3, 4.0, 4.0, Interval(0.0, 0.0, 0.0))


def revision(**fields: Any) -> RevisionSummary:
    """Return what became of four texts; `fields` replace others."""
    outcomes = {"improved": 1, "without fault": 1, "rejected by the judge": 1}
    rare = {"no usable rewriting": 0, "no sentence at fault": 2, "unscored": 1}
    own: dict[str, Any] = {
        "rubric": "news@1",
        "texts": 4,
        "outcomes": outcomes | rare,
        "sentences": 12,
        "changed": 2,
        "judge": gain("embedded", 3, 4),
        "criteria": (gain("h01 order", 2, 4), NO_GAIN),
    }
    return RevisionSummary(**(own | fields))


def improvement(name: str = "t1", words: str = "It is wrong.") -> Improvement:
    """Return a text with a round that was rejected and one that was accepted."""
    scores = [Score(name, "coherence", value, (), None, "news@1", "embedded") for value in (2.0, 4.5)]
    change = SentenceEdit(2, words, "It is right.", words)
    faults = (TextFault(words, "asks", "aim", (2,), words), TextFault("order", "asks", "aim", (), words))
    rounds = (
        RevisionRound(1, faults, (change,), 2.0, "rejected by the judge", "the judge: 2 to 2"),
        RevisionRound(2, faults, (change,), 4.5, None, "the judge: 2 to 4.5"),
    )
    example = Example(id=name, output=words, group="g")
    return Improvement(
        name, example, "It is right.", "news@1", "embedded", "embedded", scores[0], scores[1], rounds=rounds
    )


def transfer(words: str = "blog.jsonl") -> Transfer:
    """Return a rubric on other texts, with one way that was measured and one that was not."""
    statistic = Interval(0.4, 0.1, 0.6)
    scale = Scale(low=1, high=5, whole=True)
    return Transfer(
        rubric="news@1",
        judge=words,
        calibrated_for="embedded",
        target=words,
        aspect=words,
        source_aspect="coherence",
        scale=scale,
        source_scale=scale,
        texts=21,
        unscored=1,
        unscored_reason=words,
        labels=20,
        groups=6,
        actions=(
            ActionEvaluation(action="reuse", level="group", n=20, groups=6, spearman=statistic, error=statistic),
            ActionEvaluation(action="relearn", skipped=words),
        ),
        recommended="reuse",
    )


def listed(rubric: str, scores: Sequence[Score]) -> Scores:
    """Return scores of rows that hold nothing else."""
    summary = summarize_scores(scores, Scale(low=1, high=5, whole=True))
    return Scores(tuple(ScoredRow(score, None) for score in scores), rubric, Effort(), summary)


def _scores() -> list[Score]:
    return scores_of(version(), examples(), lambda number, _: None if number == 5 else 1.0 + (number * 3) % 4)


def _results() -> View:
    news, texts = version(), examples()
    scored = {news.ref: _scores()}
    return evaluation_view([news], results_of([news], scored, texts), scored, texts, brief=True)


# One view of each kind, made when it is called for.
USUAL_VIEWS: dict[str, Callable[[], View]] = {
    "training": lambda: evidence_view(joint_version()),
    "version": lambda: evidence_view(version()),
    "combined": lambda: version_view(joint_version()),
    "checklist": lambda: evidence_view(checklist()),
    "explanation": lambda: version_view(explained()),
    "demonstrations": lambda: version_view(shown()),
    "unlabelled": lambda: version_view(unlabelled()),
    "rubric": lambda: rubric_view(version().rubric),
    "results": _results,
    "scores": lambda: scores_view(listed(version().ref, _scores())),
    "transfer": lambda: transfer_view(transfer()),
    "difference": lambda: difference_view(compare(version(), checklist(2))),
    "matrix": lambda: matrix_view(joint_version(), joint_record()),
    "interrater": lambda: interrater_view("news@2", interrater()),
    "revision": lambda: improvement_view(revision(), Effort(calls=7)),
    "rewriting": lambda: rewrite_view(improvement()),
    "names": lambda: names_view([version(), version(2, name="stories", agreement=None, tags=())]),
    "log": lambda: log_view([version(2), version(1, parent=None, judge="embedded", generator="embedded")]),
    "problems": lambda: problems_view([Problem("news@1", "its rubric is missing"), Problem("news@2", "it differs")]),
}


def hostile_views(words: str) -> dict[str, View]:
    """Return views of things that say `words` wherever a user, a model or a file may put words."""
    evil, kinds = hostile_version(words), hostile_kinds(words)
    versions, results, scored, evaluated = hostile_evaluation(words)
    joint, record = hostile_joint(words)
    judges = (JudgeScores(f"{words} 1", 60, 0, 3.1, 0.62), JudgeScores(f"{words} 2", 59, 1, 3.9, 0.41))
    pairs = (JudgePair(judges[0].judge, judges[1].judge, 59, around(0.7), around(-0.8)),)
    criteria = (agreed(words, "graded", 0.5, trait=words), agreed("h2", "graded", 0.1))
    agreement = interrater(aspect=words, judges=judges, pairs=pairs, criteria=criteria)
    gains = revision(judge=gain(words, 1, 2), criteria=(gain(words, 1, 2), NO_GAIN))
    return {
        "version": evidence_view(evil),
        "kinds": evidence_view(kinds),
        "rubric": rubric_view(kinds.rubric),
        "combined": version_view(joint),
        "training": evidence_view(joint),
        "matrix": matrix_view(joint_version(), record),
        "results": evaluation_view(versions, results, scored, evaluated, brief=True),
        "scores": scores_view(listed(words, scored[versions[0].ref])),
        "transfer": transfer_view(transfer(words)),
        "names": names_view([evil, kinds]),
        "log": log_view([evil, kinds]),
        "added": difference_view(compare(version(), evil)),
        "removed": difference_view(compare(kinds, explained())),
        "changed": difference_view(compare(kinds, hostile_kinds(f"{words}\nand more of it"))),
        "interrater": interrater_view(words, agreement),
        "revision": improvement_view(gains, Effort()),
        "rewriting": rewrite_view(improvement(words, words)),
        "problems": problems_view([Problem(words, words)]),
    }
