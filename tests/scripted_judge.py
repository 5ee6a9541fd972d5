"""A judge that answers the prompts of all methods by a table of templates, with texts and criteria for tests."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rubriclab.errors import JudgeUnavailable
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.judge import FakeJudge
from rubriclab.judges.replies import Reply, Token
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.dcr import make_criterion
from rubriclab.methods.method import Learned, TrainingInput, ignore_progress
from rubriclab.methods.questions import make_question
from rubriclab.methods.sources import Checklist, Finding
from rubriclab.models.aggregation import Aggregation, Calibration, CallGrouping, Term
from rubriclab.models.base import digest
from rubriclab.models.rubric import Criterion, Evidence, Level, Part, Question, Rubric
from rubriclab.models.sentences import split_sentences
from rubriclab.models.text import Assignment, Example, Material, Scale, Units, find_aspect, format_score, task_words
from rubriclab.prompts.prompt import Prompt

Said = Mapping[str, Any] | str | Reply
Script = Callable[[Prompt[Any]], Said]
# Whether the answer to a question (by id) about a unit (its words) of an output is yes.
Says = Callable[[str, str, str], bool]

ONE_TO_FIVE = Scale(low=1, high=5, whole=True)
ANCHORS = (1, 2, 3, 4, 5)
ASPECT = "coherence"
OVERALL = ("seeval", "direct", "few_shot", "geval", "analyze_rate")
# Learning by HypoEval in little.
SMALL = {
    "initial_examples": 3,
    "initial_hypotheses": 3,
    "k": 4,
    "wrong_bank": 3,
    "new_hypotheses": 2,
    "refine_rounds": 3,
    "bank_size": 8,
    "selected": 2,
}


# Texts and what they are judged for


def assignment(scale: Scale = ONE_TO_FIVE) -> Assignment:
    return Assignment(task_words("summarization"), find_aspect("summarization", ASPECT), scale)


def example(number: int, score: float, group: str = "g0", **fields: Any) -> Example:
    """Return a text that its number tells apart from every other."""
    return Example(
        id=f"t{number:02d}", output=f"Summary number {number}.", group=group, scores={ASPECT: score}, **fields
    )


def examples(count: int = 30, scale: Scale = ONE_TO_FIVE, groups: int = 6, seed: int = 0) -> tuple[Example, ...]:
    draw = random.Random(f"labels {seed}")
    return tuple(
        example(i, draw.choice(scale.anchors()), f"g{i % groups}", source=f"Source {i % groups}.", system=f"s{i // 6}")
        for i in range(count)
    )


def graded(count: int, groups: int = 6, scale: Scale | None = None) -> tuple[Example, ...]:
    anchors = (scale or ONE_TO_FIVE).anchors()
    return tuple(example(i, anchors[i % len(anchors)], f"g{i % groups}", source=f"Source {i}.") for i in range(count))


def rivals(count: int, group: str = "g0", start: int = 0) -> list[Example]:
    return [example(start + number, 3, group, source=f"The source of {group}.") for number in range(count)]


def sentences(count: int, name: str = "Sentence") -> str:
    return " ".join(f"{name} number {number} says so." for number in range(1, count + 1))


def text(output: str | int = "Some words.", **fields: Any) -> Example:
    """Return a text to judge: these words, or this many sentences."""
    return Example(id="t", output=sentences(output) if isinstance(output, int) else output, group="g", **fields)


def findings(count: int = 2) -> tuple[Finding, ...]:
    return tuple(
        Finding(id=f"f{i}", aspects=(), claim=f"Claim {i} of the literature.", citation="A (2024)")
        for i in range(count)
    )


def training_input(texts: Sequence[Example], **fields: Any) -> TrainingInput:
    return TrainingInput(tuple(texts), **{"assignment": assignment(), "findings": findings(), **fields})


async def learn(
    method: str,
    texts: Sequence[Example],
    *,
    judge: Any = None,
    generator: Any = None,
    seed: int = 1,
    scale: Scale | None = None,
    given: Mapping[str, Any] = {},
    **chosen: Any,
) -> Learned:
    found, judge = METHODS[method], judge or scripted()
    return await found.learn(
        TrainingInput(tuple(texts), assignment(scale or ONE_TO_FIVE), **given),
        found.settings(**chosen),
        judge=judge,
        generator=generator or judge,
        seed=seed,
        on_progress=ignore_progress,
    )


def words(name: str, count: int) -> str:
    """Return made-up words: the same for the same name, and unlike those of any other."""
    draw = random.Random(name)
    return " ".join("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 9))) for _ in range(count))


def wording(name: str) -> str:
    return f"{words(f'question {name}', 10)}?"


# Checklists, criteria and rubrics


def checklist(sizes: Sequence[int] = (1, 2), **fields: Any) -> Checklist:
    """Return a checklist for the coherence of summaries: side 1 has the seeds a1 ..., side 2 b1 ...

    `changes` maps ids of seeds to fields of these.
    """
    changes = fields.pop("changes", {})
    subs = []
    for number, (letter, size) in enumerate(zip("abcdefgh", sizes, strict=False), 1):
        ids = [f"{letter}{place}" for place in range(1, size + 1)]
        questions = [{"id": name, "text": wording(name), **changes.get(name, {})} for name in ids]
        definition = f"What {words(f'side {number}', 4)} means."
        subs.append({"name": f"Side {number}", "definition": definition, "questions": questions})
    head = {"format": "rubriclab-checklist/1", "task": "summarization", "aspect": ASPECT, "definition": "It holds."}
    return Checklist.model_validate({**head, "sub_dimensions": subs, **fields})


def seeds(given: Checklist) -> tuple[Criterion, ...]:
    return tuple(
        question(each.id, sub.name, text=each.text, better=each.better)
        for sub in given.sub_dimensions
        for each in sub.questions
    )


def question(name: str, trait: str = "Side 1", seed: str | None = None, **fields: Any) -> Criterion:
    """Return a question with the id `name`; a seed unless it names one."""
    text, needs_source = fields.pop("text", wording(name)), fields.pop("needs_source", True)
    evidence = Evidence(origin="seed questions" if seed else fields.pop("author", "written by hand"))
    stated = Question(**{"origin": "elaborated" if seed else "seed", "seed": seed, **fields})
    return make_question(name, trait, text, evidence, stated, needs_source=needs_source)


def hypothesis(name: str, anchors: Sequence[float] = ANCHORS) -> dict[str, Any]:
    levels = {format_score(anchor): words(f"{name} {anchor}", 6) for anchor in anchors}
    return {"trait": name, "statement": words(name, 20), "levels": levels}


def criterion(
    name: str, *, weight: float = 1.0, origin: Any = "labels", anchors: Sequence[float] = ANCHORS
) -> Criterion:
    own = hypothesis(name, anchors)
    levels = tuple(Level(score=float(score), description=text) for score, text in own.pop("levels").items())
    return Criterion(**own, id=name, kind="hypothesis", levels=levels, weight=weight, evidence=Evidence(origin=origin))


def whole(statement: str = "What is said of it.", **fields: Any) -> Criterion:
    own = {"id": "score", "kind": "score", "trait": ASPECT, "evidence": Evidence(origin="definition")}
    return Criterion(**{**own, "statement": statement, **fields})


def part_of(method: str, *criteria: Criterion, dimensions: dict[str, str] | None = None, **chosen: Any) -> Part:
    """Return a part with these criteria, or else one of the whole text, and the method's settings as chosen."""
    settings = METHODS[method].settings(**chosen).model_dump(mode="json")
    return Part(method=method, settings=settings, criteria=criteria or (whole(),), dimensions=dimensions)


