"""HypoEval's learning (section 2): from labelled texts and literature to a few hypotheses about the raters.

1. The generator proposes hypotheses from literature and a few labelled texts, which these hypotheses then rate.
2. Each further labelled text is rated by the k best hypotheses. If most of them miss its label, the text enters the
   wrong bank, a list of texts. A full wrong bank is shown to the generator, which proposes hypotheses from it and
   refines them. Redundant hypotheses are dropped, and then the worst.
3. The generator proposes more hypotheses from literature alone. All hypotheses, without redundant ones, are the bank.
4. The bank rates all labelled texts. The hypotheses with the highest Pearson correlation with the labels are selected.

Step 2 is a bandit: a hypothesis is an arm, its rating of a text is a visit, and its utility is high if the rating is
close to the label. The best hypotheses have the highest reward: mean utility plus an exploration bonus.

Joint training rates texts by the criteria of all methods together. For it, `learn` does only the proposals of steps 1
and 3, and `extend` later proposes from texts that were rated wrong. The training input then has its labelled texts in
`jointly_rated_examples` instead of `examples`.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from rubriclab.errors import DataError, JudgeError, SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.methods import method as interface
from rubriclab.methods.hypoeval import proposal_prompts as proposals
from rubriclab.methods.hypoeval.score import PRESETS, HowAsked, HypoEvalSettings, Procedure, rate, score
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.questions import MAX_SHOWN, find_redundant
from rubriclab.models.rubric import Criterion, DroppedCriterion, Part
from rubriclab.models.text import Example, Scale, sort_by_content
from rubriclab.stats.correlation import FloatArray, float_table, floats, label_correlations
from rubriclab.stats.intervals import DIGITS

# By the last text, almost this share of the best hypotheses must miss the label for a text to enter the wrong bank.
FINAL_MISS_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Arm:
    """A hypothesis in the bandit, with its id; `last_step` is the number of the text that it rated last."""

    id: str
    n_visits: int = 0
    total_utility: float = 0.0
    last_step: int = 0

    @property
    def mean_utility(self) -> float:
        return self.total_utility / self.n_visits if self.n_visits else 0.0

    def after_visit(self, utility: float | None, step: int) -> Arm:
        return self if utility is None else Arm(self.id, self.n_visits + 1, self.total_utility + utility, step)


def utility(rating: float, label: float, scale: Scale) -> float:
    """Return `1 - ((rating - label) / width)^2`: on a scale from 1 to 5, the paper's L with a = 1 and b = 1/16."""
    return 1.0 - ((rating - label) / scale.width) ** 2


def n_wrong_needed(n_top: int, step: int, n_texts: int) -> float:
    """Return w_hyp: how many of the `n_top` best hypotheses must miss a text's label for it to enter the wrong bank."""
    return n_top * FINAL_MISS_SHARE * (step - 1) / n_texts


def reward(arm: Arm, step: int, alpha: float, procedure: Procedure) -> float:
    """Return the arm's mean utility plus its exploration bonus, after `step` labelled texts.

    In the paper and its code, the bonus does not grow after the arm's last visit.
    """
    bonus_step = step if procedure == "improved" else arm.last_step
    bonus = alpha * math.sqrt(math.log(max(bonus_step, 1)) / max(arm.n_visits, 1))
    return round(arm.mean_utility, DIGITS) + round(bonus, DIGITS)


def rank_arms(arms: Iterable[Arm], step: int, alpha: float, procedure: Procedure) -> list[Arm]:
    return sorted(arms, key=lambda arm: (-reward(arm, step, alpha, procedure), arm.id))


def select_columns(scores: FloatArray, labels: FloatArray, settings: HypoEvalSettings) -> list[int]:
    """Return the columns of the hypotheses to select, the highest correlation with the labels first.

    A column needs scores of at least half of the texts. The improved procedure also requires a positive correlation,
    unless no column has one. `scores` has a row for each text.
    """
    # An undefined correlation counts as lower than any other.
    r = np.nan_to_num(label_correlations(scores, labels), nan=-2.0)
    rated_share = (~np.isnan(scores)).mean(axis=0) if len(scores) else np.zeros(scores.shape[1])
    eligible = [column for column in range(scores.shape[1]) if rated_share[column] >= 0.5]
    if settings.procedure == "improved" and any(r[column] > 0 for column in eligible):
        eligible = [column for column in eligible if r[column] > 0]
    return sorted(eligible, key=lambda column: (-r[column], column))[: settings.selected]


