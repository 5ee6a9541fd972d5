"""The words that views use for numbers, texts, evaluators, criteria and ratings, versions, agreement with people."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from rubriclab.data.mapping import drop_rating_fields
from rubriclab.judges.cache import RECORDED_PREFIX as RECORDED
from rubriclab.judges.connect import EMBEDDED
from rubriclab.methods.catalogue import JOINT, installed_method
from rubriclab.methods.holistic import HolisticSettings
from rubriclab.models import evaluation, version as versions
from rubriclab.models.aggregation import Bounds, Term, hand_set_threshold
from rubriclab.models.characters import count, escape_controls, join_names, judge_at
from rubriclab.models.rubric import Criterion, Evidence, Rubric
from rubriclab.models.text import Scale, format_score
from rubriclab.models.text_features import CATALOGUE
from rubriclab.stats.intervals import MIN_GROUPS, Interval
from rubriclab.stats.score_agreement import ScoreErrors

if TYPE_CHECKING:
    from rubriclab.learning.evaluation import Result
    from rubriclab.methods.method import CriterionRating
    from rubriclab.models.version import Cell, Version

DIGEST_SHOWN = 12  # hexadecimal digits of a digest
EXCERPT_LENGTH = 420  # characters of an excerpt
LONGEST_SHOWN = 20_000  # characters shown of one text: wrapping millions of characters takes minutes
FORMULA = "a formula of text features"  # the free baseline of all text features: a weighted sum, fitted to labels
ROUNDING_ERROR = 1e-6  # an end of an interval that is nearer to 0 counts as 0
UNMEASURED = Markup('<span class="none">–</span>')  # a cell without a figure
SAVED_ANSWERS = "recorded answers"
LABELS_HELPED_PROPOSE = " (optimistic: labels of all groups helped to propose the criteria)"
LEVELS: Mapping[str, str] = {"group": "within groups", "dataset": "over all texts", "system": "between systems"}
LEVEL_NOTES: Mapping[str, str] = {
    "group": "texts that share a source are compared with each other; mean over the groups",
    "dataset": "one correlation over all texts, whatever their source",
    "system": "a system is what wrote outputs, such as a model; their mean scores are compared, one point per system",
}


def figure(value: float | None, decimals: int = 2) -> str:
    """Return a number, such as a correlation, with `decimals` decimals, or `undefined`."""
    return "undefined" if value is None else f"{value:z.{decimals}f}"


def signed(value: float | None, decimals: int = 2) -> str:
    """Return a change as `+0.25`, or `0.00`; empty for `None`."""
    digits = "" if value is None else f"{value:+z.{decimals}f}"
    return digits if digits.strip("+0.") else digits[1:]  # zero has no sign


def decimals_of(statistic: Interval, distinct_from: float | None = None, min_decimals: int = 2) -> int:
    """Return how many decimals an interval needs: more than two if an end would read as 0 or as `distinct_from`."""
    decimals = min_decimals
    for end in [end for end in (statistic.low, statistic.high) if end is not None]:
        needed = 2
        if distinct_from is not None and figure(end) == figure(distinct_from):
            needed = next((more for more in (3, 4) if round(end, more) != distinct_from), 2)
        elif figure(end) == "0.00" and abs(end) >= ROUNDING_ERROR:
            needed = -math.floor(math.log10(abs(end)))
        decimals = max(decimals, needed)
    return decimals


def interval(statistic: Interval, distinct_from: float | None = None, min_decimals: int = 2) -> str:
    """Return `[0.41, 0.53]`; empty without an interval."""
    if statistic.low is None or statistic.high is None:
        return ""
    decimals = decimals_of(statistic, distinct_from, min_decimals)
    return f"[{figure(statistic.low, decimals)}, {figure(statistic.high, decimals)}]"


def estimate(statistic: Interval, decimals: int = 2) -> str:
    """Return a statistic as `0.47 [0.41, 0.53]`, with at least `decimals` decimals."""
    value = figure(statistic.value, decimals_of(statistic, min_decimals=decimals))
    return f"{value} {interval(statistic, min_decimals=decimals)}".rstrip()


def gain(statistic: Interval, min_gain: float, unit: str = "", decimals: int = 2) -> str:
    """Return a gain as `+0.009 [-0.035, 0.053]`; with more decimals if an end would else read as `min_gain`."""
    value = signed(statistic.value, decimals_of(statistic, min_gain, decimals))
    return f"{value}{unit} {interval(statistic, min_gain, decimals)}".rstrip()


def percent(share: float) -> str:
    """Return a share as `19 %`, or `<1 %` if it would be rounded to 0."""
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:z.0f} %"


def share(statistic: Interval, part: int, whole: int) -> str:
    """Return a share with its interval in percent, as `11 of 15 (73 %) [50, 97 %]`."""
    if statistic.value is None:
        return "undefined"
    counts = f"{part:,} of {whole:,} ({percent(statistic.value)})"
    if statistic.low is None or statistic.high is None:
        return counts
    return f"{counts} [{100 * statistic.low:z.0f}, {100 * statistic.high:z.0f} %]"


def rounded(score: float | None) -> str:
    return "none" if score is None else format_score(round(score, 2))


def score_interval(interval: tuple[float, float]) -> str:
    low, high = (format_score(round(end, 2)) for end in interval)
    return f"[{low}, {high}]"


def calls(number: float) -> str:
    """Return a number of calls per text with at most one decimal, or two below one call."""
    return format_score(round(number, 1 if number >= 1 else 2))


def cost(usd: float | None) -> str:
    if usd is None:
        return "cost unknown"
    if usd == 0:
        return "no cost"
    return "less than $0.01" if usd < 0.005 else f"${usd:,.2f}"


def with_equal_decimals(ratings: Iterable[str]) -> list[str]:
    """Return ratings in words or numbers, with the same number of decimals in all numbers."""
    words = list(ratings)
    decimals = max((len(each.partition(".")[2]) for each in words), default=0)
    return [f"{float(each):.{decimals}f}" if each[-1:].isdigit() else each for each in words]


def lines(text: str) -> list[str]:
    """Return the lines of a text without control characters; several empty lines in a row become one."""
    stripped = [line.rstrip() for line in escape_controls(text).strip().expandtabs(4).split("\n")]
    return [line for index, line in enumerate(stripped) if line or (index and stripped[index - 1])]


def cut(text: str) -> str:
    missing = len(text) - LONGEST_SHOWN
    if missing <= 0:
        return text
    return f"{text[:LONGEST_SHOWN]} … ({missing:,} more characters; `rubriclab export` writes all of them)"


def excerpt(text: str, max_length: int = EXCERPT_LENGTH) -> str:
    """Return the beginning of a text, cut between words."""
    text = text.strip()
    if len(text) <= max_length:
        return text
    return f"{text[:max_length].rsplit(maxsplit=1)[0]} …"


def short_digest(digest: str) -> str:
    algorithm, _, digits = digest.rpartition(":")
    return f"{algorithm}:{digits[:DIGEST_SHOWN]}" if algorithm else digits[:DIGEST_SHOWN]


def utc_time(created: datetime) -> str:
    return f"{created.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def evaluator_parts(evaluator: str) -> tuple[str, str]:
    """Return the name of an evaluator in tables, and any remark in brackets at the end of its name."""
    name, _, remark = evaluator.removeprefix(evaluation.BASELINE_PREFIX).partition(" (")
    if evaluation.is_free_baseline(evaluator):
        name = name.replace("_", " ")
        if name.startswith("-"):  # less of the feature is better
            name = f"{'fewer' if name.endswith('s') else 'less'} {name[1:]}"
    return name.replace(evaluation.ALL_FEATURES, FORMULA), remark.removesuffix(")")


def free_baseline(evaluator: str) -> str:
    """Return how a sentence names an evaluation's free baseline."""
    name, _ = evaluator_parts(evaluator)
    return name if name.startswith(FORMULA) else f"the text feature {name!r}"


