"""Yes/no questions as criteria: reading answers to them, and selecting questions by labels. The end of the module finds
redundant criteria of any kind.

The papers of CheckEval and SEAL select no questions by labels. Here a question is dropped if its answers never vary,
correlate negatively with the labels, or repeat the answers to another question. Each rule has a threshold, so that
chance rarely drops a question. The questions that stay have equal weights: on 30 labels, weights by regression overfit
(Spearman correlation with the labels of other texts 0.61 to 0.63; 0.65 with equal weights).

Criteria are redundant if they say the same, or if one says all that the other says ("nested"). In HypoEval's paper, a
call is about one pair. Here a call is about many criteria and asks for groups; the best criterion of each group stays.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
from pydantic import BaseModel, BeforeValidator, ValidationInfo, model_validator

from rubriclab.judges.judge import Judge, ask
from rubriclab.methods.method import CriterionRating, Learned, TrainingInput, cross_validated, with_agreement
from rubriclab.methods.prompting import Reason, bare_id, keep_valid
from rubriclab.models.base import cached_by_size
from rubriclab.models.rubric import Criterion, DroppedCriterion, Evidence, Part, Question
from rubriclab.models.text import Assignment
from rubriclab.prompts.prompt import Prompt
from rubriclab.stats.correlation import BoolArray, FloatArray, float_table, floats, label_correlations

Answer = Literal["yes", "no", "n/a"]
Origin = Literal["seed", "diversified", "elaborated"]  # of CheckEval's questions; SEAL's can also be `proposed`
AnswersT = TypeVar("AnswersT")

_DECORATION = str.maketrans("", "", "*_`~\"'“”„‘’«»")
_ENCLOSING = "()[]{}<> \t\r\n"
# A hyphen inside a word ("no-one") and a number after a dot ("No. 5") do not end an answer.
_ANSWER = re.compile(
    r"(?P<answer>yes|no|n\s?/\s?a|na|n\.a|not[ -]applicable)"
    r"(?:[,;:!(\n–—].*|\.(?!\s*\d).*|\s+[-–—(].*|-\s.*|\s*\n.*)?",
    re.DOTALL,
)
_ANSWER_OR_HEDGE = re.compile(
    r"\b(?:yes|no|n\s?/\s?a|na|n\.a|not[ -]applicable|maybe|perhaps|unsure|not sure|part(?:ly|ially)|depends)\b"
)


@cached_by_size(max_characters=2**18)  # since most answers are one of a few words
def read_answer(text: str) -> Answer | None:
    """Return the answer that `text` gives to a yes/no question, or `None` if it is unreadable or ambiguous.

    Case, markdown, quotes, brackets, closing punctuation and invisible characters are ignored. After punctuation, an
    explanation may follow that has no other answer and no hedge such as "maybe". "True" and "false" are unreadable:
    they may be about the text instead of the question.
    """
    normalized = unicodedata.normalize("NFKC", text.replace("№", "#"))  # NFKC turns "№" into "No"
    visible = "".join(character for character in normalized if unicodedata.category(character) != "Cf")
    plain = visible.translate(_DECORATION).strip(_ENCLOSING).casefold()
    match = _ANSWER.fullmatch(plain)
    if match is None or set(_ANSWER_OR_HEDGE.findall(plain)) != {match["answer"]}:
        return None
    answers: dict[str, Answer] = {"yes": "yes", "no": "no"}
    return answers.get(match["answer"], "n/a")


def _read_answer_among(*allowed: Answer) -> BeforeValidator:
    def check(value: Any) -> Answer:
        answer = read_answer(value) if isinstance(value, str) else None
        if answer is None or answer not in allowed:
            raise ValueError(f"{', '.join(allowed[:-1])} or {allowed[-1]} was expected; got {value!r:.60}")
        return answer

    return BeforeValidator(check)


YesOrNo = Annotated[Literal["yes", "no"], _read_answer_among("yes", "no")]
ReadableAnswer = Annotated[Answer, _read_answer_among("yes", "no", "n/a")]


def question_of(criterion: Criterion) -> Question:
    """Return the question of a criterion; raises ValueError for other kinds of criteria."""
    if criterion.question is None:
        raise ValueError(f"criterion {criterion.id!r}: expected a question, got a {criterion.kind}")
    return criterion.question


def is_seed(criterion: Criterion) -> bool:
    return question_of(criterion).origin == "seed"


def is_handwritten(criterion: Criterion) -> bool:
    # If the generator wrote the seeds, their origin is prior knowledge.
    return is_seed(criterion) and criterion.evidence.origin != "prior knowledge"


def group_by_trait(questions: Sequence[Criterion]) -> dict[str, list[Criterion]]:
    groups: dict[str, list[Criterion]] = {}
    for question in questions:
        groups.setdefault(question.trait, []).append(question)
    return groups


def make_question(
    id_: str, trait: str, text: str, evidence: Evidence, question: Question, *, needs_source: bool = True
) -> Criterion:
    return Criterion(
        id=id_,
        kind="question",
        trait=trait,
        statement=text,
        evidence=evidence,
        question=question,
        needs_source=needs_source,
    )


def question_fields(criterion: Criterion, *, with_default_answers: bool = True) -> dict[str, str | None]:
    """Return the fields of a question in a prompt. The good answer is not shown, since it would influence the judge.

    `absent` is the answer if the text lacks what the question is about, `broken` the answer if the text makes no sense.
    Each is `None` if the answer is unknown, or not to be shown (`with_default_answers` is false).
    """
    fields = {"id": criterion.id, "text": criterion.statement, "absent": None, "broken": None}
    if with_default_answers:
        fields |= question_of(criterion).model_dump(include={"absent", "broken"})
    return fields


MIN_ANSWERS = 10  # with answers about fewer training texts, a question is not dropped
# Significance level (one-sided) at which a question with a negative correlation with the labels is dropped. With 30
# labels and good questions, scores had a Spearman correlation of 0.65 with other texts' labels, with and without this
# rule. With four of 24 questions reversed and six answered at random, the correlation was 0.53, with the rule 0.59.
SIGNIFICANCE_AGAINST_LABELS = 0.2
# Significance level (one-sided) of the positive correlation that a question with the origin `proposed` needs.
SIGNIFICANCE_OF_TRACKING = 0.2
# If the answers to two questions correlate at least this much, the later question repeats the earlier one.
REPEATED_CORRELATION = 0.95
# A question repeats another only if each has its rarer answer for at least this many texts. If each of two unrelated
# questions has it for two of 30 texts, these are the same texts in one of 435 cases; with three texts, in one of 4,060.
MIN_RARE_ANSWERS = 3
MIN_END_ANSWERS = 3  # fewer answers about the best texts, or about the worst, are not compared


@dataclass(frozen=True, slots=True)
class AnswerMatrix:
    """The answers about the training texts, shape (texts, questions), and the human scores, shape (texts,).

    Attributes:
        good: 1 for the good answer, 0 for the bad one. If the units of a text were judged, the share of units with the
            good answer. NaN if missing.
        applies: false if a question is not applicable to a text.
    """

    good: FloatArray
    applies: BoolArray
    labels: FloatArray


# Why questions are dropped, by their ids, and notes for the user.
ReasonsAndNotes = tuple[Mapping[str, str], tuple[str, ...]]


def learn_from_answers(
    part: Part,
    training_input: TrainingInput,
    answers: Sequence[AnswersT],
    ratings: tuple[tuple[CriterionRating, ...], ...],
    *,
    answer_counts: Mapping[str, Mapping[str, int]],
    score: Callable[[AnswersT, Sequence[Criterion]], float | None],
    drop: Callable[[Sequence[Criterion], AnswerMatrix], ReasonsAndNotes] | None,
    cross_validate: bool,
) -> Learned:
    """Return what was learned: the questions that are kept, and the questions that are dropped by the labels.

    Args:
        part: the part with all questions that were asked, and the questions that were dropped before.
        answers: what the judge said about each labelled text, in the order of `TrainingInput.in_order` (by content).
        ratings: the ratings of these texts, in the order of the questions.
        answer_counts: how often each answer was given, by the id of the question.
        score: returns the score of a text by some questions, from what the judge said about the text.
        drop: as `questions_to_drop`; `None` keeps all questions.
        cross_validate: whether each text is also scored by the questions that the labels of the other groups keep.
    """
    texts, labels, questions = training_input.in_order, training_input.label_array, part.criteria
    applies = np.array([[rating.applies for rating in row] for row in ratings], dtype=bool)
    good = float_table(([rating.score for rating in row] for row in ratings), len(questions))
    matrix = AnswerMatrix(good, applies.reshape(good.shape), labels)
    if texts:
        applicable_counts = matrix.applies.sum(axis=0).tolist()
        questions = tuple(
            with_agreement(question, column, labels, n_texts, answer_counts[question.id])
            for question, column, n_texts in zip(questions, matrix.good.T, applicable_counts, strict=True)
        )

    def predict(training: BoolArray, held_out: BoolArray) -> FloatArray:
        training_answers = AnswerMatrix(matrix.good[training], matrix.applies[training], labels[training])
        dropped_in_fold, _ = drop(questions, training_answers) if drop else ({}, ())
        fold_questions = [question for question in questions if question.id not in dropped_in_fold]
        return floats(score(text_answers, fold_questions) for text_answers in itertools.compress(answers, held_out))

    reasons, notes = drop(questions, matrix) if drop else ({}, ())
    kept_questions = tuple(question for question in questions if question.id not in reasons)
    dropped = (DroppedCriterion(criterion=each, reason=reasons[each.id]) for each in questions if each.id in reasons)
    scores = floats(score(text_answers, kept_questions) for text_answers in answers)
    return Learned(
        part=part.model_copy(update={"criteria": kept_questions, "dropped": (*part.dropped, *dropped)}),
        examples=tuple(text.id for text in texts),
        candidates=tuple(question.id for question in questions),
        ratings=ratings,
        scores=scores,
        reselected=cross_validated(training_input.groups, predict) if cross_validate else scores,
        optimistic=cross_validate,  # `scores` are then by questions that the labels of the same texts influenced
        notes=notes,
    )


def questions_to_drop(
    questions: Sequence[Criterion],
    answers: AnswerMatrix,
    *,
    end_share: float = 0,
    proposed_must_correlate: bool = False,
) -> ReasonsAndNotes:
    """Return why questions are dropped, by id, and notes. If all would be dropped, each trait's best stays.

    Args:
        end_share: the share of texts that count as the best by the labels; as many texts count as the worst. The good
            answer to a generated question must be more frequent for the best texts. With 0, there is no such rule.
        proposed_must_correlate: whether questions that SEAL proposed must correlate positively, unless none would stay.
    """
    correlations: list[float] = label_correlations(answers.good, answers.labels).tolist()
    answer_counts = (~np.isnan(answers.good)).sum(axis=0).tolist()
    reasons: dict[int, str] = {}  # by column
    not_tracking: dict[int, str] = {}  # the same for `proposed` questions without a significant positive correlation
    for column, (question, correlation, n) in enumerate(zip(questions, correlations, answer_counts, strict=True)):
        # A question without a correlation is dropped by neither p-value.
        p_as_high, p_as_low = 0.0, 1.0
        if n >= MIN_ANSWERS and not math.isnan(correlation):
            p_as_high, p_as_low = p_below(-correlation, n), p_below(correlation, n)
        correlation_text = f"correlation {correlation:.2f} over {n} training texts"
        if question_of(question).origin == "proposed" and p_as_high > SIGNIFICANCE_OF_TRACKING:
            chance = f"so high by chance in {p_as_high:.1%} of cases"
            not_tracking[column] = f"does not track the labels: {correlation_text}, {chance}"
        reason = _why_uninformative(question, answers, column, end_share)
        # Questions are worded so that the good answer favors a text; a significant negative correlation disproves that.
        if correlation < 0 and p_as_low < SIGNIFICANCE_AGAINST_LABELS:
            reason = f"runs against the labels: {correlation_text}, so low by chance in {p_as_low:.1%} of cases"
        if reason:
            reasons[column] = reason
    if not proposed_must_correlate or len(not_tracking) == len(questions):
        not_tracking = {}
    reasons |= not_tracking
    seeds_first = sorted(range(len(questions)), key=lambda column: not is_seed(questions[column]))
    reasons |= _why_repeated([column for column in seeds_first if column not in reasons], questions, answers)
    notes: tuple[str, ...] = ()
    if questions and len(reasons) == len(questions):
        # An undefined correlation counts as lower than any other.
        sort_keys = {each.id: -2.0 if math.isnan(r) else r for each, r in zip(questions, correlations, strict=True)}
        eligible = [question for column, question in enumerate(questions) if column not in not_tracking]
        best = [max(group, key=lambda question: sort_keys[question.id]) for group in group_by_trait(eligible).values()]
        for question in best:
            del reasons[questions.index(question)]
        notes = (f"every question would be dropped by the labels: the best of each sub-dimension stay ({len(best)})",)
    return {questions[column].id: reasons[column] for column in sorted(reasons)}, notes


def _why_uninformative(question: Criterion, answers: AnswerMatrix, column: int, end_share: float) -> str | None:
    """Return why the answers to a question do not tell texts apart, so that it is dropped; `None` if they do."""
    good, labels = answers.good[:, column], answers.labels
    has_answer = ~np.isnan(good)
    n_answers = int(has_answer.sum())
    if not n_answers and (~answers.applies[:, column]).sum() >= MIN_ANSWERS:
        return f"it cannot be asked of any of the {len(good)} training texts"
    if n_answers >= MIN_ANSWERS and len(set(good[has_answer])) == 1:
        return f"the same answer for all {n_answers} training texts that it was asked of"
    # The best texts and the worst must not have a label in common.
    sorted_labels, n_in_end = np.sort(labels), math.floor(end_share * len(labels))
    if not n_in_end or sorted_labels[n_in_end - 1] >= sorted_labels[-n_in_end] or is_handwritten(question):
        return None
    of_worst = good[has_answer & (labels <= sorted_labels[n_in_end - 1])]
    of_best = good[has_answer & (labels >= sorted_labels[-n_in_end])]
    if min(len(of_worst), len(of_best)) < MIN_END_ANSWERS or of_worst.mean() < of_best.mean():
        return None
    return (
        f"the worst texts get its good answer as often as the best: {of_worst.sum():g} of the {len(of_worst)} rated "
        f"lowest, {of_best.sum():g} of the {len(of_best)} rated highest"
    )


def p_below(r: float, n: int) -> float:
    """Return the one-sided p-value of a correlation as low as `r` over `n` texts (Student's t)."""
    from scipy.special import stdtr

    if abs(r) >= 1:
        return float(r > 0)
    return float(stdtr(n - 2, r * np.sqrt((n - 2) / (1 - r * r))))


def _why_repeated(order: Sequence[int], questions: Sequence[Criterion], answers: AnswerMatrix) -> dict[int, str]:
    """Return the columns whose answers repeat those of an earlier column in `order`, each with the reason."""
    # Entry [a, b] of each table below is about question a, on the texts with answers to both questions, a and b.
    has_answer = (~np.isnan(answers.good)).astype(float)
    values = np.nan_to_num(answers.good)
    n_texts = has_answer.T @ has_answer
    sums = values.T @ has_answer
    # Variances and covariances are multiplied by n_texts², to avoid divisions by 0.
    variance = n_texts * ((values**2).T @ has_answer) - sums**2
    covariance = n_texts * (values.T @ values) - sums * sums.T
    norm = np.sqrt(np.maximum(variance * variance.T, 0))
    r = np.divide(covariance, norm, out=np.zeros_like(norm), where=norm > 1e-9).round(9)
    n_rare = np.minimum(sums, n_texts - sums)  # texts with the rarer answer
    distinct_columns: list[int] = []
    reasons = {}
    for later in order:
        is_answered = ~np.isnan(answers.good[:, later])
        for earlier in distinct_columns:
            is_alike = r[earlier, later] >= REPEATED_CORRELATION and n_texts[earlier, later] >= MIN_ANSWERS
            has_rare_answers = min(n_rare[earlier, later], n_rare[later, earlier]) >= MIN_RARE_ANSWERS
            # Where the earlier question does not apply, the later one must have no answer.
            if is_alike and has_rare_answers and not (is_answered & ~answers.applies[:, earlier]).any():
                figures = f"correlation {r[earlier, later]:.2f} over {int(n_texts[earlier, later])} texts"
                reasons[later] = f"answers as {questions[earlier].id} does ({figures})"
                break
        else:
            distinct_columns.append(later)
    return reasons


# At most this many criteria are in one prompt. For more criteria, every pair of them is in one of several prompts.
MAX_SHOWN = 100
TOKENS_PER_GROUP = 100
# A reply is not usable if more than this share of the criteria, and more than this number, would be redundant: weak
# judges put nearly all criteria into one group.
MAX_REPEATED_SHARE = 1 / 3
MAX_REPEATED_OF_FEW = 2

Noun = Literal["question", "hypothesis"]

_QUOTES = str.maketrans({**dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’", "'")})
_QUOTED = re.compile(r"([\"'])(.*)\1")
# Only the last of several closing marks is removed: the marks before it may be quoted, as in `Does it end in ...?`
_CLOSING = re.compile(r"\s*[.?!]$")

ShownId = Annotated[str, BeforeValidator(lambda value, info: bare_id(value, _shown_ids(info)))]


def _shown_ids(info: ValidationInfo) -> list[str]:
    return [entry["id"] for entry in info.context["entries"]] if info.context else []


class Group(BaseModel):
    """Entries that repeat one another."""

    reason: Reason
    relation: Annotated[
        Literal["same", "nested"],
        BeforeValidator(lambda value: value.strip().lower() if isinstance(value, str) else value),
    ]
    members: list[ShownId]
    best: ShownId

    @model_validator(mode="after")
    def _check_ids(self, info: ValidationInfo) -> Self:
        allowed = _shown_ids(info) or self.members
        if unknown := [name for name in self.members if name not in allowed]:
            raise ValueError(f"members must be among {', '.join(allowed)}; got {unknown[0]!r:.60}")
        if len(set(self.members)) < 2:
            raise ValueError(f"a group needs two members at least; got {', '.join(self.members) or 'none'}")
        if self.best not in self.members:
            raise ValueError(f"best must be one of {', '.join(self.members)}; got {self.best!r:.60}")
        return self


class Groups(BaseModel):
    """All groups of entries that repeat one another."""

    groups: Annotated[list[Group], keep_valid(optional_fields=("reason",))]


async def find_redundant(
    tiers: Sequence[Sequence[Criterion]], noun: Noun, assignment: Assignment, judge: Judge, max_shown: int = MAX_SHOWN
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the ids of the criteria that repeat a better one, each with the reason; and notes for the user.

    `tiers` are lists of criteria, the better lists first. Within a tier, the judge says which of two is worded better;
    by default it is the earlier one. Without a usable reply, only criteria with equal wording are redundant. With
    `max_shown=2`, every pair of criteria has a prompt of its own.
    """
    # Two questions with the same words in another order may ask opposite things, so the order must be equal too.
    first_ids: dict[tuple[str, ...], str] = {}
    reasons = {}
    for criterion in itertools.chain.from_iterable(tiers):
        levels = (normalized_wording(level.description) for level in criterion.levels)
        wordings = (normalized_wording(criterion.statement), *levels)
        if first_ids.setdefault(wordings, criterion.id) != criterion.id:
            reasons[criterion.id] = f"worded like {first_ids[wordings]}"
    remaining = [[criterion for criterion in tier if criterion.id not in reasons] for tier in tiers]
    blocks = make_blocks([criterion for tier in remaining for criterion in tier], max_shown)
    results = await asyncio.gather(*(_redundant_pairs(block, noun, assignment, judge) for block in blocks))
    pairs: dict[frozenset[str], Group] = {}
    notes: tuple[str, ...] = ()
    plural = "hypotheses" if noun == "hypothesis" else "questions"
    # In reverse order, so that the first block counts where several blocks have the same pair, or where several fail.
    for result in reversed(results):
        if isinstance(result, str):
            notes = (f"{plural} that repeat others in other words are kept: {result}",)
        else:
            pairs |= result
    return reasons | _redundancy_reasons(remaining, pairs), notes


def make_blocks(criteria: Sequence[Criterion], max_size: int) -> list[list[Criterion]]:
    """Return lists of at most `max_size` criteria, so that every pair of criteria is in one of the lists."""
    if len(criteria) <= max_size:
        return [list(criteria)] if len(criteria) > 1 else []
    half = max_size // 2
    half_blocks = [criteria[start : start + half] for start in range(0, len(criteria), half)]
    return [[*first, *second] for first, second in itertools.combinations(half_blocks, 2)]


def normalized_wording(text: str) -> str:
    """Return `text` in lower case, without extra white space, quotation marks around it and one final mark."""
    plain = " ".join(text.translate(_QUOTES).casefold().split())
    quoted = _QUOTED.fullmatch(plain)
    return _CLOSING.sub("", quoted[2] if quoted else plain)


async def _redundant_pairs(
    block: Sequence[Criterion], noun: Noun, assignment: Assignment, judge: Judge
) -> dict[frozenset[str], Group] | str:
    """Return the redundant pairs in the block, each with the group it is in; or why there is no usable reply."""
    seed_of = {each.id: each.question.seed for each in block if each.question and each.question.origin == "elaborated"}
    entries = [
        {
            "id": each.id,
            "text": f"{each.trait}: {each.statement}" if each.kind == "hypothesis" else each.statement,
            "levels": [{"score": level.score, "description": level.description} for level in each.levels],
        }
        for each in block
    ]
    fields = {**assignment.fields(), "noun": noun, "entries": entries}
    prompt = Prompt("deduplication/group", fields, Groups, max_tokens=512 + TOKENS_PER_GROUP * len(block))
    fault = ""
    for _attempt in range(2):
        answer = await ask(judge, prompt, salvage_model=Groups)
        if answer.value is None or answer.reply is None:
            return answer.missing
        pairs: dict[frozenset[str], Group] = {}
        for group in answer.value.groups:
            # All members of a group say the same; or, in a nested group, the first contains all others.
            members = list(dict.fromkeys(group.members))
            redundant: Iterable[tuple[str, str]] = itertools.combinations(members, 2)
            if group.relation == "nested":
                redundant = itertools.product(members[:1], members[1:])
            for first, second in redundant:
                is_seed_and_elaboration = seed_of.get(first) == second or seed_of.get(second) == first
                # An elaborated question is always nested in its seed, which is no reason to drop it.
                if group.relation == "same" or not is_seed_and_elaboration:
                    pairs.setdefault(frozenset((first, second)), group)
        n_repeated = len(_redundancy_reasons([block], pairs))
        if n_repeated <= max(MAX_REPEATED_OF_FEW, MAX_REPEATED_SHARE * len(block)):
            return pairs
        fault = f"at most a third of the {len(block)} entries may repeat others; by these groups {n_repeated} would."
        prompt = prompt.repaired(answer.reply.text, fault)
    return fault


def _redundancy_reasons(tiers: Sequence[Sequence[Criterion]], pairs: Mapping[frozenset[str], Group]) -> dict[str, str]:
    """Return the ids of the criteria to drop, each with the reason: of each redundant pair, the better one stays."""
    best_ids = {group.best for group in pairs.values()}
    distinct_ids: list[str] = []
    reasons: dict[str, str] = {}
    best_first: list[Criterion] = []
    for tier in tiers:
        best_first += sorted(tier, key=lambda criterion: criterion.id not in best_ids)
    for id_ in (criterion.id for criterion in best_first):
        repeated_id = next((distinct for distinct in distinct_ids if frozenset((id_, distinct)) in pairs), None)
        if repeated_id is None:
            distinct_ids.append(id_)
            continue
        group = pairs[frozenset((id_, repeated_id))]
        relation = f"says what {repeated_id} says" if group.relation == "same" else f"is nested with {repeated_id}"
        reasons[id_] = f"{relation}: {group.reason.strip()}".removesuffix(": ")
    return reasons
