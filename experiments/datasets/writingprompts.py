"""WritingPrompts-A: 400 stories by people and by GPT-2, each rated by three English teachers.

Chiang & Lee 2023, ACL. Read as HypoEval's authors
have it among their original data, `wp_a.json`: one JSON object with an entry for each story, `"0"` to `"399"`, of
`prompt`, `story`, a list of ratings from 1 to 5 for each of `grammar`, `cohesive`, `enjoy` and `relevant`, and
`human_written` (1 or 0). Whether Chiang and Lee themselves publish the ratings in another form could not be found out,
nor whether the first rating of one story is by the same teacher as the first of the next: teachers have no names.

Stories with the same prompt are one group. A prompt that a spreadsheet has replaced by `#NAME?` stays as it is
published, and its story is a group of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from experiments.datasets.records import Records, lacking, means, ratings, text
from rubriclab import Example
from rubriclab.data.fields import Fields
from rubriclab.data.mapping import ABSENT

QUESTIONS = {"grammaticality": "grammar", "cohesiveness": "cohesive", "likability": "enjoy", "relevance": "relevant"}
WRITERS = {1: "Human", 0: "GPT-2"}
LOST = "#NAME?"


def examples(records: Records) -> Iterator[Example]:
    """Yield the stories, grouped by prompt."""
    groups = dict[str, str]()
    for row in records:
        number, prompt = f"{_number(row):03d}", text(row, "prompt")
        annotations = {aspect: ratings(row, question) for aspect, question in QUESTIONS.items()}
        yield Example(
            id=f"writingprompts_a-{number}",
            output=text(row, "story"),
            group=f"P{number}" if prompt == LOST else groups.setdefault(prompt, f"P{number}"),
            source=prompt,
            system=_writer(row),
            scores=means(annotations),
            annotations=annotations,
        )


def _number(row: Fields) -> int:
    key = text(row, "key")
    return int(key) if key.isascii() and key.isdecimal() else lacking(row, "key", "a whole number")


def _writer(row: Fields) -> str | None:
    written = row.value("human_written")
    if written is ABSENT:
        return None
    return WRITERS[written] if written in (0, 1) else lacking(row, "human_written", "1 or 0")