# Wording for evaluators whose names are not self-explanatory.
EVALUATORS: Mapping[str, str] = {
    JOINT: "this rubric",
    evaluation.DIRECT: "asked directly",
    evaluation.CALIBRATED: "asked directly, calibrated",
    evaluation.WHOLE: "only the question about the whole text, asked together with the criteria",
    evaluation.ALL_FEATURES: FORMULA,
    "best text feature": "the text feature chosen without texts of the same source",
    "constant": "the same score for every text",
}
DIRECT_TEMPLATE = "direct/rate"  # the prompt by which a judge is asked directly
ASKED_DIRECTLY = "the same judge asked directly"
# Wording for readers who do not know the methods.
PLAIN_NAMES: Mapping[str, str] = {
    evaluation.DIRECT: ASKED_DIRECTLY,
    evaluation.CALIBRATED: f"{ASKED_DIRECTLY}, its scores mapped onto those of people",
    FORMULA: f"{FORMULA} such as length, which needs no judge",
    "best text feature": "a text feature such as length, which needs no judge",
    "word count": "the number of words, which needs no judge",
}
PERFECT = "the best possible, given how far raters differ"


def method_note(name: str) -> str:
    method = installed_method(name)
    return method.note if method else ""


def evaluator_name(name: str, *, in_sentence: bool = False) -> str:
    if name in EVALUATORS:
        same_judge = "the same judge " if in_sentence and name in (evaluation.DIRECT, evaluation.CALIBRATED) else ""
        return f"{same_judge}{EVALUATORS[name]}"
    return method_note(name) or name


