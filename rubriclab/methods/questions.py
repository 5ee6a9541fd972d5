"""Yes/no questions: reading answers, questions as criteria and in prompts, and their selection by labels; and the
removal of redundant criteria of any kind.

The papers use no labels. Here a question is dropped if its answers never vary, if they correlate negatively with the
labels, or if they repeat another question's; each rule has a threshold, so that chance rarely drops a question. All
questions weigh the same: on 30 labels, weights by regression overfit (Spearman 0.61 to 0.63 on other texts, 0.65 with
equal weights).

To find redundant criteria, the papers ask about every pair. Here one call groups criteria that are the same or nested,
and the better one is kept. Only criteria with equal wording are dropped without a call, since two questions with the
same words in another order may ask opposite things.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
from pydantic import BaseModel, BeforeValidator, ValidationInfo, model_validator

from rubriclab.judges.judge import Judge, ask
from rubriclab.methods.method import CriterionRating, Learned, TrainingInput, cross_validated, to_matrix, with_agreement
from rubriclab.methods.prompting import Reason, bare_id, keep_valid
from rubriclab.models.base import cached_by_size
from rubriclab.models.rubric import Criterion, DroppedCriterion, Evidence, Part, Question
from rubriclab.models.text import Assignment
from rubriclab.prompts.prompt import Prompt
from rubriclab.stats.correlation import BoolArray, FloatArray, floats, label_correlations

Answer = Literal["yes", "no", "n/a"]
Origin = Literal["seed", "diversified", "elaborated"]
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


# Cached, since most answers are one of a few words.
@cached_by_size(2**18)
def read_answer(text: str) -> Answer | None:
    """Return the answer of `text` to a yes/no question, or `None` if it is unreadable or ambiguous.

    Case, markdown, quotes, brackets, closing punctuation and invisible characters are ignored. An explanation may
    follow after punctuation, unless it has another answer or a hedge. "True" and "false" may be about the text instead
    of the question, and are unreadable.
    """
    normalised = unicodedata.normalize("NFKC", text.replace("№", "#"))  # NFKC turns "№" into "No"
    visible = "".join(character for character in normalised if unicodedata.category(character) != "Cf")
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


# Answers in a reply: one of two, or also that the question is not applicable.
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
    # Seeds that the generator wrote are from prior knowledge.
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
    """Return the fields of a question in a prompt, without the good answer, which would influence the judge.

    `absent` and `broken` are the answers for an absent subject and for a broken text; `None` if they are unknown, or if
    `with_default_answers` is false.
    """
    fields = {"id": criterion.id, "text": criterion.statement, "absent": None, "broken": None}
    if with_default_answers:
        fields |= question_of(criterion).model_dump(include={"absent", "broken"})
    return fields


# Fewest answers on training texts by which a question can be dropped.
MIN_ANSWERS = 10
# Significance level (one-sided) at which a question with a negative correlation with the labels is dropped. On 30
# labels, Spearman correlation on other texts was 0.65 with and without this rule if all questions were good. If four of
# 24 questions were reversed and six were answered at random, the rule raised the correlation from 0.53 to 0.59.
SIGNIFICANCE_AGAINST_LABELS = 0.2
# Significance level (one-sided) of the positive correlation with the labels that a proposed question needs to be kept.
SIGNIFICANCE_OF_TRACKING = 0.2
# Least correlation of two questions' answers at which the later question is redundant.
REPEATED_CORRELATION = 0.95
# Two questions can be redundant only if each has its rarer answer for at least this many texts. If that is two of 30
# texts for both questions, these are the same texts by chance for one pair of questions in 435; if three, in 4,060.
MIN_RARE_ANSWERS = 3


@dataclass(frozen=True, slots=True)
class AnswerMatrix:
    """The answers on the training texts, shape (texts, questions), and the human scores, shape (texts,).

    Attributes:
        good: 1 for the good answer, 0 for the bad one, the share of good ones if units were judged; NaN if missing.
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
    *,
    rate: Callable[[AnswersT, Criterion], CriterionRating],
    count_answers: Callable[[Criterion], Mapping[str, int]],
    score: Callable[[AnswersT, Sequence[Criterion]], float | None],
    drop: Callable[[Sequence[Criterion], AnswerMatrix], ReasonsAndNotes] | None,
    cross_validate: bool,
) -> Learned:
    """Return the part with the questions that are kept, and the dropped ones with the reasons.

    Args:
        part: all questions that were asked, and those that were dropped before.
        answers: what the judge said about each of the labelled texts `in_order`.
        rate: returns a text's rating by a question from what the judge said about the text.
        count_answers: returns the number of each answer to a question, as evidence.
        score: returns a text's score by some questions.
        drop: returns the questions to drop because of the labels, as `questions_to_drop`; `None` keeps all questions.
        cross_validate: whether each text is also scored by the questions that the other groups' labels keep.
    """
    texts, labels, questions = training_input.in_order, training_input.label_array, part.criteria
    ratings = tuple(tuple(rate(text_answers, question) for question in questions) for text_answers in answers)
    applies = np.array([[rating.applies for rating in row] for row in ratings], dtype=bool)
    matrix = AnswerMatrix(to_matrix(ratings, len(questions)), applies.reshape(len(ratings), len(questions)), labels)
    if texts:
        applicable_counts = matrix.applies.sum(axis=0).tolist()
        questions = tuple(
            with_agreement(question, column, labels, n_texts, count_answers(question))
            for question, column, n_texts in zip(questions, matrix.good.T, applicable_counts, strict=True)
        )

    def drop_by(training_answers: AnswerMatrix) -> ReasonsAndNotes:
        return drop(questions, training_answers) if drop else ({}, ())

    def predict(training: BoolArray, held_out: BoolArray) -> FloatArray:
        training_answers = AnswerMatrix(matrix.good[training], matrix.applies[training], labels[training])
        dropped_in_fold, _ = drop_by(training_answers)
        fold_questions = [question for question in questions if question.id not in dropped_in_fold]
        return floats(score(text_answers, fold_questions) for text_answers in itertools.compress(answers, held_out))

    reasons, notes = drop_by(matrix)
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
        optimistic=cross_validate,
        notes=notes,
    )


