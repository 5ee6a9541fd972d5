"""The offline judge: it measures features of texts without a language model, and says so in every reason.

For each kind of prompt, a function in `ANSWERS` returns the answer from the prompt's fields. A *reading* says of a text
feature whether high or low values are better. To judge a text by a statement, the values of the features that the
statement names become a *quality* from 0 to 1, which becomes a score, or yes or no. To propose criteria, the features
that correlate with labels become statements. A sentence has *support* in other sentences if these share enough of its
words, and all its numbers and names.
"""

from __future__ import annotations

import functools
import json
import math
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from rubriclab.errors import JudgeRefused
from rubriclab.judges.replies import Reply, Usage
from rubriclab.models import text_features
from rubriclab.models.base import cached_by_size, digest_text
from rubriclab.models.sentences import split_sentences
from rubriclab.models.text import format_score
from rubriclab.models.text_features import CATALOGUE, Features, Text, TextFeature, usual_directions
from rubriclab.prompts.prompt import Prompt
from rubriclab.stats.correlation import pearson_rows

Fields = Mapping[str, Any]  # of a prompt, or of a mapping within a prompt's fields, such as a criterion
Answer = dict[str, Any]  # to a whole prompt, or to one of its questions


class EmbeddedJudge:
    """A judge that costs nothing and needs no network; the same prompt always gets the same reply."""

    name = "embedded"

    @functools.cached_property
    def identity(self) -> Mapping[str, Any]:
        """The name and the digest of the rules, since recorded replies by other rules are not valid."""
        features = Path(text_features.__file__)
        files = [Path(__file__), features, features.with_suffix(".csv"), features.with_name("english_words.csv")]
        return {"model": "embedded", "rules": digest_text("\n".join(file.read_text("utf-8") for file in files))}

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the reply as JSON; `JudgeRefused` for a kind of prompt without an answer."""
        answer = prompt.offline or ANSWERS.get(prompt.name)
        if answer is None:
            raise JudgeRefused(f"The offline judge cannot answer {prompt.name!r} prompts.", "Use a language model.")
        return Reply(json.dumps(answer({**prompt.fields, "sample": prompt.sample})), self.name, Usage())


# A criterion that this judge did not write is judged by at most this many of the features that it names.
MAX_FEATURES = 4
# The correlation with labels that a feature is assumed to have in its usual direction, and the number of labels that
# this assumption counts for.
PRIOR_R, PRIOR_LABELS = 0.3, 10
# Of features that are correlated at least this strongly over the texts, only one is used.
SAME_FEATURE_R = 0.95
# The distance between the worst and the best value of a feature, in spreads.
SCALE_WIDTH_IN_SPREADS = 4

_BY_TITLE = {feature.title: feature for feature in CATALOGUE}
_NUMBER = r"(-?[\d.]+(?:e[-+]?\d+)?)"
_OWN_WORDING = re.compile(
    rf'(more|less) of "({"|".join(map(re.escape, _BY_TITLE))})" \(about {_NUMBER}, give or take {_NUMBER}\)'
)
_KEYWORDS = {feature: re.compile(rf"(?<![a-z])(?:{'|'.join(feature.keywords)})") for feature in CATALOGUE}
_cached_features = cached_by_size(max_characters=2**20)(Features)  # one text is rated by many criteria in a row


@dataclass(frozen=True, slots=True)
class Reading:
    """Whether high or low values of a text feature are better; its usual values are `middle` ± `spread`."""

    feature: TextFeature
    more_is_better: bool
    middle: float
    spread: float

    def quality(self, values: Mapping[str, float]) -> float:
        """Return the quality from 0 to 1 of a text whose features have `values`; nan if this feature is undefined."""
        distance = (values[self.feature.name] - self.middle) / (self.spread * SCALE_WIDTH_IN_SPREADS)
        quality = 0.5 + distance if self.more_is_better else 0.5 - distance
        return float(min(max(quality, 0.0), 1.0))

    def __str__(self) -> str:
        amount = "more" if self.more_is_better else "less"
        return f'{amount} of "{self.feature.title}" (about {self.middle:.3g}, give or take {self.spread:.3g})'


def text_values(fields: Fields) -> Features:
    return _cached_features(fields["output"], fields.get("source"), fields.get("context"))


def own_readings(statement: str) -> tuple[Reading, ...]:
    """Return the readings that this judge itself has written into `statement`."""
    return tuple(
        Reading(_BY_TITLE[title], amount == "more", float(middle), float(spread))
        for amount, title, middle, spread in _OWN_WORDING.findall(statement)
    )


def readings(fields: Fields, statement: str) -> tuple[Reading, ...]:
    """Return readings of the features that `statement` names, or else of features that usually vary with the aspect."""
    aspect = fields["aspect"]
    return _cached_readings(statement, aspect["name"], aspect["definition"], fields["words"]["task"])


@functools.lru_cache(maxsize=1024)  # every text is rated by the same criteria
def _cached_readings(statement: str, *aspect: str) -> tuple[Reading, ...]:
    if own := own_readings(statement):
        return own
    # Only features whose usual direction is known can be read as good or bad.
    directions = {name: direction for name, direction in usual_directions(*aspect).items() if direction}
    keyword_shares = {
        feature: len(set(_KEYWORDS[feature].findall(statement.lower()))) / len(feature.keywords)
        for feature in CATALOGUE
        if feature.name in directions
    }
    named = [feature for feature, share in keyword_shares.items() if share]
    best_named = sorted(named, key=lambda feature: -keyword_shares[feature])[:MAX_FEATURES]
    features = best_named or list(keyword_shares)
    return tuple(Reading(each, directions[each.name] > 0, each.typical, each.spread) for each in features)


def measure(fields: Fields, statement: str) -> tuple[float, str]:
    """Return the quality of the judged text by a criterion's `statement`, from 0 to 1 or nan, and the reason."""
    values, readings_used = text_values(fields), readings(fields, statement)
    qualities = [reading.quality(values) for reading in readings_used]
    values_text = "; ".join(f"{reading.feature.title}: {values[reading.feature.name]:.3g}" for reading in readings_used)
    return _defined_mean(qualities), f"Measured, not read: {values_text.replace('nan', 'undefined')}."


