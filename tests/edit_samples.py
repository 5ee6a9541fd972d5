"""A version with planted ratings to edit: who agrees with the labels, and who knows which of them, is known.

Twenty-four texts of six groups, with labels by two raters. `links` and `order` follow the labels, `focus` repeats
`order`, `length` is noise, `theory` was made from labels of every group and `detail` from those of the first one.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from commands import LABELLED

from rubriclab.learning.candidates import Candidates
from rubriclab.learning.fitting import JointSettings
from rubriclab.learning.train import JointResults
from rubriclab.methods.catalogue import METHODS
from rubriclab.models.rubric import Criterion, Evidence, Level, Part, Question, Rubric
from rubriclab.models.text import Assignment, Example, Scale, data_digest, find_aspect, task_words
from rubriclab.models.version import Candidate, Cell, Effort, Provenance
from rubriclab.store.store import Store

ASPECT, SEED, GROUPS, RIVALS = "coherence", 7, 6, 4
SCALE = Scale(low=1, high=5, whole=True)
SETTINGS = JointSettings(ask="by method", folds=3, repeats=1)
NOISE = {"links": 0.5, "order": 0.6, "theory": 0.9, "detail": 0.8, "length": 4.0, "names": 0.4, "dates": 1.5}
EFFORT = Effort(calls=0, cached=0, prompt_tokens=0, completion_tokens=0, cost_usd=0.0, seconds=0.0)


def examples() -> tuple[Example, ...]:
    """Return the labelled texts, sorted by id; each label is the mean of the scores by anna and ben."""
    rng, rows = np.random.default_rng(SEED), map(json.loads, LABELLED.read_text("utf-8").splitlines())
    found: list[Example] = []
    for row in rows:
        group = row["group"]
        if sum(example.group == group for example in found) < RIVALS:
            low, high = np.sort(rng.uniform(1.5, 4.5) + np.array([-0.25, 0.25]))
            scores, raters = (round(float(low), 2), round(float(high), 2)), ("anna", "ben")
            label = sum(scores) / 2
            by_rater: dict[str, Any] = {"annotations": {ASPECT: scores}, "raters": {ASPECT: raters}}
            text = Example(row["id"], row["output"], group, row["source"], scores={ASPECT: label}, **by_rater)
            found.append(text)
    return tuple(sorted(found, key=lambda example: example.id))


def hypothesis(name: str, trait: str) -> Criterion:
    levels = (Level(score=1, description="Nothing of it."), Level(score=5, description="All of it."))
    statement = f"Scores for coherence rise with {trait}."
    evidence = Evidence(origin="labels")
    return Criterion(id=name, kind="hypothesis", trait=trait, statement=statement, levels=levels, evidence=evidence)


def question(name: str, text: str) -> Criterion:
    """Return a yes/no question of which yes is better."""
    evidence, asked = Evidence(origin="written by hand"), Question(origin="seed")
    return Criterion(id=name, kind="question", trait="links", statement=text, evidence=evidence, question=asked)


def candidates() -> Candidates:
    texts, rng = examples(), np.random.default_rng(SEED + 1)
    labels = np.array([text.scores[ASPECT] for text in texts])
    direct = Criterion(
        id="direct", kind="score", trait=ASPECT, statement="How coherent it is.", evidence=Evidence(origin="definition")
    )
    firsts = tuple({text.group: text.id for text in reversed(texts)}.values())
    first_group = min(text.group for text in texts)
    made_from = {"theory": tuple(sorted(firsts)), "detail": tuple(n.id for n in texts if n.group == first_group)[:1]}
    columns: dict[str, np.ndarray] = {
        name: np.clip(labels + rng.normal(0, noise, len(texts)), 1, 5).round(2) for name, noise in NOISE.items()
    }
    columns["focus"] = np.clip(columns["order"] + rng.normal(0, 0.05, len(texts)), 1, 5).round(3)
    columns["direct"] = np.clip(labels + rng.normal(0, 1.2, len(texts)), 1, 5).round()
    for name in ("names", "dates"):
        columns[name] = (columns[name] > 3).astype(float)
    statements = ("links", "order", "focus", "length", "theory", "detail")
    criteria = {
        "hypoeval": [hypothesis(name, name) for name in statements],
        "checkeval": [
            question("names", "Does it name the people it speaks of?"),
            question("dates", "Does it say when things happened?"),
        ],
        "direct": [direct],
    }
    made = [
        Candidate(method=method, criterion=each, kept=False, made_from=made_from.get(each.id, ()))
        for method, group in criteria.items()
        for each in group
    ]
    cells = tuple(
        tuple(Cell(float(columns[each.criterion.id][row]), "planted") for each in made) for row in range(len(texts))
    )
    parts = tuple(
        Part(method=method, settings=settings_of(method), criteria=tuple(group)) for method, group in criteria.items()
    )
    return Candidates(texts, tuple(made), cells, parts)


def settings_of(method: str) -> dict[str, object]:
    found = METHODS[method]
    return dict(found.settings.model_validate(dict(found.joint_settings)).model_dump(mode="json"))


def assignment() -> Assignment:
    return Assignment(task_words("summarization"), find_aspect("summarization", ASPECT), SCALE)


def save_versions(store: Store) -> None:
    """Save `planted@1` with the offline judge, `remote@1` with the local server's, and `alone@1` of one method.

    The first two are learned from the planted ratings, which are kept with them.
    """
    results = JointResults(candidates(), assignment(), SETTINGS)
    rubric = results.rubric()
    record = results.record(rubric)
    fitted = {"agreement": results.agreement, "validation": results.validation}
    store.save("planted", rubric, provenance("embedded", **fitted), EFFORT, training=record)
    store.save("remote", rubric, provenance("openai/fake", **fitted), EFFORT, training=record)
    parts = tuple(part.model_copy(update={"dropped": ()}) for part in rubric.parts if part.method == "hypoeval")
    alone = Rubric(task=rubric.task, aspect=rubric.aspect, scale=SCALE, parts=parts)
    store.save("alone", alone, provenance("embedded", agreement=results.agreement), EFFORT)


def provenance(judge: str, **fields: Any) -> Provenance:
    """Return where a version learned from the planted ratings comes from."""
    texts = examples()
    methods = {method: settings_of(method) for method in ("hypoeval", "checkeval", "direct")}
    return Provenance(
        judge=judge,
        generator=judge,
        settings={**methods, "joint": SETTINGS.model_dump(mode="json")},
        prompts="sha256:" + "0" * 64,
        data=data_digest(texts, ASPECT),
        examples=tuple(text.id for text in texts),
        groups=tuple(sorted({text.group for text in texts})),
        seed=SEED,
        version="0.1.0",
        **fields,
    )
