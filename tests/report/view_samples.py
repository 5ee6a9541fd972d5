"""Results to view, all made up: agreement of judges, rewritten texts, and one view of each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from drift_samples import Values, compared, version as drift_version
from joint_samples import hostile_joint, joint_record, joint_trust, joint_version
from kinds_samples import (
    answers_of,
    checklist,
    checklist_part,
    demonstration,
    explained,
    hostile_kinds,
    question,
    shown,
    unlabelled,
)
from report_samples import criterion, examples, hostile_evaluation, hostile_version, results_of, scores_of, version

from rubriclab.learning.paired_scores import DriftLimits
from rubriclab.learning.rewriting import SentenceEdit, TextFault
from rubriclab.learning.scoring import Score
from rubriclab.models.rubric import Part
from rubriclab.models.text import Aspect, Example, Scale, Units
from rubriclab.models.version import EditOrigin, Effort, GateVerdict, Version
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
    comparison_view,
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
from rubriclab.report.rubrics import evidence_view, matrix_view, rubric_view, training_report, version_view
from rubriclab.stats.intervals import Interval
from rubriclab.store.diff import compare
from rubriclab.store.store import Problem

Rate = Callable[[int, Example], float | None]
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


def _learned_anew() -> Version:
    """Return a version with other criteria, texts, seed and agreement than `version()`."""
    before = version().provenance.agreement
    assert before
    reworded = criterion(statement="Each sentence takes up the last one.")
    added = criterion("h09", "vivid verbs", statement="Verbs show the scene at hand.")
    return version(
        2,
        seed=2,
        parts=(Part(method="hypoeval", settings={"k": 10}, criteria=(reworded, added)),),
        examples=tuple(f"new-{number:02}" for number in range(12)),
        data="sha256:" + "c" * 64,
        agreement=before.model_copy(update={"pearson": Interval(0.5)}),
    )


def _edited() -> Version:
    """Return a version that an edit has made worse than `joint_version()`."""
    edit = EditOrigin(
        author="lead", because="order", changes=(), labels=30, folds=6, difference=Interval(-0.1, -0.2, -0.05)
    )
    worse = joint_trust(verdicts=(GateVerdict(against="word count", outcome="not better", difference=Interval(0.0)),))
    first = joint_version()
    made = first.provenance.model_copy(update={"validation": worse, "edit": edit})
    return replace(first, number=4, parent=first.ref, provenance=made)


def _bare() -> Version:
    """Return a version of which nothing was measured."""
    part = Part(method="hypoeval", settings={"k": 10}, criteria=(criterion(),))
    return version(agreement=None, baseline=None, parent=None, model_versions=(), tags=(), parts=(part,))


def _by_units(units: Units) -> Version:
    """Return a version with a question that is asked of units."""
    own: dict[str, Any] = {"method": "seal", "units": units, "settings": {"weights": "as packed"}, "dropped": ()}
    part = checklist_part(question("f1", support="source"), question("f2")).model_copy(update=own)
    return version(name="pieces", parts=(part,))


def _drift(values: Sequence[Values], others: Sequence[Values] | None = None, **options: Any) -> View:
    """Return the comparison of two versions of the criterion `a`."""
    one, other = drift_version({"a": 1}), drift_version({"a": 1}, number=2)
    return comparison_view(compared(one, other, values, others, **options))


WEIGHED = (question("a", weight=0.5), question("b", weight=2))
VERDICTS = Scale(low=0, high=1, whole=False, names=("bad", "good"))
JOINT = joint_trust().evaluators[0]
LIMITS = DriftLimits(max_shift=0.1, max_flips=0.5, min_rank=0.5)
# Views of rarer things, which are pinned only.
RARE_VIEWS: dict[str, Callable[[], View]] = {
    "nothing measured": lambda: version_view(_bare()),
    "verdicts": lambda: evidence_view(version(scale=VERDICTS)),
    "weighed questions": lambda: version_view(checklist(1, *WEIGHED)),
    "units": lambda: version_view(_by_units(Units(kind="fact", beside=("source",)))),
    "raters unknown": lambda: evidence_view(joint_version(validation=joint_trust(raters=None))),
    "not optimistic": lambda: evidence_view(
        joint_version(validation=joint_trust(training=joint_trust().evaluators[0]))
    ),
    "other units": lambda: difference_view(
        compare(
            _by_units(Units(kind="fact", beside=("source",))),
            _by_units(Units(kind="sentence", beside=("source", "context"))),
        )
    ),
    "names of every kind": lambda: names_view([version(), checklist(), explained(), unlabelled(), joint_version()]),
    "learned anew": lambda: difference_view(compare(version(), _learned_anew())),
    "edited": lambda: difference_view(compare(joint_version(), _edited())),
    "texts shown": lambda: difference_view(
        compare(shown(demonstration("a")), shown(demonstration("a"), demonstration("b")))
    ),
    "then learned from labels": lambda: difference_view(
        compare(explained(), explained(2, agreement=version().provenance.agreement))
    ),
    "then measured": lambda: difference_view(compare(unlabelled(), explained())),
    "one kind of criteria": lambda: interrater_view(
        "news@2", interrater(criteria=(agreed("h1", "graded", 0.5),), pooled=())
    ),
    "drift": lambda: comparison_view(
        compared(
            drift_version({"a": 1, "b": 1}),
            drift_version({"b": 1, "c": 3}, number=2),
            [{"a": 5.0, "b": 4.0, "c": 1.0}, {"a": 4.0, "b": 4.0, "c": 4.0}],
        )
    ),
    "limits": lambda: _drift([{"a": 2.0}, {"a": 4.0}], [{"a": 2.5}, {"a": 4.5}], limits=LIMITS),
    "drift unscored": lambda: _drift([{"a": 4.0}, {"a": 2.0}], [{"a": 4.0}, {"a": None}]),
    "drift unknown": lambda: _drift([{"a": 4.0}], [{"a": None}], limits=DriftLimits(min_rank=0.5)),
}


def _evaluated(*versions: Version, rate: Rate = lambda number, _: 1.0 + (number * 3) % 4, **fields: Any) -> str:
    """Return the page on versions of one aspect; checklists answer, others score by `rate`."""
    texts = [replace(text, **fields) for text in examples()]
    scored = {
        one.ref: answers_of(one, texts) if one.rubric.criteria[0].kind == "question" else scores_of(one, texts, rate)
        for one in versions
    }
    return evaluation_view(versions, results_of(versions, scored, texts), scored, texts).page()


def _combined() -> str:
    """Return the page on a rubric of several methods, of whose criteria it is known what each adds."""
    one, texts = joint_version(), examples()
    scores = []
    for score in scores_of(one, texts, lambda number, _: 1.0 + (number * 3) % 4):
        criteria = [replace(each, contribution=-0.4 if each.id == "h01" else 0.25) for each in score.criteria]
        scores.append(replace(score, interval=(1.0, 2.755), criteria=tuple(criteria)))
    return evaluation_view([one], results_of([one], {one.ref: scores}, texts), {one.ref: scores}, texts).page()


def _two_aspects() -> str:
    texts = [replace(text, scores={**text.scores, "fluency": 9 - text.scores["coherence"]}) for text in examples()]
    one, two = version(), version(name="plain", aspect=Aspect(name="fluency", definition="How well it reads."))
    scored = {each.ref: scores_of(each, texts, lambda _, text: text.scores["coherence"]) for each in (one, two)}
    results = [result for each in (one, two) for result in results_of([each], {each.ref: scored[each.ref]}, texts)]
    return evaluation_view([one, two], results, scored, texts).page()


def _training(**fields: Any) -> str:
    """Return the page on a rubric of several methods; `fields` replace those of every text of its record."""
    record = joint_record()
    texts = tuple(text.model_copy(update=fields) for text in record.texts)
    return training_report(joint_version(), record.model_copy(update={"texts": texts}))


# Pages, which are pinned.
PAGES: dict[str, Callable[[], str]] = {
    "training": _training,
    "training with context": lambda: _training(context="What about it?"),
    "training without held-out scores": lambda: _training(predicted=None, low=None, high=None),
    "training without record": lambda: training_report(joint_version(), None),
    **{
        f"training of {one.ref}": partial(training_report, one, None)
        for one in (version(), checklist(), explained(), shown(), unlabelled())
    },
    "evaluation": lambda: _evaluated(version(), version(2), rate=lambda n, _: None if n == 5 else 1.0 + (n * 3) % 4),
    "evaluation of answers": lambda: _evaluated(checklist()),
    "evaluation with raters": lambda: _evaluated(version(), annotations={"coherence": (1.0, 2.0)}),
    "evaluation without scores": lambda: _evaluated(version(agreement=None, baseline=None), rate=lambda *_: None),
    "evaluation of a combination": _combined,
    "evaluation of two aspects": _two_aspects,
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
        "drift": comparison_view(
            compared(
                drift_version({"a": 1}),
                drift_version({"b": 1}, number=2, words={"b": words}),
                [{"a": 4.0, words: 2.0}],
                judges=(words, words),
            )
        ),
    }