def _defined_mean(qualities: Iterable[float]) -> float:
    defined = [quality for quality in qualities if not math.isnan(quality)]
    return fmean(defined) if defined else math.nan


def learned_readings(fields: Fields, observations: Sequence[Fields], count: int) -> list[Reading]:
    """Return readings of the `count` features that correlate most strongly with the labels of `observations`.

    Each measured correlation is averaged with an assumed one, since labels may be few. Features that do not vary among
    the texts, or repeat a stronger one, are left out. If none is left, the usual features of the aspect are used.
    """
    rows = [list(text_values(observation).values()) for observation in observations]
    columns = np.array(rows, dtype=float).reshape(-1, len(CATALOGUE)).T
    labels = np.array([observation["score"] for observation in observations], dtype=float)
    n_labels, aspect = len(labels), fields["aspect"]
    directions = usual_directions(aspect["name"], aspect["definition"], fields["words"]["task"])
    strengths = PRIOR_R * np.array(list(directions.values()))
    if n_labels > 1 and np.ptp(labels) > 0:
        correlations = np.nan_to_num(pearson_rows(np.nan_to_num(columns), labels))
        strengths = (n_labels * correlations + PRIOR_LABELS * strengths) / (n_labels + PRIOR_LABELS)
    distinct_columns: list[int] = []
    for i in np.argsort(-np.abs(strengths), kind="stable").tolist():
        column = columns[i]
        is_informative = n_labels > 1 and strengths[i] != 0 and not np.isnan(column).any() and np.ptp(column) > 0
        if not is_informative:
            continue
        if not distinct_columns or np.abs(pearson_rows(columns[distinct_columns], column)).max() < SAME_FEATURE_R:
            distinct_columns.append(i)
    learned = [
        Reading(CATALOGUE[i], bool(strengths[i] > 0), float(columns[i].mean()), float(columns[i].std()))
        for i in distinct_columns[:count]
    ]
    return learned or list(readings(fields, "")[:count])


