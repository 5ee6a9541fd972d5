"""The operation `evaluate`: how well rubrics agree with people's labels on texts that they were not learned from.

`evaluate` reads labelled texts, leaves out those that a rubric was learned from, and scores the others by each rubric.
The result is an `Evaluation`, whose figures and comparisons are computed in `rubriclab.learning.evaluation`. A verdict
is the outcome of the comparison of a rubric with a baseline; the store keeps it beside the version as a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from rubriclab.data.check import level_order_notes
from rubriclab.display import Displayed
from rubriclab.errors import DataError, NotInStore, StoreError
from rubriclab.judges.cache import short_judge_name
from rubriclab.learning import evaluation as figures
from rubriclab.learning.estimate import DryRun, dry_run, estimate_scoring
from rubriclab.learning.scoring import TEXT_NOT_ASSESSED, Score
from rubriclab.methods.catalogue import has_seen_labels
from rubriclab.models import evaluation as verdicts
from rubriclab.models.characters import count
from rubriclab.models.text import Example, data_digest, with_label, words_digest
from rubriclab.models.version import Effort, Version
from rubriclab.ops import inputs, workspace as work
from rubriclab.ops.inputs import Data, check_labels, check_text_fields, own_mapping, propose_label_mapping, usable_texts
from rubriclab.ops.options import EvaluateOptions, ScoreOptions
from rubriclab.ops.score import Scoring
from rubriclab.stats.intervals import MIN_GROUPS


@dataclass(frozen=True, repr=False)
class Evaluation(work.JudgedResult, Displayed):
    """Agreement of rubrics with human scores; each rubric is evaluated on the `examples` with a label of its aspect."""

    versions: tuple[Version, ...]
    examples: tuple[Example, ...]
    scores: Mapping[str, tuple[Score, ...]]  # of these examples, by the rubric's reference
    effort: Effort  # calls, tokens, money and time that the command used
    unanswered: str | None = None  # the error's message if a judge gave no usable reply
    # By the rubric's reference: the earlier record that the store keeps instead of the new one, and the reason.
    kept: dict[str, tuple[verdicts.EvaluationRecord, str]] = field(default_factory=dict)
    file: str = ""  # the name of the texts' file

    @cached_property
    def scored(self) -> list[figures.ScoredVersion]:
        scored = []
        for version in self.versions:
            texts = with_label(self.examples, version.rubric.aspect.name)
            scored.append(figures.ScoredVersion(version, texts, self.scores[version.ref]))
        return scored

    @cached_property
    def results(self) -> list[figures.Result]:
        """The agreement of rubrics, then of free baselines, with the labels of each aspect."""
        results: list[figures.Result] = []
        for aspect, scored, free_baselines in self.by_aspect:
            rubrics = []
            for each in scored:
                answers_missing = sum(score.answers_missing for score in each.scores)
                answers = sum(score.answers for score in each.scores)
                rubrics.append(figures.Evaluator(each.name, each.values, answers_missing, answers))
            results += figures.measure_agreement(scored[0].texts, [*rubrics, *free_baselines], aspect)
        return results

    @property
    def graded(self) -> list[figures.ScoredVersion]:
        """The scored versions whose labels have more than two levels."""
        return [each for each in self.scored if not each.scale.has_two_levels]

    @cached_property
    def calibrated(self) -> list[figures.ScoredVersion]:
        """The judges asked directly, with calibrated scores."""
        return figures.calibrated_direct(self.graded)

    @cached_property
    def summaries(self) -> Mapping[str, figures.EvaluationSummary | None]:
        """The comparisons of each aspect's rubrics, `None` if no correlation is defined."""
        return {aspect: figures.summarize(scored, self.results, free) for aspect, scored, free in self.by_aspect}

    @cached_property
    def decisions(self) -> list[figures.EvaluatedDecisions]:
        """The agreement of pass and fail with the labels, for each aspect whose rubrics have a threshold."""
        by_aspect = (figures.evaluate_decisions(scored, baselines) for _, scored, baselines in self.by_aspect)
        return [decisions for decisions in by_aspect if decisions]

    @cached_property
    def by_aspect(self) -> list[tuple[str, list[figures.ScoredVersion], list[figures.Evaluator]]]:
        """Each aspect with its scored versions and the free baselines, whose scores are computed here."""
        by_aspect = []
        for aspect in dict.fromkeys(each.aspect for each in self.scored):
            scored = [each for each in self.scored if each.aspect == aspect]
            recorded_baselines = {each.version.ref: each.version.provenance.baseline for each in scored}
            by_aspect.append((aspect, scored, figures.baseline_evaluators(scored[0].texts, recorded_baselines)))
        return by_aspect

    def records(self) -> dict[str, verdicts.EvaluationRecord]:
        """Return a record to store for each version whose verdict counts; see `ScoredVersion.why_uncounted`."""
        fields: dict[str, dict[str, Any]] = {}
        for summary in self.summaries.values():
            if summary is None or summary.scale.has_two_levels:
                continue
            for compared in summary.evaluators:
                if (comparison := compared.deciding_comparison) and comparison.verdict:
                    fields[compared.ref] = {
                        "n": compared.result.agreement.n,
                        "groups": compared.result.agreement.groups,
                        "order": compared.result.agreement.pearson,
                        "errors": summary.errors.get(compared.ref),
                        "level": summary.level,
                        "verdict": comparison.verdict,
                        "other": comparison.figures_of_other,  # the evaluator compared with
                        "compared_with_direct": compared.compared_with_direct,
                    }
        for rubric in (rubric for decisions in self.decisions for rubric in decisions.rubrics):
            if rubric.verdict:
                fields[rubric.agreement.name] = {
                    **rubric.counts,
                    "order": rubric.agreement.auroc,
                    "decisions": rubric.agreement,
                    "level": "dataset",
                    "verdict": rubric.verdict,
                    "other": rubric.other,  # the evaluator compared with
                    "compared_with_direct": rubric.compared_with_direct,
                }
        return {
            scored.name: verdicts.EvaluationRecord(
                created=datetime.now(UTC),
                judge=scored.scores[0].judge,
                data=data_digest(scored.texts, scored.aspect),
                file=self.file,
                points=() if scored.scale.has_two_levels else scored.points,
                **fields[scored.name],
            )
            for scored in self.scored
            if scored.name in fields and not scored.why_uncounted
        }

    def to_row(self) -> dict[str, Any]:
        """Return the figures of the report; for labels of two levels, these are the figures of decisions."""
        graded_version_by_aspect = {each.aspect: each for each in self.graded}
        results = [result.to_row() for result in self.results if result.aspect in graded_version_by_aspect]
        comparisons: list[dict[str, Any]] = []
        for aspect, summary in self.summaries.items():
            if summary and aspect in graded_version_by_aspect:
                comparisons += summary.to_rows()
        for decisions in self.decisions:
            results += decisions.to_rows()
            comparisons += [row for _, row in decisions.comparisons]
        row: dict[str, Any] = {"results": results, "comparisons": comparisons}
        if graded_version_by_aspect:
            measured = [(each.name, each, each.errors, each.error_counts) for each in (*self.graded, *self.calibrated)]
            for each in graded_version_by_aspect.values():  # all versions of an aspect have the same raters
                measured += [(verdicts.SINGLE_RATERS, each, each.rater_errors, each.rater_counts)]
            row["errors"] = [
                {"evaluator": name, "aspect": each.aspect, "level": "dataset", **counts, **asdict(errors)}
                for name, each, errors, counts in measured
                if errors
            ]
        return row


