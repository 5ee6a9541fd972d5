"""How far rubrics and baselines agree with people on texts that the rubrics have not seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rubriclab.learning.scoring import CriterionScore, Score
from rubriclab.learning.verdicts import LevelAgreement, level_agreement, verdict_statistic
from rubriclab.models.aggregation import Term
from rubriclab.models.characters import count, listed
from rubriclab.models.rubric import Criterion
from rubriclab.models.text import Example, labelled
from rubriclab.models.version import RecordedText
from rubriclab.ops.evaluate import Evaluation, Result, baseline_evaluators
from rubriclab.report import charts, describe, version as versions, wording
from rubriclab.report.conclusion import outcome
from rubriclab.report.model import (
    Basis,
    Block,
    Details,
    Drawing,
    Figure,
    Paragraph,
    Plot,
    Row,
    Section,
    Stack,
    Table,
    View,
    Words,
    line,
    paragraphs,
    quiet,
    quoted,
    table,
)
from rubriclab.report.recorded import score_axis_of
from rubriclab.report.render import COMPARED_WITH
from rubriclab.report.summary import EvaluationSummary, sentences, summarize
from rubriclab.report.texts import (
    MOST_SHOWN,
    TITLE,
    CriterionRow,
    JudgedText,
    criterion_agreements,
    distance,
    error_sentence,
    errors_of,
    human_scores,
    judged_texts,
    rubric_scores,
    text_card,
)
from rubriclab.report.verdict_agreement import evaluated_verdicts, level_section

if TYPE_CHECKING:
    from rubriclab.methods.method import UnitVerdict
    from rubriclab.models.version import Version

FREE_BASELINES = "free baselines:"
COEFFICIENTS = ("spearman", "pearson", "kendall")
MOST_UNSCORED = 50


def brief_view(evaluation: Evaluation) -> View:
    """Return every figure, and in words which rubric agrees best and whether it is above the baselines."""
    given = evaluation.versions, evaluation.results, evaluation.scores, evaluation.examples
    return evaluation_view(*given, brief=True)


def evaluation_view(
    versions: Sequence[Version],
    results: Sequence[Result],
    scored: Mapping[str, Sequence[Score]],
    examples: Sequence[Example],
    *,
    brief: bool = False,
) -> View:
    """Return the evaluation of `versions`: a summary, every figure, and details of each rubric.

    Args:
        versions: the rubrics that were evaluated.
        results: their agreement with people and that of the free baselines; see `rubriclab.ops.evaluate.evaluate`.
        scored: by `NAME@NUMBER`, the scores of `examples`, or of those with a label, in their order.
        examples: the texts, with labels for the rubrics' aspects.
        brief: whether to leave out the parts on single rubrics, which take time to compute.

    Raises:
        ValueError: scores are missing for a version, or belong to other texts.
    """
    summaries = evaluation_summaries(versions, results, scored, examples)
    title = ("Agreement with the labels of ", quoted(listed(summaries)) if summaries else "")
    errors = paragraphs(
        error_sentence(version, _texts(version, scored, examples))
        for version in versions
        if not version.rubric.scores_on.names
    )
    verdicts = [section for section, _ in evaluations_of_verdicts(versions, scored, examples)]
    graded = {version.rubric.aspect.name for version in versions if not version.rubric.scores_on.names}
    summary = Section(
        "Summary",
        (*_summaries({name: each for name, each in summaries.items() if name in graded}), *errors),
        name="summary",
    )
    correlations = [result for result in results if result.aspect in graded]
    by_version = [(version, _texts(version, scored, examples)) for version in versions]
    levels = [
        section for version, texts in by_version for section in level_section(_few_levels(version, texts), version.ref)
    ]
    if brief:
        blocks = (*verdicts, *((*_levels(correlations), *levels, summary) if graded else ()))
        return View(title, blocks, "rubriclab evaluation")
    rubrics = (
        _rubric(number, version, _texts(version, scored, examples), summaries[version.rubric.aspect.name])
        for number, version in enumerate(versions, 1)
    )
    agreement = Section("Agreement by level", _levels(correlations), name="agreement")
    blocks = (*verdicts, *((summary, agreement, *levels) if graded else ()), *rubrics)
    return View(title, blocks, "rubriclab evaluation")


def evaluation_summaries(
    versions: Sequence[Version],
    results: Sequence[Result],
    scored: Mapping[str, Sequence[Score]],
    examples: Sequence[Example],
) -> dict[str, EvaluationSummary | None]:
    """Return the summary of each aspect, `None` if no correlation is defined; arguments as for `evaluation_view`.

    Raises:
        ValueError: scores are missing for a version, or belong to other texts.
    """
    texts = {version.ref: _texts(version, scored, examples) for version in versions}
    aspects = dict.fromkeys(version.rubric.aspect.name for version in versions)
    return {aspect: _summary(aspect, versions, results, texts, examples) for aspect in aspects}


def evaluations_of_verdicts(
    versions: Sequence[Version], scored: Mapping[str, Sequence[Score]], examples: Sequence[Example]
) -> Iterator[tuple[Section, list[dict[str, Any]]]]:
    """Yield how the verdicts on each aspect agree with people's, also as JSON; arguments as for `evaluation_view`."""
    for aspect in dict.fromkeys(version.rubric.aspect.name for version in versions):
        chosen = [version for version in versions if version.rubric.aspect.name == aspect]
        rubrics = {each.ref: (each.rubric, rubric_scores(_texts(each, scored, examples))) for each in chosen}
        best = {version.ref: version.provenance.baseline for version in chosen if version.provenance.baseline}
        texts = [text.example for text in _texts(chosen[0], scored, examples)]
        if found := evaluated_verdicts(aspect, rubrics, baseline_evaluators(texts, best), texts):
            yield found