def plain_name(evaluator: str, *, asked_directly: bool = False) -> str:
    """Return plain words for an evaluator; `asked_directly`: whether the evaluator is the judge without a rubric."""
    name, _ = evaluator_parts(evaluator)
    if asked_directly:
        name = evaluation.CALIBRATED if name.endswith(evaluation.CALIBRATED_ENDING) else evaluation.DIRECT
    description = f"{free_baseline(evaluator)}, which needs no judge" if evaluation.is_free_baseline(evaluator) else ""
    return PLAIN_NAMES.get(name) or description or evaluator_name(name, in_sentence=True)


def subject(rubric: Rubric) -> str:
    return "the judge asked directly" if rubric.asks_directly else "this rubric"


def baseline_feature(baseline: versions.Baseline) -> str:
    titles = {entry.name: entry.title for entry in CATALOGUE}
    title = f"{titles[baseline.feature]} ({baseline.feature})" if baseline.feature in titles else baseline.feature
    return title if baseline.sign > 0 else f"the less {title}, the better"


def preset(method_name: str, settings: Mapping[str, object]) -> str:
    """Return the name of the method's preset whose values are in `settings`; empty if there is none."""
    method = installed_method(method_name)
    presets = method.presets.items() if method else ()
    return next((each for each, values in presets if values.items() <= settings.items()), "")


def title(criterion: Criterion, max_length: int | None = None) -> str:
    """Return a criterion's title, cut after `max_length` characters; a remark says if "no" is the better answer."""
    words = excerpt(criterion.title, max_length) if max_length else criterion.title
    return f"{words} (no is better)" if criterion.question and criterion.question.better == "no" else words


def distinct_titles(titles: Mapping[str, str], max_length: int) -> dict[str, str]:
    """Return the cut titles of criteria by id; equal titles get the id appended."""
    cut_titles = {criterion_id: excerpt(words, max_length) for criterion_id, words in titles.items()}
    uses = Counter(cut_titles.values())
    return {each: f"{words} ({each})" if uses[words] > 1 else words for each, words in cut_titles.items()}


