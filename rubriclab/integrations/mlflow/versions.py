"""Versions in MLflow: packs as artifacts of runs and registered models, with agreement as metrics."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from rubriclab.errors import PackError
from rubriclab.integrations.library import imported_from
from rubriclab.lab import Lab
from rubriclab.provenance import Provenance
from rubriclab.stats.interval import Interval
from rubriclab.store import Version

with imported_from("MLflow", "mlflow"):
    import mlflow
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

FOLDER = "rubriclab"
# The verdict of a version that never went through the gate.
NOT_COMPARED = "not compared"


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