QUESTIONS = (question("q1"), question("q2", "Side 2"), question("q3", better="no"))
HYPOTHESES = part_of("hypoeval", criterion("h1"), criterion("h2"))
CHECKLIST = part_of(
    "checkeval", *QUESTIONS, dimensions={"Side 1": "What the first is.", "Side 2": "What the second is."}
)
EXPLAINED = part_of("seeval", whole("I look at the order.\nThen I settle.", id="e1"))
DIRECT = part_of("direct", whole("By its definition.", id="direct"))
STEPS = part_of("geval", whole("1. Read it.\n2. Settle on a score.", id="geval"), scoring="once")
PARTS = (HYPOTHESES, CHECKLIST, EXPLAINED, DIRECT, STEPS)
IDS = ("h1", "h2", "q1", "q2", "q3", "e1", "direct", "geval")


def rubric_of(*parts: Part, **fields: Any) -> Rubric:
    given = assignment()
    return Rubric(task="summarization", aspect=given.aspect, scale=given.scale, parts=parts, **fields)


def combined(ask: CallGrouping, parts: tuple[Part, ...] = PARTS) -> Rubric:
    """Return a rubric of these parts; all criteria weigh the same, and a point more by each is a point more."""
    names = [criterion.id for part in parts for criterion in part.criteria]
    share = {"weight": 1 / len(names), "center": 3.0, "spread": 1.0, "low": 0.0, "high": 1.0, "selected": 1.0}
    terms = tuple(Term(criterion=name, **share) for name in names)
    calibration = Calibration(kind="linear", x=(0.0, 1.0), y=(3.0, 4.0))
    return rubric_of(*parts, aggregation=Aggregation(ask=ask, terms=terms, calibration=calibration))


