"""Versions, scores and results to look at: rubrics of each method, one of several, and what is known of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from io import StringIO
from typing import Any

import numpy as np
from rich.console import Console, RenderableType

from rubriclab.learning.evaluation import Evaluator, Result, baseline_evaluators, measure_agreement
from rubriclab.learning.scoring import Score
from rubriclab.methods.method import CriterionRating
from rubriclab.models.aggregation import Aggregation, Calibration, Conformal, Term
from rubriclab.models.evaluation import (
    EvaluatorAgreement,
    GateVerdict,
    MoreLabels,
    Raters,
    TrainingAgreement,
    Validation,
)
from rubriclab.models.rubric import Criterion, Demonstration, DroppedCriterion, Evidence, Level, Part, Question, Rubric
from rubriclab.models.text import Aspect, Example, Scale
from rubriclab.models.version import (
    Baseline,
    Candidate,
    Cell,
    Effort,
    Provenance,
    RecordedText,
    TrainingRecord,
    Version,
)
from rubriclab.stats.intervals import Interval
from rubriclab.stats.score_agreement import ScoreErrors


def around(value: float | None) -> Interval:
    """Return a figure with an interval of 0.1 to either side."""
    return Interval(None) if value is None else Interval(value, value - 0.1, value + 0.1)


def criterion(name: str = "h01", trait: str = "linked sentences", **fields: Any) -> Criterion:
    """Return the criterion with the id `name`; `fields` replace its own."""
    own: dict[str, Any] = {
        "kind": "hypothesis",
        "statement": "Each sentence takes up the one before.",
        "levels": (Level(score=1, description="loose sentences"), Level(score=5, description="a firm chain")),
        "weight": 1.5,
        "evidence": Evidence(
            origin="labels and literature",
            examples=("train-1", "train-2"),
            findings=("sum-07",),
            refined=2,
            pearson=0.613,
            judged=29,
            missing=1,
        ),
    }
    return Criterion(id=name, trait=trait, **(own | fields))


DROPPED = DroppedCriterion(
    criterion=criterion("h02", "short words", statement="Words are short.", evidence=Evidence(origin="literature")),
    reason="no place in the final bank of 20",
)


def version(number: int = 1, **fields: Any) -> Version:
    """Return a version of `news`; `fields` replace those of the rubric, the provenance and the version."""
    agreement = TrainingAgreement(
        n=30,
        spearman=Interval(0.71, 0.52, 0.83),
        pearson=Interval(0.68, 0.5, 0.8),
        kendall=Interval(0.55, 0.4, 0.7),
        reselected=Interval(0.44, -0.12, 0.66),
    )
    rubric: dict[str, Any] = {
        "task": "summarization",
        "aspect": Aspect(name="coherence", definition="How well the sentences hang together."),
        "scale": Scale(low=1, high=5, whole=True),
        "parts": (
            Part(
                method="hypoeval",
                settings={"k": 10},
                criteria=(criterion(), criterion("h03", "a clear end")),
                dropped=(DROPPED,),
            ),
        ),
    }
    provenance: dict[str, Any] = {
        "judge": "gpt-4o-mini",
        "generator": "gpt-4o",
        "model_versions": ("gpt-4o-mini-2024-07-18",),
        "settings": {"hypoeval": {"k": 10, "sources": "labels and literature"}},
        "prompts": "sha256:" + "a" * 64,
        "data": "sha256:" + "b" * 64,
        "examples": ("train-1", "train-2", "train-3"),
        "groups": ("train-a", "train-b"),
        "seed": 114514,
        "agreement": agreement,
        "baseline": Baseline(feature="words", sign=-1, pearson=-0.31),
        "version": "0.1.0",
    }
    own: dict[str, Any] = {
        "name": "news",
        "effort": Effort(calls=412, cached=37, failed=2, repaired=1, prompt_tokens=9000, cost_usd=None, seconds=61.0),
        "parent": "news@7",
        "created": datetime(2026, 11, 21, 22, 40, tzinfo=UTC),
        "tags": ("production",),
    }
    made_rubric = Rubric(**{name: fields.get(name, value) for name, value in rubric.items()})
    made = Provenance(**{name: fields.get(name, value) for name, value in provenance.items()})
    rest = {name: fields.get(name, value) for name, value in own.items()}
    return Version(
        number=number,
        digest=made_rubric.digest,
        rubric=made_rubric,
        provenance=made,
        provenance_digest=made.digest,
        **rest,
    )


def examples() -> list[Example]:
    """Return texts of several groups whose labels rise with their number inside the group."""
    return [
        Example(
            id=f"{group}-{rival}",
            group=f"g{group}",
            output=f"Text {rival} about {group}." + " It goes on." * ((rival * 7 + group) % 5),
            source=f"The source of {group}.",
            system=f"s{rival}",
            scores={"coherence": 1.0 + rival},
        )
        for group in range(6)
        for rival in range(4)
    ]


def scores_of(rubric: Version, texts: Sequence[Example], rate: Callable[[int, Example], float | None]) -> list[Score]:
    """Return a score for each text, as `rate` says from its number and itself; `None` makes it unscored."""
    scores = []
    for number, text in enumerate(texts):
        value = rate(number, text)
        reason = "The reply was empty." if value is None else f"Reason for {text.id}."
        parts = tuple(CriterionRating(one.id, value, reason) for one in rubric.rubric.criteria)
        why = None if value is not None else f"no usable rating for {text.id}"
        scores.append(Score(text.id, rubric.rubric.aspect.name, value, parts, why, rubric.ref, rubric.provenance.judge))
    return scores


def results_of(
    versions: Sequence[Version], scored: Mapping[str, Sequence[Score]], texts: Sequence[Example], **options: Any
) -> list[Result]:
    """Return what `rubriclab evaluate` computes: the rubrics of one aspect and their baselines, at every level."""
    rubrics = [
        Evaluator(
            ref,
            np.array([math.nan if score.score is None else score.score for score in scores], dtype=float),
            sum(score.answers_missing for score in scores),
            sum(score.answers for score in scores),
        )
        for ref, scores in scored.items()
    ]
    known = {one.ref: one.provenance.baseline for one in versions if one.provenance.baseline}
    aspect = versions[0].rubric.aspect.name
    return measure_agreement(texts, [*rubrics, *baseline_evaluators(texts, known)], aspect, **options)


def printed(view: RenderableType, width: int = 80) -> str:
    """Return what a pipe gets of a view."""
    console = Console(file=StringIO(), width=width)
    console.print(view)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def words_of(view: RenderableType, width: int = 80) -> str:
    """Return the words of a view, wherever its lines end."""
    return " ".join(printed(view, width).split())


DIMENSIONS = {
    "links": "Neighbouring sentences are connected.",
    "order": "Things are told in a sequence that can be followed.",
}
EXPLANATION = """Coherence asks me to read the summary as one piece.