def contents(criteria: Sequence[Criterion]) -> str:
    """Return the numbers of criteria by kind, as `5 criteria` or `12 questions in 4 sub-dimensions`."""
    kinds = Counter[str](each.kind for each in criteria)
    traits = len({each.trait for each in criteria if each.kind == "question"})
    graded = "graded criterion" if len(kinds) > 1 else "criterion"
    words = {
        "hypothesis": count(kinds["hypothesis"], graded),
        "question": f"{count(kinds['question'], 'question')} in {count(traits, 'sub-dimension')}",
        "score": f"{count(kinds['score'], 'score')} of the whole text",
        "trait": count(kinds["trait"], "rated trait"),
        "feature": count(kinds["feature"], "text feature"),
    }
    return join_names(words[kind] for kind in words if kinds[kind])


def origin(evidence: Evidence) -> str:
    """Return the origin of a criterion, with the numbers of texts and findings that the generator saw."""
    seen = []
    if evidence.examples:
        seen.append(count(len(evidence.examples), "text"))
    if evidence.findings:
        seen.append(count(len(evidence.findings), "published finding"))
    if evidence.reasons:
        seen.append(count(len(evidence.reasons), "reason"))
    refined = f", refined {count(evidence.refined, 'time')}" if evidence.refined else ""
    return f"{evidence.origin}{f' ({join_names(seen)})' if seen else ''}{refined}"


def answers(evidence: Evidence) -> str:
    """Return the count of each answer on the training texts; empty if unknown."""
    if evidence.answers is None:
        return ""
    counts = evidence.answers
    shown = ("yes", "no", "n/a") if counts.get("n/a") else ("yes", "no")
    parts = [f"{counts.get(answer, 0)} {answer}" for answer in shown]
    return ", ".join([*parts, f"{evidence.missing} missing"] if evidence.missing else parts)


def weight(term: Term) -> str:
    return f"{percent(term.weight)} [{100 * term.low:z.0f}, {100 * term.high:z.0f} %]"


def limits(bounds: Bounds | None) -> str:
    """Return the limits that a user set for a weight; empty without limits."""
    if bounds is None:
        return ""
    low, high = bounds
    return f"pinned to {percent(low)}" if low == high else f"limited to {percent(low)} to {percent(high)}"


def rating_text(rating: CriterionRating | Cell, criterion: Criterion | None, *, of_whole_text: bool = True) -> str:
    """Return a rating: a score, or the answer to a question that was asked of the whole text."""
    if rating.score is None:
        return "none" if rating.applies else "n/a"
    if criterion is None or criterion.question is None or rating.score not in (0, 1) or not of_whole_text:
        return format_score(round(rating.score, 2))
    better = criterion.question.better
    return better if rating.score == 1 else {"yes": "no", "no": "yes"}[better]


def label(score: float, scale: Scale) -> str:
    return repr(scale.names[int(score)]) if scale.names and score in (0, 1) else rounded(score)


def scales(rubric: Rubric) -> str:
    score_scale, rating_scale = rubric.score_scale, rubric.scale
    if not score_scale.same_ends(rating_scale):
        return f"{score_scale.describe()}; criteria are asked on {rating_scale.describe()}"
    if rubric.aggregation and rating_scale.whole:
        ends = f"{format_score(rating_scale.low)} (lowest) to {format_score(rating_scale.high)} (highest)"
        return f"{ends}; ratings are whole numbers, scores are not"
    return rating_scale.describe()


def threshold(rubric: Rubric) -> str:
    """Return the score from which a text passes, and its origin; empty for a rubric without decisions."""
    names, aggregation = rubric.score_scale.names, rubric.aggregation
    if names is None or rubric.threshold is None:
        return ""
    origin = "learned from the labels" if aggregation and aggregation.threshold is not None else "not learned"
    if hand_set_threshold(aggregation) is not None:
        origin = "set by hand"
    return f"{names[1]!r} from a score of {figure(rubric.threshold)}, {origin}"