def comparisons(**units: Any) -> Checklist:
    """Return a checklist of two checks that hold sentences against the source, the second one about a fault."""
    units = {"kind": "sentence", "beside": ["source"], **units}
    return checklist((2,), changes={"a2": {"better": "no"}}, units=units)


def dcr_part(material: Any = "source", **chosen: Any) -> Part:
    """Return a part that holds sentences against `material`, with a second call that reads the reasons."""
    criterion = make_criterion(comparisons(), material, assignment())
    part = part_of("dcr", criterion, **{"verdict": "converted", **chosen})
    return part.model_copy(update={"units": Units(kind="sentence", beside=(material,))})


def sentence_rubric(beside: Material = "source") -> Rubric:
    """Return a rubric by which each sentence is judged beside a text: DCR with the verdict in the same reply."""
    criteria = (whole("The checks:\n- Is it so?", evidence=Evidence(origin="written by hand")),)
    units = Units(kind="sentence", beside=(beside,))
    return rubric_of(Part(method="dcr", settings={"verdict": "with the reason"}, criteria=criteria, units=units))


# A text to improve.
DRAFT = Example(
    id="t1",
    output="First one. Second one. Third one.",
    group="g1",
    source="Three of them.",
    system="s1",
    scores={ASPECT: 2.0},
    annotations={ASPECT: (1.0, 3.0)},
)


# Draws, the same for the same prompt


def drawn_rating(prompt: Prompt[Any], trait: str, seed: int = 0) -> float:
    draw = random.Random(digest([seed, trait, prompt.fields["output"]]))
    return float(draw.choice(prompt.fields["scale"]["anchors"]))


def drawn_score(prompt: Prompt[Any]) -> float:
    """Return an anchor of the scale: the same for the same text, explanation and sample."""
    fields = prompt.fields
    draw = random.Random(digest([fields["output"], fields.get("explanation"), prompt.sample]))
    return float(draw.choice(fields["scale"]["anchors"]))


def drawn_answer(name: str, _text: str, output: str, seed: int = 0) -> str:
    """Return yes or no: the same for the same question and output."""
    return random.Random(digest([seed, name, output])).choice(["yes", "no"])


def drawn_verdict(question: str, unit: str, output: str, seed: int = 0) -> bool:
    """Return whether the answer is yes: the same for the same question, unit and output."""
    return random.Random(digest([seed, question, unit, output])).random() < 0.5


# Replies


def rating(score: Any, reasoning: str = "Because.") -> dict[str, Any]:
    return {"reasoning": reasoning, "score": score}


def proposal(*names: str, anchors: Sequence[float] = ANCHORS) -> dict[str, Any]:
    return {"reasoning": "Compared.", "hypotheses": [hypothesis(name, anchors) for name in names]}


def stated(wording: str, **fields: Any) -> dict[str, Any]:
    return {"text": wording, "absent": "no", "broken": "no", **fields}


def answers(prompt: Prompt[Any], of: Callable[[str, str, str], str] = drawn_answer) -> dict[str, Any]:
    """Return an answer to each question of an answer prompt, given by id, wording and output."""
    questions = [each for sub in prompt.fields["sub_dimensions"] for each in sub["questions"]]
    given = {each["id"]: of(each["id"], each["text"], prompt.fields["output"]) for each in questions}
    return (
        given if prompt.fields["bare"] else {name: {"reason": "Seen.", "answer": said} for name, said in given.items()}
    )


