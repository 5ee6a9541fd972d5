"""How the records of each public set become texts.

Scores are means over the raters, as in the papers that report on these sets.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from experiments.datasets.records import Record, Records
from rubriclab import Example

Annotations = dict[str, tuple[float, ...]]

SUMMARY_ASPECTS = ("coherence", "consistency", "fluency", "relevance")
NEWS_ASPECTS = ("coherence", "fluency", "informativeness", "relevance")
STORY_ASPECTS = ("relevance", "coherence", "empathy", "surprise", "engagement", "complexity")
HANNA_PROMPTS = 96
DIALOGUE_QUESTIONS = {
    "understandability": "Understandable",
    "naturalness": "Natural",
    "coherence": "Maintains Context",
    "engagingness": "Engaging",
    "groundedness": "Uses Knowledge",
    "overall": "Overall",
}
TEACHERS_QUESTIONS = {
    "grammaticality": "grammar",
    "cohesiveness": "cohesive",
    "likability": "enjoy",
    "relevance": "relevant",
}
ANSWERS = {"yes": 1.0, "no": 0.0}
_PARAGRAPHS = re.compile(r"(?:\s*</?p>\s*)+")


def summeval(records: Records) -> Iterator[Example]:
    """Yield SummEval's summaries of CNN/DailyMail articles by 16 systems (Fabbri et al. 2021, TACL 9).

    `text` is there once the authors' `pair_data.py` has added the articles. The first of the eleven references is the
    article's own. Crowd workers are left out. Experts have no names: the first one may differ from text to text.
    """
    for row in records:
        article, system = row.name("id"), row.name("model_id")
        experts = row.nested("expert_annotations")
        references = row.values.get("references")
        if not isinstance(references, list) or not references:
            raise row.wrong("references", "a list of texts")
        yield _example(
            f"{article}::{system}",
            row.text("decoded"),
            {aspect: tuple(expert.number(aspect) for expert in experts) for aspect in SUMMARY_ASPECTS},
            group=article,
            source=row.optional("text"),
            reference=Record({"references": references[0]}).optional("references"),
            system=system,
        )


@dataclass(slots=True)
class _Rated:
    """A text whose ratings are spread over several records."""

    output: str
    source: str
    reference: str | None = None
    system: str = ""
    raters: list[str] = field(default_factory=list)
    given: dict[str, list[float]] = field(default_factory=dict)

    def rate(self, row: Record, aspects: Sequence[str], ending: str = "") -> None:
        for aspect in aspects:
            self.given.setdefault(aspect, []).append(row.number(aspect.capitalize() + ending))

    @property
    def annotations(self) -> Annotations:
        return {aspect: tuple(numbers) for aspect, numbers in self.given.items()}


def newsroom(records: Records) -> Iterator[Example]:
    """Yield NewsRoom's summaries of 60 articles by seven systems (Grusky, Naaman & Artzi 2018, NAACL).

    There is a row for each rating, by crowd workers without names. Texts are HTML, with `</p><p>` between paragraphs.
    """
    summaries = dict[tuple[str, str], _Rated]()
    for row in records:
        key = row.name("ArticleID"), row.name("System")
        output, source = (
            html.unescape(_PARAGRAPHS.sub("\n\n", row.text(name))).strip() for name in ("SystemSummary", "ArticleText")
        )
        summary = summaries.setdefault(key, _Rated(output, source))
        if (summary.output, summary.source) != (output, source):
            raise row.wrong("SystemSummary", f"one text of {key[1]!r} for article {key[0]!r}")
        summary.rate(row, NEWS_ASPECTS, "Rating")
    for (article, system), each in summaries.items():
        found = each.annotations
        yield _example(f"{article}::{system}", each.output, found, group=article, source=each.source, system=system)


def hanna(records: Records) -> Iterator[Example]:
    """Yield HANNA's stories for 96 prompts by people and ten systems (Chhun et al. 2022, COLING).

    There is a row for each rating. Stories are numbered system by system with the prompts in one order, so the number
    modulo 96 is the prompt's. The human story is the reference of all stories for its prompt, and is itself rated.
    """
    stories, prompts = dict[int, _Rated](), dict[int, str]()
    for row in records:
        number, prompt = row.whole("Story ID"), row.text("Prompt")
        if prompts.setdefault(number % HANNA_PROMPTS, prompt) != prompt:
            raise row.wrong("Prompt", "the prompt of an earlier story of the same number modulo 96")
        output, system = row.text("Story"), row.name("Model")
        story = stories.setdefault(number, _Rated(output, prompt, row.optional("Human"), system))
        if (story.output, story.system) != (output, system):
            raise row.wrong("Story ID", "one story for each number")
        story.raters.append(row.optional("Worker ID") or "")
        story.rate(row, STORY_ASPECTS)
    for number, each in stories.items():
        yield _example(
            f"hanna-{number:04d}",
            each.output,
            each.annotations,
            each.raters,
            group=f"P{number % HANNA_PROMPTS:02d}",
            source=each.source,
            reference=each.reference,
            system=each.system,
        )


def writingprompts(records: Records) -> Iterator[Example]:
    """Yield WritingPrompts-A: 400 stories by people and by GPT-2 (Chiang & Lee 2023, ACL), as HypoEval's authors
    publish them.

    Stories with the same prompt are one group; a prompt that a spreadsheet has replaced by `#NAME?` is a group of its
    own. Raters have no names.
    """
    groups = dict[str, str]()
    for row in records:
        number, prompt, by_person = f"{row.whole('key'):03d}", row.text("prompt"), row.values.get("human_written")
        if by_person not in (None, 0, 1):
            raise row.wrong("human_written", "1 or 0")
        yield _example(
            f"writingprompts_a-{number}",
            row.text("story"),
            {aspect: row.numbers(question) for aspect, question in TEACHERS_QUESTIONS.items()},
            group=f"P{number}" if prompt == "#NAME?" else groups.setdefault(prompt, f"P{number}"),
            source=prompt,
            system=None if by_person is None else "Human" if by_person else "GPT-2",
        )


def topical_chat(records: Records) -> Iterator[Example]:
    """Yield USR's responses of six speakers to 60 dialogues of Topical-Chat (Mehri & Eskenazi 2020, ACL; dialogues of
    Gopalakrishnan et al. 2019).

    Aspects are named as in later papers (UniEval, G-Eval). The original next turn is the reference, and is itself
    rated. Ratings are in the order of the annotators.
    """
    for number, dialogue in enumerate(records):
        group, fact = f"tc{number:02d}", dialogue.optional("fact")
        raters = dialogue.values.get("annotators", [])
        if not isinstance(raters, list):
            raise dialogue.wrong("annotators", "a list of names")
        responses = [(each.name("model"), each) for each in dialogue.nested("responses")]
        original = [each.text("response") for system, each in responses if system == "Original Ground Truth"]
        for system, response in responses:
            yield _example(
                f"{group}::{system}",
                response.text("response"),
                {aspect: response.numbers(question) for aspect, question in DIALOGUE_QUESTIONS.items()},
                [str(name) for name in raters],
                group=group,
                source=dialogue.text("context"),
                context=None if fact == "_nofact" else fact,
                reference=original[0] if original else None,
                system=system,
            )


def qags(records: Records, *, name: str, system: str) -> Iterator[Example]:
    """Yield QAGS's summaries, each a group of its own (Wang, Cho & Lewis 2020, ACL).

    The score is the share of the sentences that most workers support, a worker's number the share that this worker
    supports; workers who judged only some sentences have none. The file does not name the systems.
    """
    for number, row in enumerate(records):
        own_id, sentences = f"{name}-{number:03d}", row.nested("summary_sentences")
        answers = [_answers(sentence) for sentence in sentences]
        everywhere = [worker for worker in answers[0] if all(worker in given for given in answers)]
        shares = {worker: _mean([given[worker] for given in answers]) for worker in everywhere}
        supported = [_mean(list(given.values())) > 1 / 2 for given in answers]
        yield Example(
            id=own_id,
            output=" ".join(sentence.text("sentence") for sentence in sentences),
            group=own_id,
            source=row.text("article"),
            system=system,
            scores={"consistency": sum(supported) / len(answers)},
            annotations={"consistency": tuple(shares.values())} if shares else {},
            raters={"consistency": tuple(shares)} if shares else {},
        )


def _answers(sentence: Record) -> dict[str, float]:
    given = dict[str, float]()
    for response in sentence.nested("responses"):
        worker, answer = response.name("worker_id"), response.text("response").lower()
        if answer not in ANSWERS or worker in given:
            raise response.wrong("response", f"yes or no, once from worker {worker!r}")
        given[worker] = ANSWERS[answer]
    return given


def _example(
    own_id: str, output: str, annotations: Annotations, raters: Sequence[str] = (), **others: str | None
) -> Example:
    """Return a text with the raters' means as scores; raters are named if each has a name of their own."""
    named = all(raters) and len(set(raters)) == len(raters)
    names = {aspect: tuple(raters) for aspect, numbers in annotations.items() if named and len(numbers) == len(raters)}
    scores = {aspect: _mean(numbers) for aspect, numbers in annotations.items()}
    return Example(id=own_id, output=output, scores=scores, annotations=annotations, raters=names, **others)  # type: ignore[arg-type]


def _mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)