def hopeless_columns(scores: FloatArray, labels: FloatArray, rounds_left: int, settings: HypoEvalSettings) -> list[int]:
    """Return the columns of the hypotheses to drop, by successive halving (Karnin, Koren and Somekh 2013, ICML).

    If two rounds of rating are left, three times `settings.selected` hypotheses stay; if one round is left, 1.5 times
    `settings.selected`.
    """
    r = np.nan_to_num(label_correlations(scores, labels), nan=-2.0)
    ranked = sorted(range(len(r)), key=lambda column: (-r[column], column))
    n_kept = math.ceil(1.5 * 2 ** (rounds_left - 1) * settings.selected)
    return sorted(ranked[n_kept:])


def mean_ratings(scores: FloatArray, columns: Sequence[int]) -> FloatArray:
    """Return each text's mean over the scores in `columns`, shape (texts,); NaN for a text without scores there."""
    means = np.ma.masked_invalid(scores[:, list(columns)]).mean(axis=1).round(DIGITS)
    return np.ma.filled(means.astype(float), np.nan)


def cross_validated_means(
    scores: FloatArray, labels: FloatArray, groups: Sequence[str], settings: HypoEvalSettings
) -> FloatArray:
    """Return each text's mean rating by the hypotheses that the labels of the other groups select."""
    return interface.cross_validated(
        groups,
        lambda training, held_out: mean_ratings(
            scores[held_out], select_columns(scores[training], labels[training], settings)
        ),
    )


