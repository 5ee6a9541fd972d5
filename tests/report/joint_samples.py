"""A rubric of several methods with all that is known of it: thirty invented summaries, sixteen candidate criteria."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from kinds_samples import LEFT_OUT, question
from report_samples import criterion, interval, version

from rubriclab.models.aggregation import Aggregation, Calibration, Conformal, Term
from rubriclab.models.rubric import Criterion, Evidence, Level, Part, Rubric
from rubriclab.models.version import (
    Candidate,
    Cell,
    EvaluatorAgreement,
    GateVerdict,
    MoreLabels,
    Provenance,
    Raters,
    RecordedText,
    ScoreErrors,
    TrainingRecord,
    Validation,
    Version,
)
from rubriclab.stats.intervals import Interval

# What the texts are about: four facts each, of which a text tells some in some order.
TOPICS = ("harbour", "school", "bees", "train", "doctors", "painting", "river", "chess", "wolves", "lamps")
FACTS = ("was closed", "has cracks in two places", "costs more than expected", "opens again in spring")
ORDERS = ((0, 1, 2, 3), (0, 2, 1), (3, 0, 3, 1, 0))
RIVALS = len(ORDERS)
LINKS = "How well the sentences build on each other, from the first to the last."


def _hypothesis(name: str, trait: str, statement: str, pearson: float) -> Criterion:
    levels = (
        Level(score=1, description=f"Nothing of it: a reader looks in vain for {trait}."),
        Level(score=3, description=f"Some {trait}, with gaps that a reader has to fill."),
        Level(score=5, description=f"Full {trait} from beginning to end."),
    )
    found = Evidence(
        origin="labels and literature",
        examples=("bridge-0", "bridge-2"),
        findings=("sum-07",),
        refined=1,
        pearson=pearson,
        judged=30,
    )
    return criterion(name, trait, statement=statement, levels=levels, evidence=found, weight=1.0)


def _asked(name: str, trait: str, statement: str, pearson: float, **fields: Any) -> Criterion:
    found = Evidence(
        origin="seed questions", pearson=pearson, judged=28, missing=1, answers={"yes": 17, "no": 11, "n/a": 1}
    )
    return question(name, trait, statement=statement, evidence=found, **fields)


def _whole(name: str, statement: str, pearson: float) -> Criterion:
    found = Evidence(origin="prior knowledge", pearson=pearson, judged=30)
    return Criterion(id=name, kind="score", trait="coherence", statement=statement, evidence=found)


HYPOTHESES = (
    _hypothesis("h01", "linked sentences", "Each sentence takes up something that the one before has said.", 0.61),
    _hypothesis("h02", "a sensible order", "Events are told in an order in which each can be understood.", 0.52),
    _hypothesis("h03", "one subject", "The summary stays with one subject and drops none halfway.", 0.34),
    _hypothesis("h04", "a clear end", "The last sentence closes the account instead of breaking off.", 0.18),
)
QUESTIONS = (
    _asked("q01", "links", "Does every pronoun point to somebody named before?", 0.41),
    _asked("q02", "links", "Does any sentence repeat what was said already?", 0.55, better="no"),
    _asked("q03", "order", "Do causes come before their effects?", 0.38, origin="diversified", seed="q01"),
    _asked("q04", "order", "Does the first sentence say what it is about?", 0.29),
    _asked("q05", "order", "Is the tense kept?", 0.05),
)
EXPLANATION = """I read the summary as one piece.