def transfer_summary(provenance: versions.Provenance) -> str:
    """Return how a version was transferred from its parent; empty if it was not."""
    transfer = provenance.transfer
    if transfer is None:
        return ""
    new_judge = f", calibrated for {transfer.judge}" if transfer.judge != provenance.judge else ""
    return f"{transfer.action} with {count(transfer.labels, 'label')} from a rubric of {transfer.aspect}{new_judge}"


def judge(provenance: versions.Provenance, name: str | None = None, address: str | None = None) -> str:
    """Return the words for a judge, by default the version's judge at learning; for a recording, with its model."""
    if not name:
        name, address = provenance.judge, provenance.judge_address
    if name == EMBEDDED:
        return f"{name} (offline, no language model)"
    if name.startswith(RECORDED):
        path, _, recorded_model = name.removeprefix(RECORDED).partition("#")
        model = recorded_model or join_names(provenance.model_versions) or "a language model"
        return f"{SAVED_ANSWERS} of {model} ({Path(path).name})"
    return judge_at(name, address)


def judge_option(version: Version | None) -> list[str]:
    """Return the option that commands on new texts need if the version's judge is a recording; else nothing."""
    return ["--judge", "MODEL"] if version and version.provenance.judge.startswith(RECORDED) else []


def data_options(version: Version | None, *, texts: bool = False) -> list[str]:
    """Return the options to read data as the training data were read; with `texts`, to read texts without labels."""
    option_names = {"mapping": "--map", "level_scores": "--levels"}
    options = dict(version.provenance.reading) if version and not version.imported else {}
    if texts:
        options["mapping"] = drop_rating_fields(options["mapping"]) if "mapping" in options else ""
        options.pop("level_scores", None)
    words: list[str] = []
    for name, value in options.items():
        if value or name != "mapping":  # an empty mapping is left out; any other option without a value is a flag
            words += filter(None, (option_names.get(name, f"--{name.replace('_', '-')}"), value))
    return words


def effort(spent: versions.Effort) -> str:
    calls = f"{count(spent.calls, 'call')} ({spent.cached:,} more answered from cache"
    numbers = {"failed": spent.failed, "repaired": spent.repaired}
    numbers["matched to criteria by name or order instead of id"] = spent.by_name_or_order
    calls += "".join(f", {number:,} {what}" for what, number in numbers.items() if number) + ")"
    tokens = f"{spent.prompt_tokens:,} + {spent.completion_tokens:,} tokens" if spent.calls else "no new tokens"
    answer_cache_tokens = sum(spent.stage_tokens.values()) - spent.prompt_tokens - spent.completion_tokens
    tokens += f" ({answer_cache_tokens:,} in answers from cache)" if answer_cache_tokens > 0 else ""
    if spent.cached_prompt_tokens or spent.saved_usd:
        effect = f"saved ${spent.saved_usd:.4f}" if spent.saved_usd >= 0 else f"cost ${-spent.saved_usd:.4f} more"
        money = f", which {effect}" if spent.saved_usd else ""
        tokens += f" ({spent.cached_prompt_tokens:,} read from the provider's prompt cache{money})"
    return f"{calls}, {tokens}, {cost(spent.cost_usd)}, {spent.seconds:,.0f} s"


def replies_by_template(spent: versions.Effort) -> str:
    """Return the numbers of replies and tokens by prompt template, the most replies first; empty if not recorded."""
    words = []
    for name, replies in sorted(spent.stages.items(), key=lambda entry: (-entry[1], entry[0])):
        tokens = spent.stage_tokens.get(name)
        words.append(f"{name} {replies:,}{f' ({tokens:,} tokens)' if tokens else ''}")
    return ", ".join(words)


class CallsPerText(NamedTuple):
    """The number of calls that score a text (`None` if not measured) and of their tokens (0 if unknown)."""

    calls: float | None = None
    tokens: float = 0.0

    def __str__(self) -> str:
        if self.calls is None:
            return "not measured"
        words = f"{calls(self.calls)} {'call' if self.calls == 1 else 'calls'} per text"
        return f"{words}, at learning about {self.tokens:,.0f} tokens" if self.tokens else words