def evaluate(
    workspace: work.Workspace, data: Data, rubrics: str | Version | Sequence[str | Version], options: EvaluateOptions
) -> work.Job[Evaluation]:
    """Return how well rubrics agree with the human scores of texts that no rubric was learned from."""
    versions = work.load_versions(workspace, rubrics)
    choices = [work.choose_judge(version, options.judge, workspace.store, workspace.notify) for version in versions]
    # All rubrics of an aspect are compared on the same labels.
    scale_by_aspect = {version.rubric.aspect.name: version.rubric.score_scale for version in versions}
    for version in versions:
        if version.rubric.score_scale.names != scale_by_aspect[version.rubric.aspect.name].names:
            fault = f"{version.ref} and another rubric of its aspect take labels of different scales."
            raise DataError(fault, "Evaluate each on labels of its own scale.")
    options = inputs.accept_level_names(options, *scale_by_aspect.values())
    try:
        examples = usable_texts(data, options, scale_by_aspect.items(), workspace.notify)
    except DataError as error:
        if mapping := own_mapping(versions[0], data, options):
            raise DataError(error.message, f"Map the columns as for {versions[0].ref}: `mapping={mapping}`.") from None
        raise
    # Figures on texts that a rubric was learned from would be optimistic.
    provenances = [version.provenance for version in versions if has_seen_labels(version.rubric)]
    training_digests = {digest for provenance in provenances for digest in provenance.texts}
    n_repeated = sum(words_digest(each) in training_digests for each in examples)
    repeated_texts = f"{count(n_repeated, 'text')} equal to a training text"
    unseen = figures.unseen_examples(examples, versions)
    evaluated = examples if options.include_training else unseen
    if options.include_training and n_repeated:
        workspace.notify(f"{repeated_texts}: figures on these are optimistic")
    if not evaluated:
        hint = "Give texts of other groups, or `include_training` for an optimistic figure."
        raise DataError(f"All {len(examples)} usable rows belong to groups that the rubrics have learned from.", hint)
    if n_left_out := len(examples) - len(evaluated):
        detail = f" ({repeated_texts})" if n_repeated else ""
        reason = f"a rubric was learned from them or their groups{detail}"
        workspace.notify(f"{n_left_out} of {len(examples)} texts left out: {reason}")
    texts = _labelled_texts_by_version(evaluated, versions, data, options, workspace.notify)
    scorings = [  # `rivals`: whether the texts of one group are rated in one call, or each in its own
        Scoring(workspace, texts[each.ref], each.rubric, each.ref, choice, ScoreOptions(rivals=options.rivals))
        for each, choice in zip(versions, choices, strict=True)
    ]

    def estimate() -> DryRun:
        roles = {
            each.name: (each.choice.spec, estimate_scoring(each.rubric, texts[each.name], each.rivals))
            for each in scorings
        }
        return dry_run(roles, workspace.options)

    async def run() -> Evaluation:
        scores: dict[str, tuple[Score, ...]] = {}
        for scoring in scorings:
            scores[scoring.name] = tuple([scored.score async for scored in scoring.stream()])
            if n_not_assessed := sum(score.unscored == TEXT_NOT_ASSESSED for score in scores[scoring.name]):
                n_texts = count(n_not_assessed, "text")
                workspace.notify(f"{scoring.name}: {n_texts} left out of all figures, as the judge cannot assess them")
        unanswered = next((scoring.unanswered for scoring in scorings if scoring.unanswered), None)
        file = Path(data).name if isinstance(data, str | Path) and str(data) != "-" else ""
        evaluation = Evaluation(versions, evaluated, scores, workspace.effort(), unanswered, file=file)
        if len(evaluated) == len(unseen):  # verdicts on training texts are not stored
            await workspace.off_event_loop(_store_verdicts, workspace, evaluation)
        return evaluation

    return work.Job(estimate, run)