def state_readings(fields: Fields, readings_used: Sequence[Reading]) -> str:
    """Return a statement that names `readings_used`, in the form that `own_readings` parses."""
    return f"Scores for {fields['aspect']['name']} rise with {'; '.join(map(str, readings_used))}."


# Features in one criterion: a few together are more reliable than a single one.
FEATURES_PER_CRITERION = 3
MIDDLE_SHIFTS_IN_SPREADS = (0, -1, 1, -0.5, 0.5)  # elaborating a question gives one question for each shift
# The share of a sentence's content words that another text must have to support the sentence. In the labelled texts of
# the shipped sample, sentences about another matter stay below 0.3, and sentences that say the same in other words
# seldom fall below 0.45.
MIN_SHARED = 0.4
MAX_SUPPORTING_SENTENCES = 3

_NUMBER_WORDS = frozenset(["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"])
# The answers to any question about a text that lacks the question's subject, and about a text that makes no sense.
_ANSWERS_TO_UNUSUAL_TEXTS = {"absent": "n/a", "broken": "no"}
_FAULT = re.compile(
    r"\b(?:absent|ambigu|awkward|bias|confus|contradict|distort|error|exaggerat|fabricat|fault|flaw|garbl|hallucinat"
    r"|illogical|inaccura|incoheren|incomplete|inconsisten|incorrect|invent|irrelevan|mislead|missing|mistake|omit"
    r"|omission|redundan|repeat|repetit|unclear|ungrammatical|unnecessary|unrelated|unsupported|vague|wrong)"
)
_DENIAL = re.compile(r"\b(?:no|not|none|nothing|never|without|free of|avoids?|fails?|lacks?)\b|n't\b")


def _asks_for_fault(question: str) -> bool:
    words = question.lower()
    return bool(_FAULT.search(words)) and not _DENIAL.search(words) and not own_readings(question)


def _legal_score(quality: float, scale: Fields) -> float:
    """Return the legal score nearest to a quality from 0 (lowest score) to 1 (highest); the middle for nan."""
    if math.isnan(quality):
        quality = 0.5
    score = scale["low"] + quality * (scale["high"] - scale["low"])
    rounded = round(score) if scale["whole"] else round(score, 4)
    return float(min(max(rounded, scale["low"]), scale["high"]))


def _propose(fields: Fields) -> Answer:
    count, scale = fields["count"], fields["scale"]
    learned = learned_readings(fields, fields["observations"], count * FEATURES_PER_CRITERION)
    # The strongest features are dealt out first, so that each hypothesis begins with one of them.
    bundles = [learned[start::count] for start in range(min(count, len(learned)))]
    levels = {}
    for anchor in scale["anchors"]:
        share = (anchor - scale["low"]) / (scale["high"] - scale["low"])
        levels[format_score(anchor)] = f"This score is {share:.0%} of the way from the lowest to the highest."
    hypotheses = []
    for bundle in bundles:
        trait = " and ".join(reading.feature.title for reading in bundle)
        needs_source = any(reading.feature.needs for reading in bundle)
        statement = state_readings(fields, bundle)
        hypotheses.append({"trait": trait, "statement": statement, "levels": levels, "needs_source": needs_source})
    reasoning = f"Compared text features with the labels of {len(fields['observations'])} texts."
    return {"reasoning": reasoning, "hypotheses": hypotheses}


def _reason_and_score(fields: Fields, statement: str) -> Answer:
    quality, reason = measure(fields, statement)
    return {"reason": reason, "score": _legal_score(quality, fields["scale"])}