def verdict(**fields: Any) -> dict[str, Any]:
    """Return a verdict on a question with nothing to find fault with, except for `fields`."""
    fine = {"reasoning": "Fits.", "absent": "n/a", "broken": "no", "yes_means": "better", "about": ASPECT}
    return {**fine, "style": "fine", **fields}


def verdicts(prompt: Prompt[Any], **faults: Mapping[str, str]) -> dict[str, Any]:
    """Return a reply to a filter prompt that finds `faults` by id (with `_` for `-`) and nothing else."""
    ids = [each["id"] for each in prompt.fields["questions"]]
    return {name: verdict(**faults.get(name.replace("-", "_"), {})) for name in ids}


def written_seeds(count: int, each: int = 1) -> dict[str, Any]:
    subs = [
        {
            "name": f"Written {number}",
            "definition": f"What {number} is.",
            "questions": [wording(f"written {number} {place}") for place in range(each)],
        }
        for number in range(1, count + 1)
    ]
    return {"reasoning": "Known.", "sub_dimensions": subs}


def is_true(sentence: str) -> bool:
    return "false" not in sentence and "wrong" not in sentence


def compared(prompt: Prompt[Any], sentence: str) -> dict[str, Any]:
    reason = f"It says: {sentence} So it is {'' if is_true(sentence) else 'not '}consistent."
    return {
        "reason": reason,
        **({"consistent": "yes" if is_true(sentence) else "no"} if prompt.fields["verdict"] else {}),
    }


def comparison(prompt: Prompt[Any]) -> dict[str, Any]:
    return {f"sentence {each['id']}": compared(prompt, each["text"]) for each in prompt.fields["sentences"]}


def mended(prompt: Prompt[Any], most: int = 99, good: str = "right") -> dict[str, Any]:
    """Return a reply that puts the word `good` in place of "wrong" in the first failing sentences."""
    shown = [each for each in prompt.fields["sentences"] if each["id"] in prompt.fields["failing"]][:most]
    return {
        "sentences": [
            {"sentence": each["id"], "reasoning": "Put right.", "text": each["text"].replace("wrong", good)}
            for each in shown
        ]
    }


def scored(score: Any = 4, **fields: Any) -> dict[str, Any]:
    return {"reason": "It shows.", "score": score, **fields}


def answered(answer: Any = "yes", **fields: Any) -> dict[str, Any]:
    return {"reason": "It was looked up.", "answer": answer, **fields}


def sound(prompt: Prompt[Any]) -> dict[str, Any]:
    """Return an entry for each criterion of a single call: drawn scores, and yes to every question."""
    fields = prompt.fields
    questions = [each["id"] for sub in fields["sub_dimensions"] for each in sub["questions"]]
    return {
        **{each["id"]: scored(drawn_rating(prompt, each["id"])) for each in (*fields["criteria"], *fields["overall"])},
        **{name: answered() for name in questions},
    }


def about_each(prompt: Prompt[Any], score: Callable[[str], float] | None = None) -> dict[str, dict[str, Any]]:
    entries = {}
    for each in prompt.fields["texts"]:
        alone = replace(prompt, fields={**prompt.fields, "output": each["output"]})
        entry = entries[f"text {each['number']}"] = sound(alone)
        for item in entry.values() if score else ():
            if "score" in item and score:
                item["score"] = score(each["output"])
    return entries


def shown(prompt: Prompt[Any]) -> list[str]:
    return [each["output"] for each in prompt.fields["texts"]]


def one_to_five(output: str) -> float:
    return 1 + int(output.rstrip(".").rsplit(" ", 1)[1]) % 5


def weighing(shares: Mapping[float, float]) -> Reply:
    """Return a bare score as a provider with log-probabilities gives it; the likeliest score is the one chosen."""
    alternatives = tuple((f"{score:g}", math.log(share)) for score, share in shares.items())
    chosen = f"{max(shares, key=lambda score: shares[score]):g}"
    tokens = (Token('{"score": ', (('{"score": ', -0.01),)), Token(chosen, alternatives), Token("}", (("}", -0.01),)))
    return Reply("".join(token.text for token in tokens), "fake", tokens=tokens)


# The judge