1. Does each sentence take up the one before?
2. Could two sentences change places?"""
EXPLAINED = _whole("e1", EXPLANATION, 0.58)
DIRECT = _whole("direct.score", LINKS, 0.57)
MEASURE = Criterion(
    id="repeated_trigrams",
    kind="feature",
    trait="repeated phrases",
    statement="Share of the text's runs of three words that stand in it more than once.",
    evidence=Evidence(origin="definition", pearson=-0.36, judged=30),
)
WEIGHTS = {
    "h01": 0.19, "h02": 0.13, "h03": 0.07, "q01": 0.09, "q02": 0.14, "q03": 0.07, "e1": 0.14, "direct.score": 0.12,
    "repeated_trigrams": -0.05,
}  # fmt: skip


def _part(method: Any, *criteria: Criterion, **fields: Any) -> Part:
    kept = tuple(each for each in criteria if each.id in WEIGHTS)
    return Part(method=method, settings={"k": 10}, criteria=kept, **fields)


def joint_rubric() -> Rubric:
    """Return the rubric: four hypotheses, questions, an explained and a direct score, and a measure."""
    parts = (
        _part("hypoeval", *HYPOTHESES),
        _part("checkeval", *QUESTIONS, dimensions={"links": "Neighbours belong together."}, dropped=LEFT_OUT),
        _part("seeval", EXPLAINED),
        _part("direct", DIRECT),
        _part("text_features", MEASURE),
    )
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
    return Rubric(task=usual.task, aspect=usual.aspect, scale=usual.scale, parts=parts, aggregation=aggregation)


def joint_trust(**fields: Any) -> Validation:
    """Return what the gate found; `fields` replace its own."""
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
                name="constant", kind="baseline", n=30, spearman=interval(None), pearson=interval(None), calls=0
            ),
        ),
        "verdicts": (
            GateVerdict(against="all text features", outcome="better", difference=interval(0.28, 0.07, 0.49)),
            against_direct("better", interval(0.24, 0.1, 0.38)),
            against_direct("not better", interval(0.02, -0.06, 0.1)).model_copy(
                update={"against": "direct, calibrated"}
            ),
            GateVerdict(against="hypoeval", outcome=None, difference=interval(0.06, -0.05, 0.17)),
        ),
        "raters": Raters(
            alpha=interval(0.5, 0.29, 0.67),
            ceiling=0.87,
        ),
    }
    return Validation(**(own | fields))


def against_direct(error_outcome: Any, less_error: Interval | None, **fields: Any) -> GateVerdict:
    """Return the comparison with the same judge asked directly; `fields` replace its own."""
    own = {
        "against": "direct",
        "outcome": "inconclusive",
        "difference": interval(0.09, -0.04, 0.2),
        "more_labels": MoreLabels(even=40, likely=130),
        "error_outcome": error_outcome,
        "less_error": less_error,
    }
    return GateVerdict.model_validate(own | fields)


def _standing(
    name: str, kind: Any, spearman: float, pearson: float, calls: float, *, error: float | None = None
) -> EvaluatorAgreement:
    return EvaluatorAgreement(
        name=name,
        kind=kind,
        n=30,
        spearman=_around(spearman),
        pearson=_around(pearson),
        calls=calls,
        errors=error and ScoreErrors(absolute=interval(error, error - 0.1, error + 0.1), bias=0.02, near=0.93, point=1),
    )


def _around(value: float) -> Interval:
    return interval(value, value - 0.19, min(0.99, value + 0.15))


@cache
def joint_record() -> TrainingRecord:
    """Return the texts with what every candidate said of them; a few cells are missing, a few do not apply."""
    texts = tuple(_text(place) for place in range(len(TOPICS) * RIVALS))
    asked = (
        *(("hypoeval", each) for each in HYPOTHESES),
        *(("checkeval", each) for each in QUESTIONS),
        ("seeval", EXPLAINED),
        ("direct", DIRECT),
        ("text_features", MEASURE),
    )
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
    topic, rival = divmod(place, RIVALS)
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
    if each.id == "q01" and row % 9 == 0:
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
    own = {
        "examples": tuple(sorted(text.id for text in texts)),
        "groups": tuple(sorted({text.group for text in texts})),
    }
    usual = version(3, **(own | {key: fields[key] for key in fields if key != "validation"}))
    known = {name: getattr(usual.provenance, name) for name in Provenance.model_fields}
    made = Provenance(**{**known, "validation": fields.get("validation", joint_trust())})
    return replace(usual, rubric=rubric, digest=rubric.digest, provenance=made, provenance_digest=made.digest)