def _wording_of(criterion: Fields) -> str:
    levels = (level["description"] for level in criterion["levels"])
    return " ".join((criterion["trait"], criterion["statement"], *levels))


def _rate_by_criteria(fields: Fields) -> Answer:
    measured = [measure(fields, _wording_of(criterion)) for criterion in fields["criteria"]]
    quality = _defined_mean(quality for quality, _ in measured)
    return {"reasoning": " ".join(reason for _, reason in measured), "score": _legal_score(quality, fields["scale"])}


def _rate_each(fields: Fields) -> Answer:
    return {criterion["id"]: _reason_and_score(fields, _wording_of(criterion)) for criterion in fields["criteria"]}


def _question(reading: Reading) -> str:
    return f"Does it have {reading}?"


def _propose_seeds(fields: Fields) -> Answer:
    sub_dimensions = []
    for reading in readings(fields, "")[: fields["most"]]:
        sub_dimension = {"name": reading.feature.title, "definition": f"Measured in: {reading.feature.unit}."}
        sub_dimensions.append({**sub_dimension, "questions": [_question(reading)]})
    return {"reasoning": "Named the features that usually move with the aspect.", "sub_dimensions": sub_dimensions}


def _diversify(fields: Fields) -> Answer:
    # The paper's prompt shows all sub-dimensions. The other prompt shows one, and requests properties of each question.
    is_papers_prompt = "sub_dimensions" in fields
    subs = fields["sub_dimensions"] if is_papers_prompt else [fields]
    seeds = [question for sub in subs for question in sub["questions"]]
    covered = {reading.feature for seed in seeds for reading in readings(fields, seed["text"])}
    usual = readings(fields, "")
    unused = [reading for reading in usual if reading.feature not in covered] or list(usual)
    questions = []
    for reading, seed in zip(unused[: fields["count"]], cycle(seeds), strict=False):
        question = _new_question(reading, with_properties=not is_papers_prompt)
        questions.append({**question, "seed": seed["id"]})
    return {"reasoning": "Named features that no question speaks of yet.", "questions": questions}


def _elaborate(fields: Fields) -> Answer:
    questions = []
    for reading in readings(fields, fields["question"]["text"]):
        for shift in MIDDLE_SHIFTS_IN_SPREADS:
            shifted = replace(reading, middle=reading.middle + shift * reading.spread)
            questions.append(_new_question(shifted, with_properties=fields["self_contained"]))
    return {"reasoning": "Asked about several values of each feature.", "questions": questions[: fields["most"]]}


def _new_question(reading: Reading, *, with_properties: bool) -> Answer:
    properties = {**_ANSWERS_TO_UNUSUAL_TEXTS, "needs_source": bool(reading.feature.needs)}
    return {"text": _question(reading), **(properties if with_properties else {})}


def _filter(fields: Fields) -> Answer:
    verdict = {"reasoning": "Not read.", "yes_means": "better", "about": fields["aspect"]["name"], "style": "fine"}
    verdicts = {}
    for question in fields["questions"]:
        needs_source = any(reading.feature.needs for reading in readings(fields, question["text"]))
        verdicts[question["id"]] = {**verdict, **_ANSWERS_TO_UNUSUAL_TEXTS, "needs_source": needs_source}
    return verdicts


def _answer_questions(fields: Fields) -> Answer:
    questions = [question for sub in fields["sub_dimensions"] for question in sub["questions"]]
    return {question["id"]: _answer_question(fields, question["text"]) for question in questions}


def _answer_question(fields: Fields, question: str) -> Answer:
    quality, reason = measure(fields, question)
    is_good = quality >= 0.5
    answer = "n/a" if math.isnan(quality) else _yes_no(is_good != _asks_for_fault(question))
    return {"reason": reason, "answer": answer}


def _yes_no(answer: bool) -> str:
    return "yes" if answer else "no"


def _rate_by_statement(fields: Fields, statement: str) -> Answer:
    entry = _reason_and_score(fields, statement)
    reasoning = {} if fields["score_only"] else {"reasoning": entry["reason"]}
    return {**reasoning, "score": entry["score"]}