class Scripted:
    """The usual answers to every prompt.

    Proposals are all new and unlike, nothing is at fault or redundant, and scores and answers are drawn.

    Args:
        score: each text's score by the whole text; `None` for a text that the judge is unavailable for.
        says: the verdicts on units.
        per_sentence: facts of each sentence.
        weights: the weights of questions, 1 unless named.
        replaced: scripts in place of the usual ones, by the template's name (with `__` for `/`) or its last part.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        score: Callable[[Prompt[Any]], float | None] = drawn_score,
        says: Says = drawn_verdict,
        per_sentence: int = 2,
        weights: Mapping[str, Any] = {},
        **replaced: Script,
    ) -> None:
        self.seed, self._score, self._says, self._facts, self._weights = seed, score, says, per_sentence, weights
        self._replaced = {name.replace("__", "/"): script for name, script in replaced.items()}
        self._proposed = 0

    def __call__(self, prompt: Prompt[Any]) -> Any:
        name, fields = prompt.name, prompt.fields
        if script := self._replaced.get(name) or self._replaced.get(name.rsplit("/", 1)[1]):
            return script(prompt)
        found: Any = TABLE.get(name, Scripted._whole)(self, prompt)
        if fields.get("weigh"):
            found["weights"] = {each["id"]: self._weights.get(each["id"], 1) for each in fields["questions"]}
        return found

    def proposal(self, count: int, anchors: Sequence[float] = ANCHORS) -> dict[str, Any]:
        names = [f"trait {self.seed}.{self._proposed + place}" for place in range(count)]
        self._proposed += count
        return proposal(*names, anchors=anchors)

    def _whole(self, prompt: Prompt[Any]) -> dict[str, Any]:
        score = self._score(prompt)
        if score is None:
            raise JudgeUnavailable(f"busy with {prompt.fields['output']}")
        reasons = {"reasoning": "Because.", "analysis": "At length."}
        return {name: reasons.get(name, score) for name in prompt.reply.model_fields}

    def _diversify(self, prompt: Prompt[Any]) -> dict[str, Any]:
        name, seed = prompt.fields["sub_dimension"]["name"], prompt.fields["questions"][-1]["id"]
        new = [stated(wording(f"{name} side {number}"), seed=seed) for number in range(prompt.fields["count"])]
        return {"reasoning": "Missed.", "questions": new}

    def _diversify_dimension(self, prompt: Prompt[Any]) -> dict[str, Any]:
        ids = [seed["id"] for sub in prompt.fields["sub_dimensions"] for seed in sub["questions"]]
        numbers = range(prompt.fields["count"])
        new = [{"seed": ids[n % len(ids)], "text": wording(f"{ids[n % len(ids)]} side {n}")} for n in numbers]
        return {"reasoning": "Missed.", "questions": new}

    def _elaborate(self, prompt: Prompt[Any]) -> dict[str, Any]:
        name, numbers = prompt.fields["question"]["id"], range(prompt.fields["fewest"])
        return {"reasoning": "Parts.", "questions": [stated(wording(f"{name} point {number}")) for number in numbers]}

    def _sides(self, prompt: Prompt[Any]) -> dict[str, Any]:
        names = [f"New side {number}" for number in range(1, prompt.fields["count"] + 1)]
        new = [{"name": name, "definition": words(f"{name} d", 4), "question": f"{words(name, 8)}?"} for name in names]
        return {"reasoning": "Compared.", "sub_dimensions": new}

    def _of_each(self, prompt: Prompt[Any], field: str, yes: Any, no: Any) -> dict[str, Any]:
        fields = prompt.fields

        def entry(unit: Mapping[str, str], question: str) -> Any:
            shown = unit.get("text") or f"{unit['first']} {unit['second']}"
            found = yes if self._says(question, shown, fields["output"]) else no
            return found if fields["bare"] else {"reason": f"Seen of {question}.", field: found}

        questions = [each["id"] for each in fields["questions"]]
        return {unit["id"]: {name: entry(unit, name) for name in questions} for unit in fields["units"]}


def _rewriting(prompt: Prompt[Any]) -> dict[str, Any]:
    shown = " ".join(item["output"] for item in prompt.fields["observations"])
    return {"reasoning": "Compared.", "explanation": f"Rewritten from: {shown}"}


def _marks(prompt: Prompt[Any]) -> dict[str, Any]:
    return {
        f"report {each['id']}": {"thought": "Clear.", "mark": -1 if "not consistent" in each["text"] else 1}
        for each in prompt.fields["reasons"]
    }


# The usual reply by template; scores of the whole text by all others.
TABLE: dict[str, Callable[[Scripted, Prompt[Any]], Said]] = {
    "hypoeval/propose": lambda me, p: me.proposal(p.fields["count"], p.fields["scale"]["anchors"]),
    "hypoeval/refine": lambda me, p: me.proposal(len(p.fields["hypotheses"]), p.fields["scale"]["anchors"]),
    "hypoeval/rate": lambda me, p: rating(drawn_rating(p, p.fields["criteria"][0]["trait"], me.seed)),
    "hypoeval/rate_together": lambda me, p: {
        each["id"]: {"reason": "Because.", "score": drawn_rating(p, each["trait"], me.seed)}
        for each in p.fields["criteria"]
    },
    "deduplication/group": lambda *_: {"groups": []},
    "checkeval/seeds": lambda *_: written_seeds(3),
    "checkeval/diversify": Scripted._diversify,
    "checkeval/diversify_dimension": Scripted._diversify_dimension,
    "checkeval/elaborate": Scripted._elaborate,
    "checkeval/filter": lambda _, p: verdicts(p),
    "checkeval/filter_dimension": lambda *_: {"removed": []},
    "checkeval/answer": lambda _, p: answers(p),
    "seal/propose": Scripted._sides,
    "seal/split": lambda _, p: {"sentences": list(split_sentences(p.fields["text"]))},
    "seal/facts": lambda me, p: {
        f"sentence {each['id']}": [f"Fact {n} of {each['what']} {each['id']}." for n in range(me._facts)]
        for each in p.fields["sentences"]
    },
    "seal/verify": lambda me, p: me._of_each(p, "answer", "yes", "no"),
    "seal/support": lambda me, p: me._of_each(p, "facts", [p.fields["facts"][0]["id"]], []),
    "seal/rate": lambda me, p: me._of_each(p, "score", p.fields["scale"]["high"], p.fields["scale"]["low"]),
    "dcr/evaluate": lambda _, p: comparison(p),
    "dcr/convert": lambda _, p: _marks(p),
    "seeval/explain": lambda _, p: {"explanation": f"Explanation number {p.sample}."},
    "seeval/refine": lambda _, p: _rewriting(p),
    "geval/steps": lambda *_: {"steps": ["Read it.", "Settle on a score."]},
    "single_call/judge": lambda _, p: sound(p),
    "single_call/judge_rivals": lambda _, p: about_each(p),
    "improve/rewrite": lambda _, p: mended(p),
}


class RecordingJudge(EmbeddedJudge):
    """The offline judge, which remembers the prompts that it was asked."""

    def __init__(self) -> None:
        self.prompts: list[Prompt[Any]] = []

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        self.prompts.append(prompt)
        return await super().reply(prompt)


def scripted(seed: int = 0, **chosen: Any) -> FakeJudge:
    """Return a judge with the usual answers, except for what is chosen; see `Scripted`."""
    return FakeJudge(Scripted(seed, **chosen))


def rating_by(**scores: float | None) -> FakeJudge:
    """Return a judge that rates by the id of a criterion, and gives no reply where that is `None`."""

    def script(prompt: Prompt[Any]) -> Said:
        score = scores[prompt.fields["criteria"][0]["id"]]
        if score is None:
            raise JudgeUnavailable("the server is busy")
        return rating(score, f"Worth {score}.")

    return scripted(rate=script)


def jointly(spoil: Callable[[dict[str, Any]], Any]) -> FakeJudge:
    return FakeJudge(lambda prompt: spoil(sound(prompt)))


def judging(spoil: Callable[[dict[str, dict[str, Any]]], Any] = lambda entries: entries) -> FakeJudge:
    """Return a judge that scores rivals by their numbers; `spoil` changes the entries of every reply."""
    return FakeJudge(lambda prompt: spoil(about_each(prompt, one_to_five)))


def of_kind(judge: FakeJudge, name: str) -> list[Prompt[Any]]:
    """Return the prompts of templates with this name or last part that the judge was asked, repairs aside."""
    return [p for p in judge.prompts if (p.name == name or p.name.endswith(f"/{name}")) and p.repair is None]
