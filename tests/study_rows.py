"""A study in little, and every public set of `experiments/sets.toml` in little: made-up rows in rubriclab's own form.

Better texts take more of their sentences from the source, in its order, and are longer; raters follow that with some
noise, each aspect to a degree of its own, so that there is something to learn and something left to miss.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.runner.sets import TRAIN_IDS, PublicSet, public_sets

RIVALS = 6
GROUPS = 10
# Sets with one text a group have more groups.
ALONE = {"writingprompts_a", "qags_cnndm", "qags_xsum"}
SINGLES = 48

PEOPLE = ["Anna", "Bruno", "Carla", "David", "Elena", "Franz", "Greta", "Hugo", "Irene", "Jonas"]
PLACES = ["harbour", "library", "market", "valley", "station", "orchard", "museum", "bakery", "bridge", "tower"]
DEEDS = (
    "opened the old {place} and greeted the first visitors with bread and salt",
    "repaired the roof of the {place} before the autumn storms could reach it",
    "lost a silver key near the {place} and searched for it until nightfall",
    "sold three paintings in the {place} to a traveller who never gave his name",
    "planted twelve young trees behind the {place}, one for each month of the year",
    "told the council that the {place} would need a new owner by next spring",
    "found a letter under a stone of the {place} and read it aloud to everyone",
)
FILLERS = ("It was a day like others.", "Nobody could say more about it.", "That is all there is to tell.")


# A study of two arms that hardly ask, with two cases for each of three aspects.
MINI = """
question = "Does it go on?"
labels = [10]
seeds = [1, 2]
test_texts = 8
compare = [["direct", "geval"]]

[sets]
hanna = ["empathy", "surprise"]
writingprompts_a = ["likability"]

[[arms]]
name = "direct"
method = "direct"

[[arms]]
name = "geval"
method = "geval"

[[published]]
source = "table 1"
judge = "paper"
arm = "direct"
measures = ["spearman"]
figures = { hanna = { empathy = [0.4] } }
"""


def write_sets(folder: Path) -> Path:
    """Write the file of every public set into `folder`, with official ids for one of them, and return the folder."""
    known = public_sets()
    for name, about in known.items():
        rows = "".join(json.dumps(row) + "\n" for row in rows_of(name, about))
        (folder / f"{about.file}.jsonl").write_text(rows, "utf-8")
    # Thirty texts of half of the groups, as in the published ids of SummEval.
    official = [f"summeval-{group}-{place}" for group in range(GROUPS // 2) for place in range(RIVALS)]
    everywhere = [f"newsroom-{group}-0" for group in range(GROUPS)]
    (folder / TRAIN_IDS).write_text(json.dumps({"summeval": official, "newsroom": everywhere}), "utf-8")
    return folder


def rows_of(name: str, about: PublicSet) -> Iterator[dict[str, Any]]:
    groups, rivals = (SINGLES, 1) if about.file in ALONE else (GROUPS, RIVALS)
    for group in range(groups):
        draw = random.Random(f"{about.file} {group}")
        source = [_sentence(draw) for _ in range(6)]
        for place in range(rivals):
            quality = draw.random()
            yield {
                "id": f"{about.file}-{group}-{place}",
                "group": f"{about.file}-{group}",
                "system": f"system {place}",
                "source": " ".join(source),
                "context": _sentence(draw) if about.task == "dialogue" else None,
                "output": _output(draw, source, quality),
                "scores": {
                    aspect: _score(draw, quality, scale, number)
                    for number, (aspect, scale) in enumerate(about.aspects.items())
                },
            }


def _sentence(draw: random.Random) -> str:
    return f"{draw.choice(PEOPLE)} {draw.choice(DEEDS).format(place=draw.choice(PLACES))}."


def _output(draw: random.Random, source: list[str], quality: float) -> str:
    taken = [sentence for sentence in source if draw.random() < 0.3 + 0.5 * quality] or source[:1]
    if draw.random() > quality:
        draw.shuffle(taken)
    return " ".join([*taken, *(draw.sample(FILLERS, 1 + round(1 - quality)))])


def _score(draw: random.Random, quality: float, scale: str, place: int) -> float:
    """Return what three people gave on average: further aspects follow the quality less."""
    low, high = map(float, scale.split(":")[:2])
    said = min(max(quality + draw.gauss(0, 0.1 + 0.05 * place), 0), 1)
    return round(3 * (low + (high - low) * said)) / 3


def write_study(folder: Path) -> Path:
    """Write a little study into a new folder, and return the folder."""
    folder.mkdir()
    (folder / "study.toml").write_text(MINI, "utf-8")
    return folder
