"""Tiny files in the shape in which the public sets are published, with texts of our own."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

HANNA_COLUMNS = (
    "Story ID,Prompt,Human,Story,Model,Relevance,Coherence,Empathy,Surprise,Engagement,Complexity,"
    "Worker ID,Assignment ID,Work time in seconds,Name"
)
NEWSROOM_COLUMNS = (
    "ArticleID,System,ArticleText,SystemSummary,ArticleTitle,"
    "CoherenceRating,FluencyRating,InformativenessRating,RelevanceRating"
)


def json_lines(*rows: Mapping[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(columns: str, *rows: list[object]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows([columns.split(","), *rows])
    return written.getvalue()


def by_aspect(coherence: int, consistency: int, fluency: int, relevance: int) -> dict[str, int]:
    return {"coherence": coherence, "consistency": consistency, "fluency": fluency, "relevance": relevance}


def summary(system: str, decoded: str, *experts: dict[str, int], **more: object) -> dict[str, Any]:
    return {
        "id": "dm-test-0a",
        "decoded": decoded,
        "expert_annotations": list(experts),
        "turker_annotations": [by_aspect(1, 1, 1, 1)] * 5,
        "references": ["The ferry was late. ", *["It came late."] * 10],
        "model_id": system,
        "filepath": "cnndm/dailymail/stories/0a.story",
        **more,
    }


def paired_summaries() -> str:
    text = {"text": "The morning ferry left an hour late because of fog."}
    first = summary("M0", "the ferry left late .", by_aspect(5, 5, 4, 3), by_aspect(4, 5, 4, 4), by_aspect(4, 5, 5, 3))
    second = summary("M11", " fog fog . \n", by_aspect(1, 3, 2, 1), by_aspect(2, 3, 1, 1), by_aspect(1, 1, 1, 2))
    return json_lines(first | text, second | text)


def story(number: int, prompt: str, told: str, model: str, rated: str) -> list[object]:
    """Return a row of HANNA; `rated` is six ratings and who gave them, as in `543215 W7`."""
    ratings, worker = rated.split()
    return [number, prompt, "A person's own tale.", told, model, *ratings, worker, f"A{worker}", 95, "Ida"]


def stories() -> str:
    tower, boat = "A tower\nwithout doors, they say.", "The last boat"
    return table(
        HANNA_COLUMNS,
        story(0, tower, "A person's own tale.", "Human", "543215 W7"),
        story(0, tower, "A person's own tale.", "Human", "432114 W8"),
        story(0, tower, "A person's own tale.", "Human", "543323 W9"),
        story(97, boat, 'It sank, "quietly".', "BertGeneration", "111111 W7"),
        story(97, boat, 'It sank, "quietly".', "BertGeneration", "211112 W7"),
        story(97, boat, 'It sank, "quietly".', "BertGeneration", "311113 W9"),
        story(96, tower, "No door, no way in.", "BertGeneration", "222222 W1"),
    )


def news_summaries() -> str:
    article = "<p>Rain &amp; wind closed the fair.</p><p>It opens again on Monday.</p>"
    short, long = "Rain &amp; wind closed the fair .", "The fair , it said &quot; closed &quot; ."
    rated = [["lede3", short, "4534"], ["textrank", long, "2211"], ["lede3", short, "5545"], ["textrank", long, "1321"]]
    rows = [["31059", system, article, said, "Fair shut", *ratings] for system, said, ratings in rated]
    return table(NEWSROOM_COLUMNS, *rows, ["31059", "lede3", article, short, "Fair shut", *"4445"])


def response(model: str, said: str, *ratings: list[int]) -> dict[str, Any]:
    asked = ("Understandable", "Natural", "Maintains Context", "Engaging", "Uses Knowledge", "Overall")
    return {"response": said, "model": model, **dict(zip(asked, ratings, strict=True))}


def dialogues() -> str:
    original = response("Original Ground Truth", "i read that owls cannot move their eyes .\n", *[[1, 1, 1]] * 6)
    argmax = response("Argmax Decoding", "yes .\n", [1, 0, 1], [2, 3, 3], [1, 1, 2], [1, 1, 1], [0, 0, 1], [2, 2, 1])
    bare = response("Nucleus Decoding (p = 0.3)", "me too !\n", [1, 1], [3, 2], [2, 2], [2, 1], [0, 0], [3, 3])
    first = {
        "context": "do you like birds ?\ni love owls .\n",
        "fact": "an owl turns its head by 270 degrees .\n",
        "annotators": ["ann", "bo", "cy"],
        "responses": [original, argmax],
    }
    second = {"context": "what a day !\n", "fact": "_nofact\n", "annotators": ["ann"], "responses": [bare]}
    return json.dumps([first, second])


def judged(sentence: str, **answers: str) -> dict[str, Any]:
    responses = [{"worker_id": int(worker[1:]), "response": answer} for worker, answer in answers.items()]
    return {"sentence": sentence, "responses": responses}


def judged_sentences() -> str:
    first = [
        judged("The mill closed in May.", w0="yes", w3="no", w25="yes"),
        judged("Forty people worked there.", w0="no", w3="no", w25="yes"),
        judged("It made paper.", w0="yes", w3="yes", w25="yes"),
    ]
    second = [judged("A bridge fell.", w1="no", w2="no", w0="no"), judged("Nobody was hurt.", w1="yes", w4="yes")]
    return json_lines(
        {"article": "The paper mill shut its gates in May.", "summary_sentences": first},
        {"article": "The old bridge still stands.", "summary_sentences": second},
    )


def rated_story(prompt: str, told: str, ratings: str, **more: object) -> dict[str, Any]:
    grammar, cohesive, enjoy, relevant = ([int(number) for number in each] for each in ratings.split())
    given = {"grammar": grammar, "cohesive": cohesive, "enjoy": enjoy, "relevant": relevant}
    return {"prompt": prompt, "story": told, **given, **more}


def rated_stories() -> str:
    lamp, lost = "A lamp that burns backwards.", "#NAME?"
    told = [
        rated_story(lamp, "It grew darker.", "555 454 321 111", human_written=1),
        rated_story(lost, "He ran.", "332 333 222 333", human_written=0),
        rated_story(lamp, "Noon came at night.", "444 444 455 555", human_written=0),
        rated_story(lost, "She stayed.", "111 112 122 222"),
    ]
    return json.dumps({str(number): each for number, each in enumerate(told)}, indent=2)


FILES: dict[str, tuple[str, Callable[[], str]]] = {
    "summeval": ("model_annotations.aligned.paired.jsonl", paired_summaries),
    "newsroom": ("newsroom-human-eval.csv", news_summaries),
    "hanna": ("hanna_stories_annotations.csv", stories),
    "writingprompts_a": ("wp_a.json", rated_stories),
    "topical_chat": ("tc_usr_data.json", dialogues),
    "qags_cnndm": ("mturk_cnndm.jsonl", judged_sentences),
    "qags_xsum": ("mturk_xsum.jsonl", judged_sentences),
}
"""For each set what its file is called, and what stands in a tiny one."""