def questions_to_drop(
    questions: Sequence[Criterion],
    answers: AnswerMatrix,
    *,
    end_share: float = 0,
    proposed_must_correlate: bool = False,
) -> ReasonsAndNotes:
    """Return why questions are dropped, by id, and notes. If all would be, the best of each sub-dimension stay.

    Args:
        end_share: a generated question must get more good answers in this share of the texts, rated highest, than in
            the same share, rated lowest; 0 for no such rule.
        proposed_must_correlate: whether proposed questions need a positive correlation, unless none has it.
    """
    correlations: list[float] = label_correlations(answers.good, answers.labels).tolist()
    answer_counts = (~np.isnan(answers.good)).sum(axis=0).tolist()
    reasons: dict[int, str] = {}
    untracked_reasons: dict[int, str] = {}
    for column, (question, correlation, n) in enumerate(zip(questions, correlations, answer_counts, strict=True)):
        # A question without a correlation is dropped by neither p-value.
        p_as_high, p_as_low = 0.0, 1.0
        if n >= MIN_ANSWERS and not math.isnan(correlation):
            p_as_high, p_as_low = p_below(-correlation, n), p_below(correlation, n)
        correlation_text = f"correlation {correlation:.2f} over {n} training texts"
        if question_of(question).origin == "proposed" and p_as_high > SIGNIFICANCE_OF_TRACKING:
            chance = f"so high by chance in {p_as_high:.1%} of cases"
            untracked_reasons[column] = f"does not track the labels: {correlation_text}, {chance}"
        reason = _why_constant(answers, column) or _why_not_discriminating(question, answers, column, end_share)
        # Questions are written to speak for a text, so a slightly negative correlation is more likely due to chance.
        if correlation < 0 and p_as_low < SIGNIFICANCE_AGAINST_LABELS:
            reason = f"runs against the labels: {correlation_text}, so low by chance in {p_as_low:.1%} of cases"
        if reason:
            reasons[column] = reason
    if not proposed_must_correlate or len(untracked_reasons) == len(questions):
        untracked_reasons = {}
    reasons |= untracked_reasons
    seeds_first = sorted(range(len(questions)), key=lambda column: not is_seed(questions[column]))
    reasons |= _why_repeated([column for column in seeds_first if column not in reasons], questions, answers)
    notes: tuple[str, ...] = ()
    if questions and len(reasons) == len(questions):
        # An undefined correlation counts as lower than any other.
        sort_keys = {each.id: -2.0 if math.isnan(r) else r for each, r in zip(questions, correlations, strict=True)}
        tracked = [question for column, question in enumerate(questions) if column not in untracked_reasons]
        best = [max(group, key=lambda question: sort_keys[question.id]) for group in group_by_trait(tracked).values()]
        for question in best:
            del reasons[questions.index(question)]
        notes = (f"every question would be dropped by the labels: the best of each sub-dimension stay ({len(best)})",)
    return {questions[column].id: reasons[column] for column in sorted(reasons)}, notes


