"""MLflow (`pip install 'rubriclab[mlflow]'`): a scorer for evaluations, and versions in runs and in the registry."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import PrivateAttr

from rubriclab.errors import PackError
from rubriclab.integrations.evaluator import Closing, OpenRubric, RowFunction, row_of_text
from rubriclab.integrations.library import imported_from
from rubriclab.integrations.rationale import rationale
from rubriclab.judges.connect import EMBEDDED
from rubriclab.judges.recording import recorded_name
from rubriclab.lab import Lab
from rubriclab.provenance import Provenance
from rubriclab.rubric import Rubric
from rubriclab.scoring import Score
from rubriclab.services.rubric_choice import RubricLike
from rubriclab.services.scores import criterion_cells
from rubriclab.services.text_scorer import TextScorer
from rubriclab.stats.interval import Interval
from rubriclab.store import Version

with imported_from("MLflow", "mlflow"):
    import mlflow
    from mlflow import MlflowClient
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback, Trace
    from mlflow.exceptions import MlflowException
    from mlflow.genai.scorers import Scorer

# The code of the error of a text without a score.
UNSCORED = "UNSCORED"
FOLDER = "rubriclab"
# The verdict of a version that never went through the gate.
NOT_COMPARED = "not compared"


class MLflowScorer(Scorer, Closing):  # type: ignore[misc]
    """A scorer for `mlflow.genai.evaluate`; close it at the end, or use it in a `with` statement.

    It returns one feedback for each text: the score, its rationale, and metadata. The metadata are texts:
    `rubriclab.rubric`, `rubriclab.judge`, `rubriclab.low` and `rubriclab.high` (the interval), and for each criterion
    its score under its id, `ID.contribution`, in points, and `ID.reason`. A text without a score has no value but an
    error with the code `UNSCORED` and the reason.

    Args:
        at_least: the lowest score that passes in `EvaluationResult.passed`, on the scale of the rubric; by default no
            score passes, as MLflow knows no scale.
        row: returns the row of a text, given `inputs`, `outputs`, `expectations` and `trace` by name; by default
            `row_of`.
        options: the other arguments of `OpenRubric`.

    Attributes:
        rubric: `NAME@NUMBER`.
        judge: the name of the judge.
        at_least: the lowest score that passes; `None` if none was given.

    Raises:
        SettingsError: also for a threshold that is not on the scale.
    """

    rubric: str
    judge: str
    at_least: float | None = None
    _open: OpenRubric = PrivateAttr()
    _row: RowFunction = PrivateAttr()

    def __init__(
        self,
        rubric: RubricLike | TextScorer,
        *,
        at_least: float | None = None,
        row: RowFunction | None = None,
        **options: Any,
    ) -> None:
        found = OpenRubric(rubric, **options)
        opened = found.opened
        if at_least is not None:
            try:
                opened.check_threshold(at_least)
            except BaseException:
                found.close()
                raise
        super().__init__(
            name=found.name,
            description=f"The {opened.rubric.aspect.name} of a text, scored by {opened.name}.",
            # Each request has a time limit and is repeated a limited number of times; MLflow would drop a late score.
            timeout=0,
            rubric=opened.name,
            judge=recorded_name(opened.judge),
            at_least=at_least,
        )
        self._open, self._row = found, row or row_of
        if at_least is not None:
            self._pass_if = lambda value: value is not None and value >= at_least

    def __call__(
        self, *, inputs: Any = None, outputs: Any = None, expectations: Any = None, trace: Trace | None = None
    ) -> Feedback:
        """Return the feedback about one text.

        Raises:
            DataError: if it is not clear what the text and its source are.
            RubriclabError: as `TextScorer.score_row` does.
        """
        row = self._row(inputs=inputs, outputs=outputs, expectations=expectations, trace=trace)
        opened = self._open.opened
        return _feedback(self.name, opened.score_row(row), opened.rubric)

    def close(self) -> None:
        """Close the rubric."""
        self._open.close()


def row_of(*, inputs: Any, outputs: Any, expectations: Any = None, **_other: Any) -> dict[str, Any]:
    """Return the row of a text, as `row_of_text` does; the expectation `expected_response` is the reference."""
    expected = expectations.get("expected_response") if isinstance(expectations, Mapping) else None
    return row_of_text(inputs, outputs, expected)


def _feedback(name: str, score: Score, rubric: Rubric) -> Feedback:
    judge = recorded_name(score.judge)
    low, high = score.interval or (None, None)
    about = {"rubric": score.rubric, "judge": judge, "low": low, "high": high}
    metadata = {f"rubriclab.{key}": value for key, value in about.items()} | criterion_cells(score)
    return Feedback(
        name=name,
        value=score.score,
        error=None if score.unscored is None else AssessmentError(UNSCORED, score.unscored),
        rationale=rationale(score, rubric),
        source=AssessmentSource("CODE" if judge == EMBEDDED else "LLM_JUDGE", judge),
        metadata={key: str(value) for key, value in metadata.items() if value is not None},
    )


@dataclass(frozen=True, slots=True)
class LoggedVersion:
    """Where a version was logged.

    Attributes:
        uri: of the folder with the pack: `runs:/RUN/rubriclab/NAME-NUMBER`.
        registered: `models:/MODEL/NUMBER`; `None` if it was not registered.
    """

    uri: str
    run_id: str
    registered: str | None = None


def log_version(
    rubric: str | Version, *, store: str | Path | None = None, registered_model: str | None = None
) -> LoggedVersion:
    """Log a version to the active run, or else to a new one: its pack as an artifact, metrics and tags.

    Metrics are `training/pearson`, and of a version that went through the gate `held_out/pearson` and
    `difference/pearson`, the rubric's less that of the best baseline. Each also has `_low` and `_high`, the ends of its
    interval; `spearman` likewise, but for the difference. Tags are `rubriclab.version`, `rubriclab.verdict` (`better`,
    `not better`, `inconclusive` or `not compared`), `rubriclab.judge` and others.

    Args:
        rubric: a version, `NAME`, `NAME@3` or `NAME@production`.
        store: path or URL of the store; by default the user's own.
        registered_model: the registered model of which it becomes a new version, made if there is none.

    Raises:
        NotInStore: if there is no such version.
        mlflow.exceptions.MlflowException: if MLflow refuses it.
    """
    lab = Lab(store, progress=None)
    version = rubric if isinstance(rubric, Version) else lab.load(rubric)
    pack, folder = lab.export(version), f"{FOLDER}/{version.name}-{version.number}"
    tags = tags_of(version)
    active = mlflow.active_run()
    with nullcontext(active) if active else mlflow.start_run(run_name=version.ref) as run:
        run_id = run.info.run_id
        mlflow.log_text(pack, f"{folder}/pack.json")
        mlflow.log_metrics(metrics_of(version.provenance))
        mlflow.set_tags(tags)
        uri = f"runs:/{run_id}/{folder}"
        if registered_model is None:
            return LoggedVersion(uri, run_id)
        # The address itself: file stores do not resolve `runs:/`.
        source = mlflow.get_artifact_uri(folder)
        return LoggedVersion(uri, run_id, _registered(registered_model, source, run_id, version, tags))


def load_version(uri: str, *, store: str | Path | None = None, name: str | None = None) -> Version:
    """Return the version that now holds the rubric of a logged pack, imported as by `Lab.import_`.

    It counts as imported: until `Lab.trust`, its judge is asked only if you name it.

    Args:
        uri: `runs:/RUN/rubriclab/NAME-NUMBER`, `models:/MODEL/3`, `models:/MODEL@ALIAS`, or another address of the
            pack or of the folder with it.
        store: path or URL of the store; by default the user's own.
        name: of the rubric; by default its own.

    Raises:
        PackError: if there is no pack, or several, or the pack does not match its digests.
        mlflow.exceptions.MlflowException: if there is nothing at the address.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = Path(mlflow.artifacts.download_artifacts(artifact_uri=uri, dst_path=folder))
        packs = [found] if found.is_file() else sorted(found.rglob("*.json"))
        if len(packs) != 1:
            number = f"{len(packs)} files of JSON" if packs else "no pack"
            raise PackError(f"{uri}: found {number}.", "Give the address of one pack, as log_version returns it.")
        return Lab(store, progress=None).import_(packs[0], name)


