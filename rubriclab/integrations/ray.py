"""Scoring inside Ray Data, on any number of machines (`pip install 'rubriclab[ray,postgresql]'`): docs/cluster.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubriclab.data.readers import from_rows
from rubriclab.data.reading_options import ReadingOptions
from rubriclab.errors import SettingsError
from rubriclab.judges.judge import Ledger
from rubriclab.judges.options import JudgeOptions
from rubriclab.ops.ray import ACTOR_CONCURRENCY, RayJob, RayWorker, RowScores, RunState
from rubriclab.ops.scores import ScoredRow
from rubriclab.ops.workspace import Workspace, choose_judge

SHARED_LIMITS = ("max_calls", "max_cost", "requests_per_minute", "tokens_per_minute")


class Scorer:
    """Scores batches of texts; a class for `Dataset.map_batches`, of which each worker has an instance.

    A call takes a batch and returns it as a pyarrow table with the columns `id`, `score`, `low` and `high` (the
    interval), `unscored` (the reason for a missing score), and for each criterion `ID` (its score), `ID.contribution`
    and `ID.reason`. A batch column with such a name becomes `input.NAME`; its own `id` is left out if used as ids.

    Workers share one store. If a worker is lost, Ray starts another one, which finds the cached answers there.

    Args:
        rubric: `NAME` (the newest version), `NAME@NUMBER` or `NAME@TAG`.
        store: URL of the store, on a PostgreSQL server that all machines reach; on one machine it may be a file.
        judge: as for `Lab`; by default the judge that the rubric is calibrated for.
        run: the name of the run, required with caps and rates, which hold for all workers of this run on the cluster.
            Calls and costs add up while the cluster lives; the caps and rates that were given last apply.
        mapping: the columns of fields: `{"output": "summary"}`.
        options: fields of `JudgeOptions`. `concurrency` is the number of requests in flight of one worker.

    Raises:
        SettingsError: for an option that is unknown or out of bounds, or a cap or rate without `run`.
        RubriclabError: as `Lab.scorer` does.
    """

    def __init__(
        self,
        rubric: str,
        store: str,
        *,
        judge: str | None = None,
        run: str | None = None,
        mapping: str | Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        judge_options = JudgeOptions(**options)
        limits = [name for name in SHARED_LIMITS if getattr(judge_options, name) is not None]
        if run is None and limits:
            hint = "give it one: run='nightly'."
            raise SettingsError(f"`{limits[0]}` holds for all workers of a run, and this run has no name;", hint)
        with Workspace(store, judge_options) as workspace:
            version = workspace.store.load(rubric)
            choice = choose_judge(version, judge, workspace.store, workspace.notify)
        self._rubric = version.rubric
        self._reading = ReadingOptions() if mapping is None else ReadingOptions(mapping=mapping)
        job = RayJob(store, version.rubric, version.ref, choice, judge_options)
        state: Any = None
        if run is not None:
            import ray

            # The first worker starts this actor, which outlives the program.
            actor = ray.remote(num_cpus=0, max_concurrency=ACTOR_CONCURRENCY)(RunState)
            actor_options = {"namespace": "rubriclab", "lifetime": "detached", "get_if_exists": True}
            state = actor.options(name=run, **actor_options).remote(judge_options)
            state.configure.remote(judge_options)
        self._worker = RayWorker(job, state)

    async def __call__(self, batch: Any) -> Any:
        """Return a batch (a mapping of arrays, a pandas frame or a pyarrow table) with the scores of its texts."""
        import pyarrow

        if isinstance(batch, pyarrow.Table):
            table = batch
        elif hasattr(batch, "itertuples"):
            table = pyarrow.Table.from_pandas(batch, preserve_index=False)
        else:
            columns = {name: cells.tolist() if hasattr(cells, "tolist") else cells for name, cells in batch.items()}
            table = pyarrow.table({str(name): list(cells) for name, cells in columns.items()})
        scored = RowScores((), None, Ledger())
        if table.num_rows:
            scored = await self._worker.score(from_rows(table, "the batch", self._reading))
        if scored.error:
            raise scored.error
        # The columns of the scores have the same types in every batch, also in one without texts.
        string, double = pyarrow.string(), pyarrow.float64()
        types = {"id": string, "score": double, "low": double, "high": double, "unscored": string}
        for criterion in self._rubric.criteria:
            types[criterion.id] = double
            if self._rubric.aggregation:
                types[f"{criterion.id}.contribution"] = double
            types[f"{criterion.id}.reason"] = string
        rows = [ScoredRow(score, row=None).to_cells() for score in scored.scores]
        score_columns = {name: pyarrow.array([row.get(name) for row in rows], type_) for name, type_ in types.items()}
        input_columns = {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            is_same_id = name == "id" and [str(cell) for cell in column.to_pylist()] == score_columns["id"].to_pylist()
            if not is_same_id:
                input_columns[f"input.{name}" if name in score_columns else name] = column
        return pyarrow.table({**input_columns, **score_columns})