def _analyze(fields: Fields) -> Answer:
    entry = _reason_and_score(fields, _usual_statement(fields))
    return {"analysis": entry["reason"], "score": entry["score"]}


def _usual_statement(fields: Fields) -> str:
    """Return a statement about the features that usually vary with the aspect; if `sample` > 0, about a random few."""
    usual: Sequence[Reading] = readings(fields, "")
    if fields["sample"]:
        usual = random.Random(fields["sample"]).sample(usual, min(FEATURES_PER_CRITERION, len(usual)))
    return state_readings(fields, usual)


def _learned_statement(fields: Fields, observations: Sequence[Fields]) -> str:
    return state_readings(fields, learned_readings(fields, observations, FEATURES_PER_CRITERION))


def _answer_all(fields: Fields) -> Answer:
    overall = {}
    for entry in fields["overall"]:
        statement = _usual_statement(fields) if entry["by"] == "definition" else entry["text"]
        overall[entry["id"]] = _reason_and_score(fields, statement)
    entries = {**_rate_each(fields), **_answer_questions(fields), **overall}
    if not fields.get("score_only"):
        return entries
    return {name: entry["score"] if "score" in entry else entry["answer"] for name, entry in entries.items()}


@cached_by_size(max_characters=2**20)
def _roots(text: str) -> frozenset[str]:
    """Return the content words and numbers of a text; words with the same first six letters count as one."""
    return frozenset(word.replace(",", "")[:6] for word in (*Text(text).stems, *Text(text).numbers))


def _share_of_roots_in(sentence: str, other: str) -> float:
    roots = _roots(sentence)
    return len(roots & _roots(other)) / len(roots) if roots else 0.0


def _support(sentence: str, others: Sequence[str]) -> tuple[bool, list[int], str]:
    """Return whether `sentence` has support in the nearest sentences of `others`, their indices, and the reason."""
    text = Text(sentence)
    roots = _roots(sentence)
    shared_roots = [roots & _roots(other) for other in others]
    related_indices = [index for index, shared in enumerate(shared_roots) if shared]
    indices = sorted(related_indices, key=lambda index: -len(shared_roots[index]))[:MAX_SUPPORTING_SENTENCES]
    supported_roots = frozenset[str]().union(*(shared_roots[index] for index in indices))
    exact_words = {*text.numbers, *text.names, *_NUMBER_WORDS.intersection(text.words)}
    missing = sorted(word for word in exact_words if not _roots(word) <= supported_roots)
    share = len(supported_roots) / len(roots) if roots else 1.0
    remark = f"; not there: {', '.join(missing)}" if missing else ""
    reason = f"Measured, not read: {share:.0%} of its words are in the nearest sentences{remark}."
    return share >= MIN_SHARED and not missing, indices, reason


def _support_of_text(text: str, others: Sequence[str]) -> tuple[bool, list[int], str]:
    """Return what `_support` returns for the first unsupported sentence of `text`, or else for its first sentence."""
    supports = [_support(sentence, others) for sentence in split_sentences(text) or [text]]
    return next((support for support in supports if not support[0]), supports[0])


def _answer_about_units(judge_unit: Callable[[Fields, Fields, str], Answer], fields: Fields) -> Answer:
    """Return the answer to each question about each unit, which is a piece of a text or a pair of pieces."""
    texts = {unit["id"]: unit.get("text") or f"{unit['first']} {unit['second']}" for unit in fields["units"]}
    questions = fields["questions"]
    reply: Answer = {}
    for unit, text in texts.items():
        reply[unit] = {question["id"]: judge_unit(fields, question, text) for question in questions}
        if fields["bare"]:  # without reasons; the last field of each entry is its verdict
            reply[unit] = {id_: list(entry.values())[-1] for id_, entry in reply[unit].items()}
    if fields["weigh"]:
        reply["weights"] = {question["id"]: 1 / len(questions) for question in questions}
    return reply