I look at:
1. how each sentence takes up the one before, which is to say whether a reader is ever left to guess who is meant;
2. whether the order helps:
   - causes before effects
   - people before what they do

A 5 reads as one account."""


def question(name: str, trait: str = "links", **fields: Any) -> Criterion:
    """Return a question with the id `name`; `better`, `origin`, `seed` and `support` are the question's own."""
    made = {key: fields.pop(key) for key in ("better", "origin", "seed", "support") if key in fields}
    own: dict[str, Any] = {
        "statement": f"Does the summary pass the test {name}?",
        "question": Question(**({"origin": "seed"} | made)),
        "evidence": Evidence(
            origin="seed questions", pearson=0.31, judged=27, missing=2, answers={"n/a": 1, "no": 7, "yes": 20}
        ),
    }
    return Criterion(id=name, kind="question", trait=trait, **(own | fields))


QUESTIONS = (
    question("s01", statement="Does each sentence take up an earlier one?"),
    question("s01-d1", statement="Is every pronoun clear?", origin="diversified", seed="s01"),
    question("s02", "order", statement="Does the summary start afresh anywhere?", better="no"),
    question("s02-e1", "order", statement="Do causes come first?", origin="elaborated", seed="s02"),
)
LEFT_OUT = (
    DroppedCriterion(
        criterion=question("s01-d2", statement="Are sentences linked?", origin="diversified", seed="s01"),
        reason="redundant: asks what s01 asks",
    ),
    DroppedCriterion(criterion=question("s03", "order", statement="Is it good?"), reason="vague"),
    DroppedCriterion(
        criterion=question("s04", statement="Are links shown?"), reason="redundant: asks what s01-d1 asks"
    ),
)


def checklist_part(*criteria: Criterion, **fields: Any) -> Part:
    own: dict[str, Any] = {"dimensions": DIMENSIONS, "dropped": LEFT_OUT, "settings": {"mode": "grouped"}}
    return Part(method="checkeval", criteria=criteria or QUESTIONS, **(own | fields))