def error_rows(
    versions: Sequence[Version], scored: Mapping[str, Sequence[Score]], examples: Sequence[Example]
) -> list[dict[str, Any]]:
    """Return the errors of graded rubrics in points of their scales; arguments as for `evaluation_view`."""
    return [
        {"evaluator": version.ref, "aspect": version.rubric.aspect.name, **asdict(errors)}
        for version in versions
        if not version.rubric.scores_on.names and (errors := errors_of(version, _texts(version, scored, examples)))
    ]


def _few_levels(version: Version, texts: Sequence[JudgedText]) -> LevelAgreement | None:
    """Return how a rubric's scores of few levels agree with people's; `None` for other scales."""
    groups, scale = [text.example.group for text in texts], version.rubric.scores_on
    return level_agreement(rubric_scores(texts), human_scores(texts), groups, scale)


def _levels(results: Sequence[Result]) -> tuple[Block, ...]:
    several = len({result.aspect for result in results}) > 1
    levels = tuple(_level(*block, several=several) for block in wording.blocks(results))
    return levels or (Paragraph("Nothing was evaluated."),)


def _texts(version: Version, scored: Mapping[str, Sequence[Score]], examples: Sequence[Example]) -> list[JudgedText]:
    if version.ref not in scored:
        known = ", ".join(scored) or "none"
        raise ValueError(f"scored: expected the scores of {version.ref!r} too, got those of {known}")
    return judged_texts(examples, scored[version.ref], version.ref, version.rubric.aspect.name)


def _summary(
    aspect: str,
    versions: Sequence[Version],
    results: Sequence[Result],
    texts: Mapping[str, Sequence[JudgedText]],
    examples: Sequence[Example],
) -> EvaluationSummary | None:
    chosen = [version for version in versions if version.rubric.aspect.name == aspect]
    # The scores of the free baselines, which the comparison needs and the results do not contain.
    best = {version.ref: version.provenance.baseline for version in chosen if version.provenance.baseline}
    baselines = baseline_evaluators(labelled(examples, aspect), best)
    return summarize(aspect, chosen, [result for result in results if result.aspect == aspect], texts, baselines)


def _summaries(summaries: Mapping[str, EvaluationSummary | None]) -> Iterator[Block]:
    for aspect, summary in summaries.items():
        blocks = tuple(_summary_blocks(aspect, summary))
        yield Section(quoted(aspect), blocks) if len(summaries) > 1 else Stack(blocks)


def _summary_blocks(aspect: str, summary: EvaluationSummary | None) -> Iterator[Block]:
    if summary is None:
        yield Paragraph(
            (
                "No correlation with the labels of ",
                quoted(aspect),
                " is defined on these texts: too few of them are scored, or the scores do not differ.",
            ),
            "lead",
        )
        return
    first, *others = sentences(summary)
    yield Paragraph(first, "lead")
    yield from paragraphs(others)
    yield Paragraph("In brackets, 95 % intervals.", "quiet")
    if summary.comparisons:
        yield Details("Paired differences", (_comparisons(summary),))


def _comparisons(summary: EvaluationSummary) -> Table:
    rows = []
    for ref, each in summary.comparisons:
        other = wording.evaluator_parts(each.other.evaluator)[0]
        basis = Basis(other, summary.aspect, summary.level, each.n, each.groups)
        p = "" if each.p is None else f"{each.p:.3f}"
        rows.append(Row((quoted(ref), quoted(other), Figure(each.difference), p, each.verdict), basis=basis))
    return table(
        ("", COMPARED_WITH, "Spearman", "permutation p", "verdict"), rows, numeric=("Spearman", "permutation p")
    )


