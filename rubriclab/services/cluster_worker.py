"""What one of many processes scores with: it shares answers, budget and rate limits with the others by the store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import rubriclab
from rubriclab.data import Example
from rubriclab.data.row import RowError
from rubriclab.digest import digest
from rubriclab.errors import SettingsError
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.shared_budget import SharedBudget, is_unused_budget
from rubriclab.judges.shared_limits import SharedLimits
from rubriclab.option_names import option
from rubriclab.rubric import Rubric
from rubriclab.scoring import Score, score_stream
from rubriclab.services.judge_choice import JudgeChoice
from rubriclab.services.workspace import Notify, Workspace
from rubriclab.store import Store


@dataclass(frozen=True)
class ClusterJob:
    """What all texts are scored by, on every machine.

    Attributes:
        store: path or URL of the store.
        name: the rubric's, as scores have it.
        options: how this process asks the judge; caps and rates are those of all processes together.
        run: the name of the budget that the processes share.
        version: of the package that made the job.
    """

    store: str
    rubric: Rubric
    name: str
    choice: JudgeChoice
    options: JudgeOptions
    run: str
    version: str = rubriclab.__version__


def budget_name(run: str) -> str:
    """Return the name of the document with the budget of a run."""
    return digest(["budget", run])


def limits_name(judge: str, api_base: str | None) -> str:
    """Return the name of the document with the rate limits of a judge at an address."""
    return digest(["limits", judge, api_base])


class ClusterWorker:
    """Scores texts by a job, for as long as its process lives.

    Caps on calls and cost hold for the run, requests and tokens per minute for the judge, whichever process asks; the
    number of requests in flight for this process.

    Raises:
        SettingsError: if the job was made by another version of the package.
        StoreError: if the store cannot be opened here.
    """

    def __init__(self, job: ClusterJob, notify: Notify) -> None:
        if job.version != rubriclab.__version__:
            raise SettingsError(
                f"rubriclab {rubriclab.__version__} is installed on this machine, but the run was started by rubriclab "
                f"{job.version};",
                "install the same version everywhere.",
            )
        self._job = job
        self.workspace = Workspace(job.store, job.options, notify)
        store = self.workspace.store
        if job.options.max_calls is not None or job.options.max_cost is not None:
            self.workspace.budget = _budget(store, job)
        if job.options.requests_per_minute or job.options.tokens_per_minute:
            self.workspace.limits = _limits(store, job)
        self._judge = self.workspace.judge(job.choice)

    async def scores(self, rows: Iterable[Example | RowError]) -> tuple[list[Score], Exception | None]:
        """Return one score a row, in order, up to the first row that ends the run, and the error that it ends by."""
        scored: list[Score] = []
        under_way = self.workspace.under_way
        try:
            async for score in score_stream(self._job.rubric, rows, self._judge, self._job.name, under_way):
                scored.append(score)  # noqa: PERF401  # those before an error count
        except Exception as error:
            return scored, error
        return scored, None


def share_of(options: JudgeOptions, workers: int, *, limited: bool) -> JudgeOptions:
    """Return the options of one of several workers, which have the requests in flight together.

    Args:
        limited: whether the judge makes requests.

    Raises:
        SettingsError: if there are fewer requests than workers.
    """
    if limited and options.concurrency < workers:
        raise SettingsError(
            f"{option('concurrency', str(options.concurrency))} is less than {workers} workers, and each needs at "
            "least one request in flight;",
            f"raise it, or use fewer {option('workers')}.",
        )
    return options.model_copy(update={"concurrency": max(1, options.concurrency // workers)})


def _budget(store: Store, job: ClusterJob) -> SharedBudget:
    store.remove_shared_states(is_unused_budget)  # of runs that were killed, and of those that nobody has continued
    state = store.shared_state(budget_name(job.run))
    return SharedBudget(state, job.options.max_calls, job.options.max_cost)


def _limits(store: Store, job: ClusterJob) -> SharedLimits:
    options = job.options
    return SharedLimits(
        store.shared_state(limits_name(job.choice.spec, options.api_base or job.choice.address)),
        concurrency=options.concurrency,
        requests_per_minute=options.requests_per_minute,
        tokens_per_minute=options.tokens_per_minute,
    )