def checklist(number: int = 1, *criteria: Criterion, **fields: Any) -> Version:
    own: dict[str, Any] = {"name": "checks", "parts": (checklist_part(*criteria),)}
    return version(number, **(own | fields))


def overall(statement: str, **fields: Any) -> Criterion:
    evidence = Evidence(origin="prior knowledge", pearson=0.45, judged=30, heldout=0.52)
    own: dict[str, Any] = {"id": "e1", "evidence": evidence}
    return Criterion(kind="score", trait="coherence", statement=statement, **(own | fields))


# Agreement with labels that had no part in the rubric.
UNTOUCHED = TrainingAgreement(
    n=30,
    optimistic=False,
    spearman=Interval(0.42, 0.21, 0.67),
    pearson=Interval(0.4),
    kendall=Interval(0.3),
    reselected=Interval(0.42, 0.21, 0.67),
)


def explained(number: int = 1, statement: str = EXPLANATION, **fields: Any) -> Version:
    part = Part(method="seeval", settings={"explanations": 1}, criteria=(overall(statement),))
    own: dict[str, Any] = {"name": "told", "parts": (part,), "agreement": UNTOUCHED}
    return version(number, **(own | fields))


def shown(*demonstrations: Demonstration, **fields: Any) -> Version:
    """Return a version that shows the judge labelled texts."""
    texts = demonstrations or (demonstration("train-1"), demonstration("train-2", score=4.333))
    criterion = overall(
        version().rubric.aspect.definition,
        evidence=Evidence(origin="labels", examples=tuple(each.example for each in texts)),
        demonstrations=texts,
    )
    part = Part(method="few_shot", settings={"k": 2}, criteria=(criterion,))
    own: dict[str, Any] = {"name": "shown", "parts": (part,), "agreement": UNTOUCHED}
    return version(**(own | fields))


def demonstration(name: str, **fields: Any) -> Demonstration:
    own: dict[str, Any] = {"output": f"The text {name}. " + "It goes on. " * 60, "source": "An article.", "score": 2.0}
    return Demonstration(example=name, **(own | fields))


def unlabelled(**fields: Any) -> Version:
    criterion = overall(version().rubric.aspect.definition, evidence=Evidence(origin="definition"))
    part = Part(method="direct", settings={}, criteria=(criterion,))
    own: dict[str, Any] = {"name": "plain", "parts": (part,), "agreement": None, "baseline": None, "parent": None}
    return version(**(own | {"examples": (), "groups": ()} | fields))


def answer_rows(rubric: Version, texts: Sequence[Example]) -> list[Score]:
    """Return scores by a checklist: its answers turn with the text's number; every seventh text has one n/a."""
    questions = rubric.rubric.criteria
    return [_answered(rubric, questions, text, number) for number, text in enumerate(texts)]


def _answered(rubric: Version, questions: Sequence[Criterion], text: Example, number: int) -> Score:
    parts = []
    for place, asked in enumerate(questions):
        if place == 0 and number % 7 == 0:
            parts.append(CriterionRating(asked.id, None, "The text has nothing of that kind.", applies=False))
        elif place == 1 and number == 1:
            parts.append(CriterionRating(asked.id, None, "No answer came."))
        else:
            parts.append(CriterionRating(asked.id, float((number * (place + 3)) % 5 > 1), f"Reason {asked.id}."))
    known = [part.score for part in parts if part.score is not None]
    return Score(
        text.id, rubric.rubric.aspect.name, 1 + 4 * sum(known) / len(known), tuple(parts), None, rubric.ref, "fake"
    )


# What the texts are about: four facts each, of which a text tells some in some order.
TOPICS = ("harbour", "school", "bees", "train", "doctors", "painting", "river", "chess", "wolves", "lamps")
FACTS = ("was closed", "has cracks in two places", "costs more than expected", "opens again in spring")
ORDERS = ((0, 1, 2, 3), (0, 2, 1), (3, 0, 3, 1, 0))


def _hypothesis(name: str, trait: str, statement: str, pearson: float) -> Criterion:
    levels = (
        Level(score=1, description=f"Nothing of it: a reader looks in vain for {trait}."),
        Level(score=3, description=f"Some {trait}, with gaps that a reader has to fill."),
        Level(score=5, description=f"Full {trait} from beginning to end."),
    )
    examples = ("bridge-0", "bridge-2")
    found = Evidence(origin="labels and literature", examples=examples, refined=1, pearson=pearson, judged=30)
    return criterion(name, trait, statement=statement, levels=levels, evidence=found, weight=1.0)