def _level(aspect: str, level: str, results: Sequence[Result], *, several: bool) -> Section:
    title = wording.LEVELS[level].capitalize()
    return Section(
        (quoted(f"{aspect}: "), title) if several else title,
        (
            _coefficients(results),
            *_pairs(results),
            *paragraphs(
                (*_ceiling(results), *_soft_pairs(results), *wording.bases(results), *wording.remarks(results)), "quiet"
            ),
        ),
        wording.LEVEL_NOTES[level],
    )


def _ceiling(results: Sequence[Result]) -> Iterator[str]:
    ceiling = results[0].ceiling
    if ceiling and ceiling.value is not None:
        yield f"As the raters differ, a perfect judge would reach a Pearson correlation of {wording.estimate(ceiling)}."


def _soft_pairs(results: Sequence[Result]) -> Iterator[str]:
    found = [result for result in results if result.soft_pairwise is not None]
    shown = [f"{wording.evaluator_parts(each.evaluator)[0]} {wording.figure(each.soft_pairwise)}" for each in found]
    if shown:
        yield f"Soft pairwise accuracy: {listed(shown)}."


def _coefficients(results: Sequence[Result]) -> Table:
    axis = charts.correlation_axis(result.agreement.spearman for result in results)
    rows: list[Row | str] = []
    for result in results:
        baseline = wording.is_baseline(result.evaluator)
        if baseline and FREE_BASELINES not in rows:
            rows.append(FREE_BASELINES)
        name, _ = wording.evaluator_parts(result.evaluator)
        drawing = Drawing(charts.whisker(axis, result.agreement.spearman, baseline=baseline))
        figures = (Figure(getattr(result.agreement, coefficient)) for coefficient in COEFFICIENTS)
        rows.append(Row((quoted(name), drawing, *figures), "baseline" if baseline else "", _basis(result)))
    numeric = [coefficient.title() for coefficient in COEFFICIENTS]
    caption = "Spearman: filled dots are rubrics, hollow diamonds free baselines; lines are 95 % intervals."
    return table(
        ("", "", *numeric),
        rows,
        numeric=numeric,
        caption=caption,
        ticks=charts.tick_row(axis),
    )


def _pairs(results: Sequence[Result]) -> Iterator[Block]:
    """Yield how many pairs of a group's texts each evaluator orders as people do."""
    found = [(result, result.pairwise) for result in results if result.pairwise and result.pairwise.pairs]
    if not found:
        return
    columns = ("accuracy", "optimistic", "tie up to")
    rows = []
    for result, pairs in found:
        numbers = (wording.figure(pairs.optimistic), f"{pairs.threshold:.3g}")
        name, _ = wording.evaluator_parts(result.evaluator)
        basis = Basis(aspect=result.aspect, level="group", n=result.agreement.n, groups=pairs.groups)
        rows.append(Row((quoted(name), Figure(pairs.held_out), *numbers), basis=basis))
    caption = (
        "Share of pairs within groups that have the order of the labels, or are tied as they are. Scores that differ "
        "by at most a threshold are a tie. It is chosen on the other groups; for the optimistic figure, on the same."
    )
    yield Section("Pairwise accuracy", (table(("", *columns), rows, numeric=columns), Paragraph(caption, "quiet")))


def _basis(result: Result) -> Basis:
    found = result.agreement
    return Basis(aspect=result.aspect, level=found.level, n=found.n, groups=found.groups)


def _rubric(number: int, version: Version, texts: Sequence[JudgedText], summary: EvaluationSummary | None) -> Section:
    """Return what the page shows of one rubric; its criteria in full are on the page of `rubriclab report`."""
    learned = Section("When it was learned", outcome(version), "not on the texts of this page")
    blocks: list[Block] = [versions.definition(version.rubric), learned]
    pairs = [(text.human, text.score.score) for text in texts if text.score.score is not None]
    if pairs and not version.rubric.scores_on.names:
        caption = (
            "Each dot is a text; texts of equal scores share a dot, which is darker the more there are. On the broken "
            "line both scores are equal."
        )
        plot = Plot(caption, charts.scatter(pairs, version.rubric.scores_on, "rubric score"))
        blocks.append(Section("Score by score", (plot,), page_only=True))
    if summary:
        blocks += _criteria(version, texts, summary)
    blocks += _disagreements(version, texts)
    blocks.append(Section("Unscored texts", tuple(_unscored(texts))))
    judges = [text.score.judge for text in texts] or ["no judge"]
    blocks.append(Section("Provenance", (versions.facts(version, judges),)))
    title = line(quoted(version.ref), *(quoted(tag, "tag") for tag in version.tags))
    return Section(title, tuple(blocks), name=f"rubric-{number}", page_only=True)