def with_tokens(n_calls: float, spent: versions.Effort | None = None, template: str = "") -> CallsPerText:
    """Return the calls and an estimate of their tokens, from what calls with `template` took at learning (`spent`)."""
    if spent is None:
        return CallsPerText(n_calls)
    tokens_per_call = spent.stage_tokens.get(template, 0) / max(spent.stages.get(template, 1), 1)
    return CallsPerText(n_calls, float(f"{n_calls * tokens_per_call:.2g}"))  # two digits: an estimate


def scoring_calls(version: Version) -> CallsPerText:
    template = DIRECT_TEMPLATE if version.rubric.asks_directly else "single_call/judge"
    if version.provenance.validation:
        return with_tokens(version.provenance.validation.rubric.calls, version.effort, template)
    if [each.kind for each in version.rubric.criteria] != ["score"] * len(version.rubric.parts):
        return CallsPerText()  # the settings say how many calls only if each part is one score of the whole text
    n_calls = sum(HolisticSettings.model_validate(part.settings).calls for part in version.rubric.parts)
    return with_tokens(n_calls, version.effort, template)


def direct_calls(version: Version) -> CallsPerText:
    """Return the calls of the version's judge asked directly, as learning measured them."""
    validation = version.provenance.validation
    asked = [each for each in validation.evaluators if each.name == evaluation.DIRECT] if validation else []
    return with_tokens(asked[0].calls, version.effort, DIRECT_TEMPLATE) if asked else CallsPerText()


def saving(own: CallsPerText, other: CallsPerText) -> tuple[str, str]:
    """Return `2 instead of 5 calls per text` and `40 % of the calls`, or the same for tokens; "" if not fewer."""
    unit, amount, other_amount, about = "tokens", own.tokens, other.tokens, "about "
    if not (amount and other_amount):
        unit, amount, other_amount, about = "calls", own.calls or 0.0, other.calls or 0.0, ""
    if not 0 < amount < other_amount:
        return "", ""
    amounts = " instead of ".join(calls(each) if each < 1000 else f"{each:,.0f}" for each in (amount, other_amount))
    return f"{about}{amounts} {unit} per text", f"{percent(amount / other_amount)} of the {unit}"


def outcome(value: str) -> str:
    """Return an outcome as views word it: `not better` is "no real gain"."""
    return "no real gain" if value == "not better" else value


def error_name(measures: evaluation.Measures) -> str:
    return evaluation.TWO_LEVEL_MEASURES.error if measures == evaluation.TWO_LEVEL_MEASURES else "error"


def errors_words(errors: ScoreErrors, *, two_levels: bool = False) -> str:
    """Return mean absolute error, bias, and the share of texts near their labels; for two levels, percentage points."""
    if two_levels:
        figures = (errors.absolute.value, errors.absolute.low, errors.absolute.high)
        absolute = Interval(*(None if each is None else 100 * each for each in figures))
        return f"mean absolute error {estimate(absolute)} percentage points, bias {100 * errors.bias:+.1f}"
    distance = "one point" if errors.point == 1 else f"{errors.point:g} points (a fifth of the scale)"
    near = f"{percent(errors.near)} within {distance}"
    return f"mean absolute error {estimate(errors.absolute)} points, bias {signed(errors.bias)}, {near}"