def reason_to_keep(earlier: verdicts.EvaluationRecord, record: verdicts.EvaluationRecord) -> str:
    """Return why the store keeps an earlier record, such as "is on more texts"; empty if the new one replaces it."""
    if record.groups < MIN_GROUPS <= earlier.groups:
        return f"is on texts of {MIN_GROUPS} groups or more"
    if earlier.compared_with_direct != record.compared_with_direct:
        return "compares with the same judge asked directly" if earlier.compared_with_direct else ""
    # Of two records on the same data, the new one is kept, even if an older release of rubriclab counted more texts.
    has_more_texts = (earlier.groups, earlier.n) > (record.groups, record.n)
    return "is on more texts" if earlier.data != record.data and has_more_texts else ""


def _store_verdicts(workspace: work.Workspace, evaluation: Evaluation) -> None:
    versions = {version.ref: version for version in evaluation.versions}
    for scored in evaluation.scored:
        if scored.why_uncounted:
            workspace.notify(f"the store keeps no verdict on {scored.version.ref}, as {scored.why_uncounted}")
    for ref, record in evaluation.records().items():
        try:
            earlier = workspace.store.load(ref).evaluation
            if earlier and short_judge_name(earlier.judge) == short_judge_name(record.judge):
                verdict = f"the verdict on {ref} on {count(earlier.n, 'text')} of {count(earlier.groups, 'group')}"
                if reason := reason_to_keep(earlier, record):
                    evaluation.kept[ref] = earlier, reason
                    workspace.notify(f"the store keeps {verdict}, which {reason}")
                    continue
                workspace.notify(f"the store replaces {verdict}")
            workspace.store.add_evaluation(versions[ref], record)
        except NotInStore:
            continue  # The store does not have this version.
        except StoreError as error:
            workspace.notify(f"the store does not keep the verdict on {ref}: {error.message}")


def _labelled_texts_by_version(
    examples: Sequence[Example], versions: Sequence[Version], data: Data, options: EvaluateOptions, notify: work.Notify
) -> dict[str, tuple[Example, ...]]:
    texts = {version.ref: with_label(examples, version.rubric.aspect.name) for version in versions}
    for version in versions:
        labelled_texts, aspect = texts[version.ref], version.rubric.aspect.name
        if not labelled_texts:
            mapping = propose_label_mapping(data, options, aspect) or f"scores.{aspect}=COLUMN"
            hint = f"Map the column with these scores: `mapping={mapping}`."
            raise DataError(f"No text to evaluate {version.ref} on has a score for {aspect!r}.", hint)
        check_labels([text.scores[aspect] for text in labelled_texts], version.rubric, version.ref)
        for note in level_order_notes(labelled_texts, aspect):
            notify(note)
        if len({text.group for text in labelled_texts}) == len(labelled_texts):
            advice = "give `group` or `source` to compare outputs for the same input"
            notify(f"{version.ref}: every text is a group of its own; {advice}")
        if any(text.system is None for text in labelled_texts):
            notify(f"{version.ref}: no comparison of systems, as some texts name no system")
        check_text_fields(version, labelled_texts, data, options, notify=notify)
    return texts
