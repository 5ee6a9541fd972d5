"""What the tests of judging everything in one call share: parts of several methods, and replies about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from checkeval_scripts import question
from holistic_scripts import part as overall_part, whole
from hypoeval_scripts import assignment, criterion, drawn_rating

from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.catalogue import METHODS
from rubriclab.models.aggregation import Aggregation, Ask, Calibration, Term
from rubriclab.models.rubric import Criterion, Part, Rubric
from rubriclab.prompts.prompt import Prompt

DIMENSIONS = {"Side 1": "What the first is.", "Side 2": "What the second is."}
QUESTIONS = (question("q1"), question("q2", "Side 2"), question("q3", better="no"))


def part_of(method: str, *criteria: Criterion, dimensions: dict[str, str] | None = None, **chosen: Any) -> Part:
    """Return a part with these criteria, and the method's settings as chosen."""
    settings = METHODS[method].settings(**chosen).model_dump(mode="json")
    return Part(method=method, settings=settings, criteria=criteria, dimensions=dimensions)


HYPOTHESES = part_of("hypoeval", criterion("h1"), criterion("h2"))
CHECKLIST = part_of("checkeval", *QUESTIONS, dimensions=DIMENSIONS)
EXPLAINED = overall_part("seeval", whole("I look at the order.\nThen I settle.", id="e1"))
DIRECT = overall_part("direct", whole("By its definition.", id="direct"))
STEPS = overall_part("geval", whole("1. Read it.\n2. Settle on a score.", id="geval"), scoring="once")
PARTS = (HYPOTHESES, CHECKLIST, EXPLAINED, DIRECT, STEPS)
IDS = ("h1", "h2", "q1", "q2", "q3", "e1", "direct", "geval")


def sound(prompt: Prompt[Any]) -> dict[str, Any]:
    """Return an entry for each id that is asked about: scores by lot, and yes to every question."""
    fields = prompt.fields
    questions = [each["id"] for sub in fields["sub_dimensions"] for each in sub["questions"]]
    return {
        **{each["id"]: rating(drawn_rating(prompt, each["id"])) for each in fields["criteria"]},
        **{name: answer() for name in questions},
        **{each["id"]: rating(drawn_rating(prompt, each["id"])) for each in fields["overall"]},
    }


def rating(score: Any = 4, **fields: Any) -> dict[str, Any]:
    """Return a score with its reason."""
    return {"reason": "It shows.", "score": score, **fields}


def answer(said: Any = "yes", **fields: Any) -> dict[str, Any]:
    """Return an answer with its reason."""
    return {"reason": "It was looked up.", "answer": said, **fields}


def jointly(spoil: Callable[[dict[str, Any]], Any] = lambda reply: reply) -> FakeJudge:
    """Return a judge that gives sound replies, spoilt by `spoil`."""
    return FakeJudge(lambda prompt: spoil(sound(prompt)))


def combined(ask: Ask, parts: tuple[Part, ...] = PARTS) -> Rubric:
    """Return a rubric of these parts; all criteria weigh the same, and a point more by each is a point more."""
    names = [criterion.id for part in parts for criterion in part.criteria]
    share = {"weight": 1 / len(names), "center": 3.0, "spread": 1.0, "low": 0.0, "high": 1.0, "selected": 1.0}
    terms = tuple(Term(criterion=name, **share) for name in names)
    calibration = Calibration(kind="linear", x=(0.0, 1.0), y=(3.0, 4.0))
    shown = assignment()
    aggregation = Aggregation(ask=ask, terms=terms, calibration=calibration)
    return Rubric(task="summarization", aspect=shown.aspect, scale=shown.scale, parts=parts, aggregation=aggregation)