def _criteria(version: Version, texts: Sequence[JudgedText], summary: EvaluationSummary) -> Iterator[Section]:
    """Yield the weight of each criterion and how far it agrees with people by itself, beside the rubric."""
    constant = summary.evaluators[0].result.agreement.constant
    rows = criterion_agreements(version.rubric, texts, summary.level, constant)
    if len(rows) < 2:
        return
    of_verdicts = version.rubric.scores_on.names is not None
    whole = [row.result.agreement.spearman for row in summary.evaluators if row.ref == version.ref]
    if of_verdicts:
        groups = [text.example.group for text in texts]
        whole = [verdict_statistic("AUROC", [rubric_scores(texts)], human_scores(texts), groups)]
    axis = charts.correlation_axis([*(row.agreement for row in rows), *whole])
    terms = describe.terms(version.rubric)
    shown = [_criterion(axis, row, terms.get(row.id)) for row in rows]
    shown += [Row(("the rubric", Drawing(charts.bar(axis, each, total=True)), Figure(each)), "total") for each in whole]
    name, level = ("AUROC", "dataset") if of_verdicts else ("Spearman", summary.level)
    drawn = table(("", "", name), shown, numeric=(name,), ticks=charts.tick_row(axis))
    note = f"{wording.LEVELS[level]}, with 95 % intervals"
    yield Section("Criterion by criterion", (drawn,), note, page_only=True)


def _criterion(axis: charts.Axis, row: CriterionRow, term: Term | None) -> Row:
    title = describe.title(row.criterion, TITLE) if row.criterion else wording.excerpt(row.id, TITLE)
    remarks = [row.id, f"weight {describe.percent(term.weight)}" if term else ""]
    remarks += [f"{row.inapplicable} n/a" if row.inapplicable else ""]
    remarks += [f"{count(row.unscored, 'text')} unscored" if row.unscored else ""]
    name = line(quoted(title), quoted(", ".join(filter(None, remarks)), "quiet"))
    return Row((name, Drawing(charts.bar(axis, row.agreement, total=False)), Figure(row.agreement)))


def _disagreements(version: Version, texts: Sequence[JudgedText]) -> Iterator[Section]:
    pairs = [(_recorded(text), text.score.criteria) for text in texts]
    differing = [pair for pair in pairs if distance(pair[0])]
    shown = sorted(differing, key=lambda pair: (-distance(pair[0]), pair[0].id))[:MOST_SHOWN]
    if not shown:
        return
    about = (
        f"Scores furthest from the labels, in points of the scale from {version.rubric.scores_on.describe()}. Hollow "
        "is the label, filled is the rubric with its interval."
    )
    criteria = {criterion.id: criterion for criterion in version.rubric.criteria}
    axis = score_axis_of(version, [text for text, _ in pairs])
    cards = (
        text_card(axis, version.rubric.scores_on, text, [_answer(part, criteria.get(part.id)) for part in parts])
        for text, parts in shown
    )
    yield Section("Largest disagreements with people", (Paragraph(about), *cards), page_only=True)


def _recorded(text: JudgedText) -> RecordedText:
    example, (low, high) = text.example, text.score.interval or (None, None)
    return RecordedText(
        id=example.id,
        group=example.group,
        output=example.output,
        source=example.source,
        label=text.human,
        predicted=text.score.score,
        low=low,
        high=high,
    )


def _answer(part: CriterionScore, criterion: Criterion | None) -> tuple[Words, Words, Stack]:
    title = quoted(describe.title(criterion, TITLE)) if criterion else ""
    name = line(quoted(part.id, "id" if criterion else ""), title)
    added = quiet(f"added {part.contribution:+.2f}") if part.contribution is not None else ""
    answer = line(describe.answered(part, criterion, whole=not part.units), added)
    failing_first = sorted(part.units, key=lambda unit: 1.0 if unit.value is None else unit.value)
    return name, answer, Stack((Paragraph(quoted(part.reason)), *map(_unit, failing_first)))


def _unit(unit: UnitVerdict) -> Paragraph:
    support = f"(by: {'; '.join(unit.support)})" if unit.support else ""
    text = quoted(f"“{wording.excerpt(unit.unit)}”")
    return Paragraph(line(describe.verdict(unit), text, quoted(unit.reason, "quiet"), quoted(support, "quiet")))


def _unscored(texts: Sequence[JudgedText]) -> Iterator[Block]:
    missing = [text for text in texts if text.score.score is None]
    if not missing:
        yield Paragraph(f"All {count(len(texts), 'text')} have a score.")
        return
    number = f"{count(len(missing), 'text')} of {len(texts)} without a score"
    yield Paragraph(f"{number}; every figure leaves them out.", "quiet")
    rows = [(quoted(text.example.id), quoted(text.score.unscored or "")) for text in missing[:MOST_UNSCORED]]
    yield table(("text", "why"), rows)
    if (more := len(missing) - MOST_UNSCORED) > 0:
        yield Paragraph(f"And {more} more.", "quiet")