def final_bank(
    ranked: Sequence[Criterion], literature: Sequence[Criterion], size: int, procedure: Procedure, rng: random.Random
) -> tuple[Criterion, ...]:
    """Return up to `size` hypotheses, about half from `ranked` and half from `literature` if neither list is empty.

    Both lists begin with their best hypotheses. The paper's procedure draws from the lists at random instead.
    """
    half = size // 2 if ranked and literature else size
    if procedure == "paper":
        drawn = rng.sample(ranked, min(half, len(ranked)))
        return (*drawn, *rng.sample(literature, min(half, len(literature))))
    if procedure == "published":  # the procedure of the paper's published code
        # Hypotheses from literature fill the places that ranked hypotheses leave.
        n_ranked = min(half, len(ranked))
    else:
        # Each list fills the places that the other leaves.
        n_ranked = size - min(max(size // 2, size - len(ranked)), len(literature))
    return (*ranked[:n_ranked], *literature[: size - n_ranked])


# Shares of the texts that are rated by the end of each round. After each round but the last, hypotheses are dropped.
ROUNDS = (0.25, 0.5, 1.0)


async def learn(
    training_input: interface.TrainingInput, settings: HypoEvalSettings, **options: Any
) -> interface.Learned:
    if "labels" in settings.sources and not training_input.texts_for_generator:
        raise DataError(
            "hypoeval learns from labelled texts, and there are none.",
            "Give labelled texts, or set `hypoeval.sources` to 'literature' or 'prior knowledge'.",
        )
    if settings.sources == "literature" and not training_input.findings:
        raise SettingsError(
            "Hypotheses from literature alone need findings, and there are none for "
            f"{training_input.assignment.words.task!r}.",
            "Give your own with `literature=PATH`.",
        )
    run = _HypoEvalRun(training_input, settings, **options)
    if settings.sources == "prior knowledge":
        await run.propose_and_add(settings.selected, proposals.ProposalContext())
    if "labels" in settings.sources:
        await run.run_bandit()
    if run.findings:
        context = proposals.ProposalContext(findings=run.findings, existing=run.remaining if run.is_improved else ())
        await run.propose_and_add(settings.n_from_literature, context)
    if not run.arms:
        raise JudgeError(f"No hypothesis could be obtained: {run.failures[-1]}")
    await run.reduce_bank()
    await run.rate_bank()
    return await run.conclude()


@dataclass
class _HypoEvalRun:
    training_input: interface.TrainingInput
    settings: HypoEvalSettings
    judge: Judge
    generator: Judge
    seed: int
    on_progress: interface.Progress = interface.ignore_progress

    def __post_init__(self) -> None:
        training_input, settings = self.training_input, self.settings
        self.assignment, self.groups = training_input.assignment, training_input.groups
        self.is_improved, aspect = settings.procedure == "improved", self.assignment.aspect.name
        examples = list(sort_by_content(training_input.texts_for_generator))
        if self.is_improved:
            # The first texts are spread over the labels, so that the proposals do not depend on a random draw.
            ranked = sorted(examples, key=lambda example: example.scores[aspect])
            spread_texts = interface.pick_evenly(ranked, settings.initial_examples)
            examples.sort(key=lambda example: example not in spread_texts)
        else:
            random.Random(self.seed).shuffle(examples)
        self.first_texts = tuple(examples[: settings.initial_examples])
        # The texts that are rated here, in the order of the bandit; none in joint training.
        self.texts = examples if training_input.examples else []
        self.labels = {text.id: text.scores[aspect] for text in self.texts}
        self.findings = training_input.findings if "literature" in settings.sources else ()
        # By the id of a hypothesis; `criteria` has all hypotheses ever proposed, and `arms` has the remaining ones.
        self.criteria: dict[str, Criterion] = {}
        self.arms: dict[str, Arm] = {}
        self.drop_reasons: dict[str, str] = {}
        # By the id of a hypothesis, then by the id of a text; only ratings that were requested.
        self.ratings: dict[str, dict[str, CriterionRating]] = defaultdict(dict)
        self.predictions: dict[str, tuple[proposals.Prediction, ...]] = {}  # by the id of a text
        self.failures: list[str] = []
        self.notes: list[str] = []

    @property
    def remaining(self) -> tuple[Criterion, ...]:
        return tuple(self.criteria[id_] for id_ in self.arms)

    def _keep_only(self, ids: Iterable[str], reason: str) -> None:
        for id_ in self.arms.keys() - {*ids}:
            del self.arms[id_]
            self.drop_reasons[id_] = reason

    def _rank(self, step: int) -> list[Criterion]:
        ranked = rank_arms(self.arms.values(), step, self.settings.alpha, self.settings.procedure)
        return [self.criteria[arm.id] for arm in ranked]

    async def propose_and_add(
        self, count: int, context: proposals.ProposalContext, later_contexts: Sequence[proposals.ProposalContext] = ()
    ) -> tuple[Criterion, ...]:
        """Return the hypotheses that the generator proposes from `context` and refines in view of `later_contexts`."""
        hypotheses, failure = await proposals.propose(count, context, self.assignment, self.generator)
        self.failures += filter(None, [failure])
        # Once no context changes the hypotheses any more, further rounds would repeat the same requests.
        n_unchanged = 0
        for number in range(self.settings.refine_rounds if hypotheses and later_contexts else 0):
            later_context = later_contexts[number % len(later_contexts)]
            before = hypotheses
            if later_context.examples or later_context.findings:
                hypotheses = await proposals.refine(before, later_context, self.assignment, self.generator)
            n_unchanged = n_unchanged + 1 if hypotheses is before else 0
            if n_unchanged == len(later_contexts):
                break
        n_before = len(self.criteria)
        for criterion in hypotheses:
            id_ = f"h{len(self.criteria) + 1:02d}"
            self.criteria[id_] = criterion.model_copy(update={"id": id_})
            self.arms[id_] = Arm(id_)
        return tuple(self.criteria.values())[n_before:]

    async def _rate(self, criteria: Sequence[Criterion], examples: Sequence[Example]) -> None:
        """Request the ratings that were not requested before; failed ratings are not requested again."""
        # One overall rating does not distinguish hypotheses, so learning requests a rating by each.
        ask_how: HowAsked = "separately" if self.settings.ask == "concatenated" else self.settings.ask
        requests = []
        for example in examples:
            not_rated = [criterion for criterion in criteria if example.id not in self.ratings[criterion.id]]
            requests.append(rate(example, not_rated, self.assignment, self.judge, ask_how))
        for example, ratings in zip(examples, await asyncio.gather(*requests), strict=True):
            for rating in ratings:
                self.ratings[rating.id][example.id] = rating

    def _scores(self, ids: Iterable[str]) -> FloatArray:
        """Return the scores of the texts by these hypotheses, shape (texts, hypotheses); NaN if missing."""
        columns = [self.ratings[id_] for id_ in ids]
        rows = ([column[text.id].score if text.id in column else None for column in columns] for text in self.texts)
        return float_table(rows, len(columns))

    async def run_bandit(self) -> None:
        settings, n_texts, first = self.settings, len(self.texts), self.first_texts
        added = await self.propose_and_add(settings.initial_hypotheses, proposals.ProposalContext(first, self.findings))
        await self._visit(added, first if n_texts else (), len(first))
        wrong_bank: list[Example] = []
        for step, text in enumerate(self.texts[len(first) :], len(first) + 1):
            best = self._rank(step - 1)[: settings.k]
            await self._visit(best, [text], step)
            scores = {each.id: self.ratings[each.id][text.id].score for each in best}
            label, scale = self.labels[text.id], self.assignment.scale
            predictions = proposals.predictions_of_text(best, scores, label, settings.theta, scale)
            self.predictions[text.id] = predictions
            n_misses = sum(each["verdict"] != "close" for each in predictions)
            if n_misses >= max(1, n_wrong_needed(len(best), step, n_texts)):
                wrong_bank.append(text)
            if len(wrong_bank) >= settings.wrong_bank:
                await self._propose_from_wrong_bank(tuple(wrong_bank), best, step)
                wrong_bank = []
            progress = f"{step} of {n_texts} labelled texts seen, {len(self.arms)} hypotheses"
            self.on_progress(progress, 0.5 * step / n_texts)

    async def _propose_from_wrong_bank(self, texts: tuple[Example, ...], best: Sequence[Criterion], step: int) -> None:
        settings, existing = self.settings, self.remaining if self.is_improved else ()
        context = proposals.ProposalContext(texts)
        later_contexts = [context, proposals.ProposalContext(findings=self.findings, existing=existing)]
        if settings.procedure == "published":
            later_contexts.reverse()
        if self.is_improved:
            predictions = {text.id: self.predictions[text.id] for text in texts}
            max_error = proposals.tolerance(settings.theta, self.assignment.scale)
            context = proposals.ProposalContext(texts, (), existing, predictions, max_error)
            # The generator has just seen the texts. An empty context skips the refinement by these texts.
            later_contexts[0] = proposals.ProposalContext()
        # Of two hypotheses that say the same, the one in the later tier is dropped. The new ones will be the last tier.
        tiers = [[earlier] for earlier in itertools.chain.from_iterable(self._by_preference())]
        new_criteria = await self.propose_and_add(settings.new_hypotheses, context, later_contexts)
        if not new_criteria:
            return
        if self.is_improved:
            await self._drop_redundant([*tiers, new_criteria])
            new_criteria = tuple(criterion for criterion in new_criteria if criterion.id in self.arms)
        if settings.procedure == "paper":
            ids = [each.id for each in (*best, *new_criteria)]
            self._keep_only(ids, "neither among the best nor new when new hypotheses were proposed")
        await self._visit(new_criteria, texts, step)

    async def _visit(self, criteria: Sequence[Criterion], examples: Sequence[Example], step: int) -> None:
        """Rate the texts by `criteria`, record the utilities, and keep only as many hypotheses as the bank may have."""
        await self._rate(criteria, examples)
        for example in examples:
            for criterion in criteria:
                score = self.ratings[criterion.id][example.id].score
                text_utility = None if score is None else utility(score, self.labels[example.id], self.assignment.scale)
                self.arms[criterion.id] = self.arms[criterion.id].after_visit(text_utility, step)
        size = self.settings.bank_size
        best = (each.id for each in self._rank(step)[:size])
        self._keep_only(best, f"reward below the best {size} after {step} labelled texts")

    def _by_preference(self) -> tuple[list[Criterion], list[Criterion]]:
        """Return the ranked hypotheses, best first, and hypotheses from literature alone, in the order proposed."""
        ranked = self._rank(len(self.texts))
        if self.settings.procedure == "published":
            best = sorted(self.arms.values(), key=lambda arm: (-arm.mean_utility, arm.id))
            ranked = [self.criteria[arm.id] for arm in best]
        literature = [each for each in self.remaining if each.evidence.origin == "literature"]
        return [each for each in ranked if each not in literature], literature

    async def reduce_bank(self) -> None:
        # Hypotheses from prior knowledge come from one reply, to a prompt that forbids repetitions.
        if self.settings.sources != "prior knowledge":
            ranked, literature = self._by_preference()
            ranked_tiers = [[each] for each in ranked]
            if self.is_improved:  # hypotheses from literature share a tier, since none is known to be better
                await self._drop_redundant([*ranked_tiers, literature])
            else:
                await self._drop_redundant(ranked_tiers, max_shown=2)
                await self._drop_redundant([[each] for each in literature], max_shown=2)
        size, rng = self.settings.bank_size, random.Random(f"union {self.seed}")
        bank = final_bank(*self._by_preference(), size, self.settings.procedure, rng)
        self._keep_only((each.id for each in bank), f"no place in the final bank of {size}")
        self.on_progress(f"{len(self.arms)} hypotheses without redundant ones", 0.5)

    async def _drop_redundant(self, tiers: Sequence[Sequence[Criterion]], max_shown: int = MAX_SHOWN) -> None:
        redundant, notes = await find_redundant(tiers, "hypothesis", self.assignment, self.judge, max_shown=max_shown)
        self.notes += notes
        self.drop_reasons |= redundant
        for id_ in redundant:
            del self.arms[id_]

    async def rate_bank(self) -> None:
        """Rate all texts by the whole bank, in rounds after which hopeless hypotheses are dropped."""
        if not self.texts:
            return
        labels = np.array(list(self.labels.values()))
        for rounds_left, share in zip(reversed(range(len(ROUNDS))), ROUNDS, strict=True):
            end = round(share * len(self.texts))
            await self._rate(self.remaining, self.texts[:end])
            if self.settings.drop_hopeless and rounds_left:
                # Hypotheses from the bandit also have ratings of some texts after `end`; these ratings are used too.
                ids = list(self.arms)
                hopeless = hopeless_columns(self._scores(ids), labels, rounds_left, self.settings)
                remaining_ids = (id_ for column, id_ in enumerate(ids) if column not in hopeless)
                self._keep_only(remaining_ids, f"tracked the labels too little when {end} texts were rated by the bank")
            progress = f"{end} of {len(self.texts)} texts rated by {len(self.arms)} hypotheses"
            self.on_progress(progress, 0.5 + 0.5 * share)

    async def conclude(self) -> interface.Learned:
        settings, text_ids, labels = self.settings, tuple(self.labels), np.array(list(self.labels.values()))
        candidates = tuple(self.arms)
        candidate_scores = self._scores(candidates)
        # If no text was rated here, the generator's order of importance decides.
        selected_ids, selected_words = candidates[: settings.selected], f"first {settings.selected}"
        if self.texts:
            if np.isnan(candidate_scores).all():
                raise JudgeError("The judge gave no usable rating for any training text.", "Try another `judge`.")
            selected_ids = tuple(candidates[column] for column in select_columns(candidate_scores, labels, settings))
            selected_words = f"{settings.selected} that track the labels best"
            if not selected_ids:
                raise JudgeError(
                    f"No hypothesis was rated on at least half of the {len(self.texts)} texts.",
                    "If replies of the judge failed, learn again with `retry_failed`; else try another `judge`.",
                )
        self._keep_only(selected_ids, f"not among the {selected_words}")
        for id_, column in zip(tuple(self.criteria), self._scores(self.criteria).T, strict=True):
            n_requested = len(self.ratings[id_])
            self.criteria[id_] = interface.with_agreement(self.criteria[id_], column, labels, n_requested)
        criteria = tuple(self.criteria[id_] for id_ in selected_ids)
        if settings.ask == "concatenated":
            requests = (rate(text, criteria, self.assignment, self.judge, "concatenated") for text in self.texts)
            scores = floats(overall.score for (overall,) in await asyncio.gather(*requests))
        else:
            scores = mean_ratings(candidate_scores, [candidates.index(id_) for id_ in selected_ids])
        dropped = [each for each in self.criteria.values() if each.id in self.drop_reasons]
        return interface.Learned(
            part=Part(
                method="hypoeval",
                settings=settings.model_dump(mode="json"),
                criteria=criteria,
                dropped=tuple(DroppedCriterion(criterion=each, reason=self.drop_reasons[each.id]) for each in dropped),
            ),
            examples=text_ids,
            candidates=candidates,
            ratings=tuple(tuple(self.ratings[id_][text_id] for id_ in candidates) for text_id in text_ids),
            scores=scores,
            reselected=cross_validated_means(candidate_scores, labels, self.groups, settings),
            notes=tuple(self.notes),
        )


# Share of the best hypotheses that must miss a text's label for `extend` to show the text.
EXTEND_MISS_SHARE = 0.5


async def extend(
    part: Part,
    ratings: Mapping[str, Mapping[str, float]],
    training_input: interface.TrainingInput,
    settings: HypoEvalSettings,
    *,
    judge: Judge,
    generator: Judge,
) -> tuple[Part, tuple[str, ...]]:
    """Return a part with hypotheses from texts that the hypotheses of `part` rate wrong, and notes for the user.

    `ratings` has scores by the id of the text, then by the id of the hypothesis. New hypotheses are proposed from texts
    of at most half of the groups, since the labels of these groups cannot test them.
    """
    assignment, examples = training_input.assignment, sort_by_content(training_input.texts_for_generator)
    scale, aspect, theta = assignment.scale, assignment.aspect.name, settings.theta
    labels = {example.id: example.scores[aspect] for example in examples}
    # The best hypotheses are those with the highest mean utility.
    utilities: dict[str, list[float]] = {criterion.id: [] for criterion in part.criteria}
    for text_id, scores in sorted(ratings.items()):
        for criterion_id in utilities.keys() & scores.keys():
            utilities[criterion_id].append(utility(scores[criterion_id], labels[text_id], scale))
    mean_utility = {criterion_id: fmean(values) if values else 0.0 for criterion_id, values in utilities.items()}
    best = sorted(part.criteria, key=lambda criterion: (-mean_utility[criterion.id], criterion.id))[: settings.k]
    # The wrong texts are those whose labels many of the best hypotheses miss.
    predictions, n_misses = dict[str, tuple[proposals.Prediction, ...]](), dict[str, int]()
    for id_, label in labels.items():
        predictions[id_] = proposals.predictions_of_text(best, ratings.get(id_, {}), label, theta, scale)
        n_misses[id_] = sum(each["verdict"] != "close" for each in predictions[id_])
    wrong = [text for text in examples if n_misses[text.id] >= max(1, EXTEND_MISS_SHARE * len(predictions[text.id]))]
    # Of these, the texts with the most misses are shown, from the groups with the most wrong texts.
    max_groups = max(1, len({example.group for example in examples}) // 2)
    groups = [group for group, _ in Counter(text.group for text in wrong).most_common(max_groups)]
    most_missed = sorted((text for text in wrong if text.group in groups), key=lambda text: -n_misses[text.id])
    wrong_predictions = {text.id: predictions[text.id] for text in most_missed[: settings.wrong_bank]}
    if "labels" not in settings.sources or not wrong_predictions:
        return part.model_copy(update={"criteria": (), "dropped": ()}), ()
    texts = tuple(each for each in examples if each.id in wrong_predictions)
    context = proposals.ProposalContext(texts, (), part.criteria, wrong_predictions, proposals.tolerance(theta, scale))
    proposed, failure = await proposals.propose(settings.new_hypotheses, context, assignment, generator)
    n_older = len(part.criteria) + len(part.dropped)
    new = [each.model_copy(update={"id": f"h{number:02d}"}) for number, each in enumerate(proposed, n_older + 1)]
    # Hypotheses with ratings are preferred to new ones.
    tiers = [*([each] for each in part.criteria), new]
    redundant, notes = await find_redundant(tiers, "hypothesis", assignment, judge)
    distinct = tuple(each for each in new if each.id not in redundant)
    dropped = tuple(DroppedCriterion(criterion=each, reason=redundant[each.id]) for each in new if each.id in redundant)
    return part.model_copy(update={"criteria": distinct, "dropped": dropped}), (*filter(None, [failure]), *notes)


def learning_calls(training_input: interface.TrainingInput, settings: HypoEvalSettings) -> interface.LearningCalls:
    n_texts, from_labels = len(training_input.examples), "labels" in settings.sources
    is_joint, is_improved = bool(training_input.jointly_rated_examples), settings.procedure == "improved"
    has_literature = bool(training_input.findings) and "literature" in settings.sources
    n_refills = 0  # how often hypotheses are proposed from wrong texts; once by `extend`
    if from_labels:
        n_refills = max(0, n_texts - settings.initial_examples) // settings.wrong_bank + int(is_joint)
    n_initial = settings.initial_hypotheses if from_labels else 0
    if settings.sources == "prior knowledge":
        n_initial = settings.selected
    n_from_literature = settings.n_from_literature if has_literature else 0
    n_hypotheses = n_initial + n_refills * settings.new_hypotheses + n_from_literature
    # The judge looks for redundant hypotheses. In the paper, each pair of hypotheses has a call.
    judge_calls = 0
    if settings.sources != "prior knowledge":
        judge_calls = 1 + n_refills if is_improved else n_hypotheses * (n_hypotheses - 1) // 2
    # The judge also rates texts: all of them for the bandit and for the bank, and wrong texts by new hypotheses.
    if not is_joint and settings.ask == "together":
        judge_calls += 2 * n_texts + n_refills * settings.wrong_bank
    elif not is_joint:
        judge_calls += n_hypotheses * n_texts
        judge_calls += n_texts if settings.ask == "concatenated" else 0
    # The generator proposes once at the start, once from literature, and after each refill, followed by refinements.
    n_refinements = settings.refine_rounds
    if is_improved:  # only literature is shown, in every second round
        n_refinements = n_refinements // 2 if has_literature else 0
    calls_per_refill = 1 if is_joint else 1 + n_refinements
    return interface.LearningCalls(
        judge=judge_calls,
        generator=int(n_initial > 0) + int(has_literature) + n_refills * calls_per_refill,
        shown=settings.initial_examples if from_labels else 0,  # texts in a prompt to the generator
        jointly_rated_criteria=n_hypotheses if is_joint else 0,
    )


# In recorded judgments of a strong model, one call about all hypotheses agreed with people as well as one for each, at
# a fraction of the price. No hypothesis is dropped before it rates all texts, since a candidate needs all its ratings.
JOINT_SETTINGS = {"ask": "together", "drop_hopeless": False, "bank_size": 10, "new_hypotheses": 4, "refine_rounds": 2}

HYPOEVAL = interface.Method(
    name="hypoeval",
    note="criteria with a description of every score, from labels and findings",
    settings=HypoEvalSettings,
    presets=PRESETS,
    prompts=("hypoeval/propose", "hypoeval/refine", "deduplication/group", "hypoeval/rate", "hypoeval/rate_together"),
    learn=learn,
    score=score,
    learning_calls=learning_calls,
    criterion_kind="hypothesis",
    shares_call=lambda settings: HypoEvalSettings.model_validate(settings).ask != "concatenated",
    generator_sees_reasons=lambda settings: "labels" in settings.sources,
    # The procedures `paper` and `published` propose in view of ratings, round by round, so `learn` must rate the texts.
    leaves_rating_to_joint_training=lambda settings: settings.procedure == "improved",
    extend=extend,
    joint_settings=JOINT_SETTINGS,
)