def bases(results: Sequence[Result], refs_asking_directly: Iterable[str] = ()) -> list[str]:
    """Return the numbers of texts, groups and systems behind results, in one line if they are equal, and remarks.

    A remark names the versions by whose labels a free baseline was chosen or fitted. Versions in `refs_asking_directly`
    are named only if there are no others.
    """
    names_by_basis: dict[str, list[str]] = {}
    for result in results:
        agreement = result.agreement
        parts = [f"{count(agreement.n, 'text')} in {count(agreement.groups, 'group')}"]
        if agreement.systems is not None:
            parts.append(f"{count(agreement.systems, 'system')}; intervals say how figures vary with other systems")
        if agreement.level == "group":
            left_out = f"{count(agreement.constant_groups, 'group')} with constant labels left out"
            parts.append(left_out if agreement.constant_groups else "no group with constant labels")
            if agreement.single_groups:
                parts.append(f"{count(agreement.single_groups, 'group')} of one text left out")
        coefficients = (agreement.spearman, agreement.pearson, agreement.kendall)
        if agreement.too_few_groups:
            parts.append(f"too few groups for an interval ({agreement.groups}; {MIN_GROUPS} are needed)")
        elif any(each.value is not None and each.low is None for each in coefficients):
            no_spread = f"figures that stay the same, or become undefined, if one of the {agreement.unit} is left out"
            between_systems = "a correlation of 1 or of very few systems"
            parts.append(f"no interval for {no_spread if agreement.systems is None else between_systems}")
        parts.append(f"{count(result.unscored, 'text')} unscored" if result.unscored else "none unscored")
        if result.answers_missing:
            remark = "; scores rest on the others" if result.answers_missing < result.answers else ""
            parts.append(f"{result.answers_missing:,} of {count(result.answers, 'answer')} missing{remark}")
        names_by_basis.setdefault("; ".join(parts), []).append(evaluator_parts(result.evaluator)[0])
    remarks = []
    for name, note in dict.fromkeys(evaluator_parts(result.evaluator) for result in results):
        if note:
            words, separator, refs = note.partition("labels recorded with ")
            shown_refs = [ref for ref in refs.split(", ") if ref not in refs_asking_directly] or [refs]
            remarks.append(f"{name}: {words}{'training labels of ' if separator else ''}{join_names(shown_refs)}.")
    if len(names_by_basis) == 1:
        return [f"All on {next(iter(names_by_basis))}.", *remarks]
    return [*(f"{join_names(names)}: {basis}." for basis, names in names_by_basis.items()), *remarks]


def procedure(version: Version) -> str:
    """Return the level, the procedure and the numbers of texts and groups of the agreement that a version records."""
    validation = version.provenance.validation
    if validation is None:
        return ""
    level, groups = LEVELS[validation.level], count(validation.groups, "group")
    if version.provenance.transferred_unchanged:
        return f"{level}, on {count(validation.n, 'text')} of {groups}, to which it was not fitted"
    return f"{level}, cross-validated on its {count(validation.n, 'training text')} of {groups}"


@dataclass(frozen=True, slots=True)
class RecordedAgreement:
    """The agreement that a version records, and `how` it was measured."""

    measure: str
    level: str
    how: str  # such as "cross-validated" or "on labels not used for learning"
    value: Interval
    n: int
    errors: ScoreErrors | None = None

    @property
    def name(self) -> str:
        return f"{self.measure}, {self.level}, {self.how}"


def recorded_agreement(version: Version) -> RecordedAgreement | None:
    """Return the least optimistic agreement that a version records, `None` if it records none."""
    validation, agreement = version.provenance.validation, version.provenance.agreement
    if validation:
        how = "on labels not used for learning" if version.provenance.transferred_unchanged else "cross-validated"
        order, level, own = validation.measures.order, LEVELS[validation.level], validation.rubric
        return RecordedAgreement(order, level, how, own.order, validation.n, own.errors)
    if agreement is None:
        return None
    value, how = agreement.order, "on labels not used for learning"
    if agreement.optimistic:
        remark = LABELS_HELPED_PROPOSE if any(each.evidence.examples for each in version.rubric.criteria) else ""
        value, how = agreement.reselected, f"cross-validated{remark}"
    return RecordedAgreement(agreement.measure, LEVELS["dataset"], how, value, agreement.n)