HYPOTHESES = (
    _hypothesis("h01", "linked sentences", "Each sentence takes up something that the one before has said.", 0.61),
    _hypothesis("h02", "a sensible order", "Events are told in an order in which each can be understood.", 0.52),
    _hypothesis("h03", "one subject", "The summary stays with one subject and drops none halfway.", 0.34),
    _hypothesis("h04", "a clear end", "The last sentence closes the account instead of breaking off.", 0.18),
)
EXPLAINED = overall(EXPLANATION)
DIRECT = overall("How well the sentences build on each other.", id="direct.score")
MEASURE = Criterion(
    id="repeated_trigrams",
    kind="feature",
    trait="repeated phrases",
    statement="Share of the text's runs of three words that stand in it more than once.",
    evidence=Evidence(origin="definition", pearson=-0.36, judged=30),
)
ASKED: dict[Any, tuple[Criterion, ...]] = {
    "hypoeval": HYPOTHESES,
    "checkeval": QUESTIONS,
    "seeval": (EXPLAINED,),
    "direct": (DIRECT,),
    "text_features": (MEASURE,),
}
WEIGHTS = {
    "h01": 0.19, "h02": 0.13, "h03": 0.07, "s01": 0.09, "s02": 0.14, "s02-e1": 0.07, "e1": 0.14, "direct.score": 0.12,
    "repeated_trigrams": -0.05,
}  # fmt: skip


def joint_rubric() -> Rubric:
    """Return the rubric: hypotheses, questions, an explained and a direct score, and a measure."""
    parts = [
        Part(method=method, settings={"k": 10}, criteria=tuple(each for each in criteria if each.id in WEIGHTS))
        for method, criteria in ASKED.items()
    ]
    parts[1] = parts[1].model_copy(update={"dimensions": DIMENSIONS, "dropped": LEFT_OUT})
    terms = tuple(
        Term(
            criterion=each.id,
            weight=WEIGHTS[each.id],
            center=3.0,
            spread=1.0,
            low=WEIGHTS[each.id] - 0.05,
            high=WEIGHTS[each.id] + 0.06,
            selected=min(1.0, 0.5 + 3 * abs(WEIGHTS[each.id])),
        )
        for part in parts
        for each in part.criteria
    )
    usual = version().rubric
    aggregation = Aggregation(
        terms=terms,
        calibration=Calibration(kind="linear", x=(-1.0, 1.0), y=(2.1, 4.2)),
        conformal=Conformal(errors=tuple(0.1 * step for step in range(-30, 31))),
    )
    return Rubric(task=usual.task, aspect=usual.aspect, scale=usual.scale, parts=tuple(parts), aggregation=aggregation)


def joint_trust(**fields: Any) -> Validation:
    own: dict[str, Any] = {
        "level": "dataset",
        "n": 30,
        "groups": 10,
        "folds": 10,
        "training": _standing("joint", "rubric", 0.74, 0.78, 4),
        "evaluators": (
            _standing("joint", "rubric", 0.61, 0.66, 4, error=0.35),
            _standing("hypoeval", "judged", 0.58, 0.60, 1),
            _standing("direct", "judged", 0.55, 0.57, 1, error=0.59),
            _standing("direct, calibrated", "judged", 0.55, 0.57, 1, error=0.37),
            _standing("checkeval", "judged", 0.47, 0.49, 1),
            _standing("seeval", "judged", 0.44, 0.50, 1),
            _standing("all text features", "baseline", 0.36, 0.38, 0),
            _standing("best text feature", "baseline", 0.29, 0.33, 0),
            _standing("word count", "baseline", -0.02, 0.04, 0),
            EvaluatorAgreement(
                name="constant", kind="baseline", n=30, spearman=Interval(None), pearson=Interval(None), calls=0
            ),
        ),
        "verdicts": (
            GateVerdict(against="all text features", outcome="better", difference=Interval(0.28, 0.07, 0.49)),
            against_direct("better", Interval(0.24, 0.1, 0.38)),
            against_direct("not better", Interval(0.02, -0.06, 0.1)).model_copy(
                update={"against": "direct, calibrated"}
            ),
            GateVerdict(against="hypoeval", outcome=None, difference=Interval(0.06, -0.05, 0.17)),
        ),
        "raters": Raters(alpha=Interval(0.5, 0.29, 0.67), ceiling=0.87),
    }
    return Validation(**(own | fields))