def _verify(fields: Fields) -> Answer:
    material = [fact["text"] for fact in fields["facts"]] or split_sentences(fields["source"] or "")
    return _answer_about_units(functools.partial(_verify_unit, material), fields)


def _verify_unit(material: Sequence[str], fields: Fields, question: Fields, text: str) -> Answer:
    asks_for_fault = _asks_for_fault(question["text"])
    is_own_wording = bool(own_readings(question["text"]))
    if fields["kind"] in ("fact", "triple") and material and not is_own_wording:
        is_supported, _, reason = _support_of_text(text, material)
        return {"reason": reason, "answer": _yes_no(is_supported != asks_for_fault)}
    if fields["kind"] == "sentence pair" and not is_own_wording:
        is_linked = Features(text)["linked_sentences"] > 0
        reason = f"Measured, not read: {'a' if is_linked else 'no'} word, reference or connective ties the two."
        return {"reason": reason, "answer": _yes_no(is_linked != asks_for_fault)}
    entry = _answer_question({**fields, "output": text}, question["text"])
    if entry["answer"] == "n/a":  # where nothing can be measured, the unit gets the good answer
        entry["answer"] = _yes_no(not asks_for_fault)
    return entry


def _find_support_of_unit(fields: Fields, _question: Fields, text: str) -> Answer:
    is_supported, indices, reason = _support(text, [fact["text"] for fact in fields["facts"]])
    return {"reason": reason, "facts": [fields["facts"][i]["id"] for i in indices] if is_supported else []}


def _rate_unit(fields: Fields, question: Fields, text: str) -> Answer:
    return _reason_and_score({**fields, "output": text}, question["text"])


def _propose_sub_dimensions(fields: Fields) -> Answer:
    covered = {reading.feature for entry in fields["known"] for reading in own_readings(entry["question"])}
    units = list(fields["texts"])
    if fields["kind"] in ("sentence", "sentence pair", "fact"):
        units = [{**text, "output": piece} for text in units for piece in split_sentences(text["output"])]
    learned = learned_readings(fields, units, fields["count"] + len(covered))
    unused = [reading for reading in learned if reading.feature not in covered] or learned
    sub_dimensions = []
    for reading in unused[: fields["count"]]:
        sub_dimension = {"name": reading.feature.title, "definition": f"Measured in: {reading.feature.unit}."}
        sub_dimensions.append({**sub_dimension, "question": _question(reading)})
    reasoning = f"Compared text features with the labels of {len(fields['texts'])} texts."
    return {"reasoning": reasoning, "sub_dimensions": sub_dimensions}


def _compare(fields: Fields) -> Answer:
    reference = split_sentences(fields["reference"])
    numbered: list[Fields] = [{"id": n, "text": text} for n, text in enumerate(split_sentences(fields["output"]), 1)]
    entries = {}
    for sentence in fields["sentences"] or numbered:
        is_consistent, _, reason = _support_of_text(sentence["text"], reference)
        finding = "consistent" if is_consistent else "not consistent"
        entry = {"reason": f"This is {finding} with the {fields['label']}. {reason}"}  # `label` names the reference
        if fields["verdict"]:
            entry["consistent"] = _yes_no(is_consistent)
        entries[f"sentence {sentence['id']}"] = entry
    if fields["sentences"]:
        return entries
    numbered_entries = zip(numbered, entries.values(), strict=True)
    return {"sentences": [{"sentence": sentence["text"], **entry} for sentence, entry in numbered_entries]}


def _convert(fields: Fields) -> Answer:
    """Mark each reason: -1 if its first sentence names a fault or denies something, but not both; otherwise 1."""
    marks = {}
    for report in fields["reasons"]:
        first_sentence = " ".join(split_sentences(report["text"].lower())[:1])
        finds_fault = bool(_FAULT.search(first_sentence)) != bool(_DENIAL.search(first_sentence))
        thought = "It finds fault." if finds_fault else "It finds no fault."
        marks[f"report {report['id']}"] = {"thought": thought, "mark": -1 if finds_fault else 1}
    return marks