def _why_constant(answers: AnswerMatrix, column: int) -> str | None:
    good = answers.good[:, column]
    answered = good[~np.isnan(good)]
    if not len(answered) and (~answers.applies[:, column]).sum() >= MIN_ANSWERS:
        return f"it cannot be asked of any of the {len(good)} training texts"
    if len(answered) >= MIN_ANSWERS and len(set(answered)) == 1:
        return f"the same answer for all {len(answered)} training texts that it was asked of"
    return None


def _why_not_discriminating(question: Criterion, answers: AnswerMatrix, column: int, end_share: float) -> str | None:
    """Return why a generated question is dropped if the worst texts get as many good answers as the best; else `None`.

    No question is dropped if the two ends of the labels overlap.
    """
    labels, ordered = answers.labels, np.sort(answers.labels)
    n_in_end = math.floor(end_share * len(labels))
    if not n_in_end or ordered[n_in_end - 1] >= ordered[-n_in_end] or is_handwritten(question):
        return None
    low = answers.good[labels <= ordered[n_in_end - 1], column]
    high = answers.good[labels >= ordered[-n_in_end], column]
    low, high = low[~np.isnan(low)], high[~np.isnan(high)]
    if min(len(low), len(high)) < MIN_RARE_ANSWERS or low.mean() < high.mean():
        return None
    return (
        f"the worst texts earn it as often as the best: {low.sum():g} of the {len(low)} rated lowest, "
        f"{high.sum():g} of the {len(high)} rated highest"
    )


def p_below(r: float, n: int) -> float:
    """Return the one-sided p-value of a correlation as low as `r` over `n` texts (Student's t)."""
    from scipy.special import stdtr

    if abs(r) >= 1:
        return float(r > 0)
    return float(stdtr(n - 2, r * np.sqrt((n - 2) / (1 - r * r))))


def _why_repeated(order: Sequence[int], questions: Sequence[Criterion], answers: AnswerMatrix) -> dict[int, str]:
    """Return the columns whose answers repeat those of an earlier column of `order`, each with the reason."""
    # Entry [a, b] of each table below is about the texts with answers in both columns, a and b.
    has_answer = (~np.isnan(answers.good)).astype(float)
    values = np.nan_to_num(answers.good)
    n_texts = has_answer.T @ has_answer
    sums = values.T @ has_answer  # of the values of a
    scaled_variance = n_texts * ((values**2).T @ has_answer) - sums**2  # of a, times n_texts²
    scaled_covariance = n_texts * (values.T @ values) - sums * sums.T  # times n_texts²
    norm = np.sqrt(np.maximum(scaled_variance * scaled_variance.T, 0))
    r = np.divide(scaled_covariance, norm, out=np.zeros_like(norm), where=norm > 1e-9).round(9)
    n_rare = np.minimum(sums, n_texts - sums)  # texts with the rarer answer of a
    distinct_columns: list[int] = []
    reasons = {}
    for later in order:
        is_answered = ~np.isnan(answers.good[:, later])
        for earlier in distinct_columns:
            is_alike = r[earlier, later] >= REPEATED_CORRELATION and n_texts[earlier, later] >= MIN_ANSWERS
            has_rare_answers = min(n_rare[earlier, later], n_rare[later, earlier]) >= MIN_RARE_ANSWERS
            # The later question must have no answer where the earlier one does not apply.
            if is_alike and has_rare_answers and not (is_answered & ~answers.applies[:, earlier]).any():
                figures = f"correlation {r[earlier, later]:.2f} over {int(n_texts[earlier, later])} texts"
                reasons[later] = f"answers as {questions[earlier].id} does ({figures})"
                break
        else:
            distinct_columns.append(later)
    return reasons


# Most entries in one prompt. With more criteria, every pair is still shown together in some prompt.
MAX_SHOWN = 100
TOKENS_PER_GROUP = 100
# How many entries of a prompt may repeat others: this share, or in a short list this number if it is more. A weak judge
# puts nearly all entries into one group.
MAX_REPEATED_SHARE = 1 / 3
MAX_REPEATED_OF_FEW = 2

Noun = Literal["question", "hypothesis"]
Relation = Literal["same", "nested"]