def against_direct(error_outcome: Any, less_error: Interval | None, **fields: Any) -> GateVerdict:
    """Return the comparison with the same judge asked directly; `fields` replace its own."""
    own = {
        "against": "direct",
        "outcome": "inconclusive",
        "difference": Interval(0.09, -0.04, 0.2),
        "more_labels": MoreLabels(even=40, likely=130),
        "error_outcome": error_outcome,
        "less_error": less_error,
    }
    return GateVerdict.model_validate(own | fields)


def _standing(
    name: str, kind: Any, spearman: float, pearson: float, calls: float, *, error: float | None = None
) -> EvaluatorAgreement:
    errors = error and ScoreErrors(absolute=around(error), bias=0.02, near=0.93, point=1)
    found = {"spearman": around(spearman), "pearson": around(pearson), "errors": errors}
    return EvaluatorAgreement(name=name, kind=kind, n=30, calls=calls, **found)


@cache
def joint_record() -> TrainingRecord:
    """Return the texts with what every candidate said of them; a few cells are missing, a few do not apply."""
    texts = tuple(_text(place) for place in range(len(TOPICS) * len(ORDERS)))
    asked = [(method, each) for method, criteria in ASKED.items() for each in criteria]
    candidates = tuple(
        Candidate(method=method, criterion=each, kept=each.id in WEIGHTS, made_from=each.evidence.examples)
        for method, each in asked
    )
    cells = tuple(
        tuple(_cell(text, row, each, column) for column, (_, each) in enumerate(asked))
        for row, text in enumerate(texts)
    )
    return TrainingRecord(texts=texts, candidates=candidates, cells=cells)


def _text(place: int) -> RecordedText:
    topic, rival = divmod(place, len(ORDERS))
    name = TOPICS[topic]
    facts = [f"The matter of the {name} {fact}." for fact in FACTS]
    noise = np.random.default_rng(place).normal(size=4)
    marks = [float(np.clip(round(4.6 - 1.3 * rival + 0.7 * each), 1, 5)) for each in noise[:3]]
    label = sum(marks) / 3
    predicted = round(float(np.clip(0.6 * label + 1.3 + 0.7 * noise[3], 1, 5)), 2)
    return RecordedText(
        id=f"{name}-{rival}",
        group=name,
        output=" ".join(facts[fact] for fact in ORDERS[rival]),
        source=" ".join(facts),
        label=label,
        raters=dict(zip(("anna", "ben", "chi"), marks, strict=True)),
        predicted=predicted,
        low=max(1.0, predicted - 1.1),
        high=min(5.0, predicted + 1.1),
    )


def _cell(text: RecordedText, row: int, each: Criterion, column: int) -> Cell:
    noise = float(np.random.default_rng([row, column]).normal())
    if each.kind == "feature":
        return Cell(score=round(max(0.0, 0.3 - 0.05 * text.label + 0.03 * noise), 4), reason="Measured, not judged.")
    if (row, each.id) == (4, "h02"):
        return Cell(score=None, reason="The reply was cut off.")
    if each.id == "s01" and row % 9 == 0:
        return Cell(score=None, reason="It has no pronoun.", applies=False)
    if each.kind == "question":
        said = float(text.label + noise > 3)
        return Cell(score=said, reason=f"{'Every sentence' if said else 'The second sentence'} bears that out.")
    score = float(np.clip(round(text.label + 0.8 * noise), 1, 5))
    words = "The account runs on" if score > 3 else "The account starts afresh after the first sentence"
    return Cell(score=score, reason=f"{words}, so {each.trait} is {score:.0f} of 5.")


def joint_version(**fields: Any) -> Version:
    """Return the version of that rubric; `fields` replace those of its provenance and of the version."""
    rubric = fields.pop("rubric", None) or joint_rubric()
    texts = joint_record().texts
    own = {"examples": tuple(sorted(one.id for one in texts)), "groups": tuple(sorted({one.group for one in texts}))}
    usual = version(3, **(own | {key: fields[key] for key in fields if key != "validation"}))
    known = {name: getattr(usual.provenance, name) for name in Provenance.model_fields}
    made = Provenance(**{**known, "validation": fields.get("validation", joint_trust())})
    return replace(usual, rubric=rubric, digest=rubric.digest, provenance=made, provenance_digest=made.digest)