def _rewrite(fields: Fields) -> Answer:
    """Replace each failing sentence by the most similar sentence of the source, the context and the reference.

    If no sentence fails, the last one is replaced. Candidates that repeat another sentence of the text are left out; if
    none remains, the failing sentence is removed. If `sample` > 0, one of the most similar candidates is drawn.
    """
    texts = {sentence["id"]: sentence["text"] for sentence in fields["sentences"]}
    materials = (fields[name] or "" for name in ("source", "context", "reference"))
    candidates = [sentence for material in materials for sentence in split_sentences(material)]
    edits = {}
    for number in fields["failing"] or list(texts)[-1:]:
        others = [text for other_number, text in texts.items() if other_number != number and text]
        new = [text for text in candidates if all(_share_of_roots_in(text, other) < 1 - MIN_SHARED for other in others)]
        nearest = sorted(new, key=lambda text: -_share_of_roots_in(texts[number], text))[:MAX_SUPPORTING_SENTENCES]
        if not nearest and not others:
            continue
        replacement = nearest[0] if nearest else ""
        if nearest and fields["sample"]:
            replacement = random.Random(fields["sample"]).choice(nearest)
        edits[number] = texts[number] = replacement
    reasoning = "Replaced by a sentence with similar words, or removed if there is none."
    return {"sentences": [{"sentence": id_, "reasoning": reasoning, "text": text} for id_, text in edits.items()]}


ANSWERS: Mapping[str, Callable[[Fields], Answer]] = {
    "hypoeval/propose": _propose,
    "hypoeval/refine": lambda fields: {"reasoning": "Kept as they are.", "hypotheses": fields["hypotheses"]},
    "hypoeval/rate": _rate_by_criteria,
    "hypoeval/rate_together": _rate_each,
    "checkeval/seeds": _propose_seeds,
    "checkeval/diversify": _diversify,
    "checkeval/diversify_dimension": _diversify,
    "checkeval/elaborate": _elaborate,
    "checkeval/filter": _filter,
    "checkeval/filter_dimension": lambda _: {"removed": []},
    "checkeval/answer": _answer_questions,
    "deduplication/group": lambda _: {"groups": []},
    "seeval/explain": lambda fields: {"explanation": _usual_statement(fields)},
    "seeval/refine": lambda fields: {
        "reasoning": f"Compared text features with the labels of {len(fields['observations'])} texts.",
        "explanation": _learned_statement(fields, fields["observations"]),
    },
    "seeval/rate": lambda fields: _rate_by_statement(fields, fields["explanation"]),
    "seal/split": lambda fields: {"sentences": split_sentences(fields["text"])},
    "seal/facts": lambda fields: {
        f"sentence {item['id']}": [item["text"]] if _roots(item["text"]) else [] for item in fields["sentences"]
    },
    "seal/verify": _verify,
    "seal/support": functools.partial(_answer_about_units, _find_support_of_unit),
    "seal/rate": functools.partial(_answer_about_units, _rate_unit),
    "seal/propose": _propose_sub_dimensions,
    "dcr/evaluate": _compare,
    "dcr/convert": _convert,
    "improve/rewrite": _rewrite,
    "direct/rate": lambda fields: _rate_by_statement(fields, _usual_statement(fields)),
    "few_shot/rate": lambda fields: _rate_by_statement(fields, _learned_statement(fields, fields["demonstrations"])),
    "geval/steps": lambda fields: {"steps": [_usual_statement(fields)]},
    "geval/rate": lambda fields: _rate_by_statement(fields, fields["steps"]),
    "analyze_rate/rate": _analyze,
    "single_call/judge": _answer_all,
    "single_call/judge_rivals": lambda fields: {
        f"text {text['number']}": _answer_all({**fields, "output": text["output"]}) for text in fields["texts"]
    },
}