_QUOTES = str.maketrans({**dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’", "'")})
_QUOTED = re.compile(r"([\"'])(.*)\1")
# Only one mark is removed, since further marks may be what the question is about.
_CLOSING = re.compile(r"\s*[.?!]$")

ShownId = Annotated[str, BeforeValidator(lambda value, info: bare_id(value, _shown_ids(info)))]


def _shown_ids(info: ValidationInfo) -> list[str]:
    return [entry["id"] for entry in info.context["entries"]] if info.context else []


class Group(BaseModel):
    """Entries that repeat one another."""

    reason: Reason
    relation: Annotated[
        Relation, BeforeValidator(lambda value: value.strip().lower() if isinstance(value, str) else value)
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

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Return all pairs of members that say the same; of a nested group, the first with every later one."""
        members = list(dict.fromkeys(self.members))
        if self.relation == "same":
            return itertools.combinations(members, 2)
        return itertools.product(members[:1], members[1:])


class Groups(BaseModel):
    """All groups of entries that repeat one another."""

    groups: Annotated[list[Group], keep_valid(("reason",))]


async def find_redundant(
    tiers: Sequence[Sequence[Criterion]], noun: Noun, assignment: Assignment, judge: Judge, max_shown: int = MAX_SHOWN
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the ids of the criteria that repeat a better one, each with the reason; and notes for the user.

    Of two redundant criteria the later one is dropped: better tiers come first, and within a tier the better wording,
    then the earlier position. Without a usable reply, only equal wording is dropped; a reply that would drop more than
    a third of the criteria is not usable. With `max_shown=2`, every pair has a prompt of its own.
    """
    first_ids: dict[tuple[str, ...], str] = {}
    reasons = {}
    for criterion in itertools.chain.from_iterable(tiers):
        levels = (normalised_wording(level.description) for level in criterion.levels)
        wordings = (normalised_wording(criterion.statement), *levels)
        if first_ids.setdefault(wordings, criterion.id) != criterion.id:
            reasons[criterion.id] = f"worded like {first_ids[wordings]}"
    remaining = [[criterion for criterion in tier if criterion.id not in reasons] for tier in tiers]
    blocks = make_blocks([criterion for tier in remaining for criterion in tier], max_shown)
    results = await asyncio.gather(*(_redundant_pairs(block, noun, assignment, judge) for block in blocks))
    pairs: dict[frozenset[str], Group] = {}
    notes: tuple[str, ...] = ()
    plural = "hypotheses" if noun == "hypothesis" else "questions"
    # In reverse order, so that an earlier block's verdict on a pair, and an earlier failure, replace later ones.
    for result in reversed(results):
        if isinstance(result, str):
            notes = (f"{plural} that repeat others in other words are kept: {result}",)
        else:
            pairs |= result
    return reasons | _redundancy_reasons(remaining, pairs), notes


def make_blocks(criteria: Sequence[Criterion], max_size: int) -> list[list[Criterion]]:
    """Return lists of at most `max_size` criteria, with every two together in at least one of them."""
    if len(criteria) <= max_size:
        return [list(criteria)] if len(criteria) > 1 else []
    half = max_size // 2
    half_blocks = [criteria[start : start + half] for start in range(0, len(criteria), half)]
    return [[*first, *second] for first, second in itertools.combinations(half_blocks, 2)]


def normalised_wording(text: str) -> str:
    """Return `text` without what may differ between equal wordings: case, space, quotes around it and a final mark."""
    plain = " ".join(text.translate(_QUOTES).casefold().split())
    quoted = _QUOTED.fullmatch(plain)
    return _CLOSING.sub("", quoted[2] if quoted else plain)


async def _redundant_pairs(
    block: Sequence[Criterion], noun: Noun, assignment: Assignment, judge: Judge
) -> dict[frozenset[str], Group] | str:
    """Return the group of each redundant pair, or a text that says why the block has no usable verdict."""
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
        answer = await ask(judge, prompt, salvage=Groups)
        if answer.value is None or answer.reply is None:
            return answer.missing
        pairs: dict[frozenset[str], Group] = {}
        for group in answer.value.groups:
            for first, second in group.pairs():
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
    best_ids = {group.best for group in pairs.values()}
    distinct_ids: list[str] = []
    reasons: dict[str, str] = {}
    best_first = [each for tier in tiers for each in sorted(tier, key=lambda criterion: criterion.id not in best_ids)]
    for id_ in (criterion.id for criterion in best_first):
        repeated_id = next((distinct for distinct in distinct_ids if frozenset((id_, distinct)) in pairs), None)
        if repeated_id is None:
            distinct_ids.append(id_)
            continue
        group = pairs[frozenset((id_, repeated_id))]
        relation = f"says what {repeated_id} says" if group.relation == "same" else f"is nested with {repeated_id}"
        reasons[id_] = f"{relation}: {group.reason.strip()}".removesuffix(": ")
    return reasons