def metrics_of(provenance: Provenance) -> dict[str, float]:
    """Return the agreement of a version with people, by name of the metric; without what is undefined."""
    found: dict[str, float | None] = {}
    if agreement := provenance.agreement:
        found |= _ends("training/pearson", agreement.pearson) | _ends("training/spearman", agreement.spearman)
        found["training/texts"] = agreement.n
    if validation := provenance.validation:
        rubric = validation.evaluators[0]
        found |= _ends("held_out/pearson", rubric.pearson) | _ends("held_out/spearman", rubric.spearman)
        found |= _ends("difference/pearson", validation.verdicts[0].difference)
        found |= {"held_out/texts": rubric.n, "held_out/groups": validation.groups, "calls_per_text": rubric.calls}
    return {name: float(value) for name, value in found.items() if value is not None}


def tags_of(version: Version) -> dict[str, str]:
    """Return what a version is and how the gate decided, by name of the tag."""
    provenance, validation = version.provenance, version.provenance.validation
    tags = {
        "version": version.ref,
        "digest": version.digest,
        "task": version.rubric.task,
        "aspect": version.rubric.aspect.name,
        "judge": provenance.judge,
        "data": provenance.data,
        "verdict": validation.outcome if validation else NOT_COMPARED,
    }
    if validation:
        tags["compared_with"] = validation.verdicts[0].against
    return {f"rubriclab.{name}": value for name, value in tags.items()}


def _ends(name: str, statistic: Interval) -> dict[str, float | None]:
    return {name: statistic.value, f"{name}_low": statistic.low, f"{name}_high": statistic.high}


def _registered(model: str, source: str, run_id: str, version: Version, tags: dict[str, str]) -> str:
    client = MlflowClient()
    try:
        client.create_registered_model(model)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    description = f"{version.ref}: {tags['rubriclab.aspect']}, {tags['rubriclab.verdict']}"
    made = client.create_model_version(model, source, run_id, tags=tags, description=description)
    return f"models:/{model}/{made.version}"
