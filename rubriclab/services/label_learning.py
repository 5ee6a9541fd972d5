"""Learning from the labels that people are giving: whether they are enough, the price, and learning meanwhile."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Literal

from rubriclab.active_learning.learning_curve import learning_curve
from rubriclab.active_learning.plan import StoppingAdvice, stopping_advice
from rubriclab.active_learning.training_data import eligible_candidates, refit_settings
from rubriclab.data.check import FEWEST_LABELS
from rubriclab.errors import NoStore, NotInStore, RubriclabError, SettingsError
from rubriclab.estimate import DryRun
from rubriclab.option_names import for_reader
from rubriclab.progress import calling
from rubriclab.report.model import View
from rubriclab.report.training import training_view
from rubriclab.report.wording import count
from rubriclab.services.label import Labeling
from rubriclab.services.learn import LearnOptions, default_name, learn, learn_estimate
from rubriclab.services.plan import PlanOptions
from rubriclab.services.running import BackgroundWork, closing_connections
from rubriclab.services.workspace import Workspace
from rubriclab.store import Version


@dataclass(frozen=True)
class LabelsNeeded:
    """Whether the labels are enough.

    Attributes:
        labels: texts with a label.
        needed: by the version's learning curve, or else the fewest that learning takes.
        version: the version whose learning curve says so; `None` without one.
    """

    labels: int
    needed: int
    version: str | None

    @property
    def can_learn(self) -> bool:
        """Whether there are as many labels as learning takes."""
        return self.labels >= FEWEST_LABELS

    def words(self) -> str:
        """Return the same in a sentence."""
        labels = f"{count(self.labels, 'text')} labelled"
        if self.version is None:
            enough = "enough to begin; thirty are a good start" if self.can_learn else f"learning needs {self.needed}"
            return f"{labels}: {enough}."
        more = self.needed - self.labels
        words = f"about {more} more are worth it" if more > 0 else "more labels are not worth it"
        return f"{labels}: by {self.version}, {words}."


@dataclass(frozen=True)
class LearningState:
    """How far learning is.

    Attributes:
        share: of the whole, 0 to 1; below 0 if unknown.
        words: the current phase, or why it failed.
        version: the version that was learned.
    """

    status: Literal["idle", "running", "done", "failed"] = "idle"
    share: float = -1.0
    words: str = ""
    version: str | None = None


class LabelLearning:
    """Learning from the labels of a `Labeling`, in a thread of its own, once at a time."""

    def __init__(self, workspace: Workspace, labeling: Labeling) -> None:
        self._workspace = workspace
        self._labeling = labeling
        self._state = LearningState()
        self._starting = threading.Lock()
        self._under_way: BackgroundWork | None = None
        self._advice: dict[str, StoppingAdvice | None] = {}

    @property
    def state(self) -> LearningState:
        """How far learning is."""
        return self._state

    def needed(self) -> LabelsNeeded:
        """Return whether the labels are enough, by the learning curve of a version where there is one."""
        labels = sum("output" in row for row in self._labeling.rows())
        version = self._version()
        advice = self._advice_of(version) if version else None
        if version is None or advice is None:
            return LabelsNeeded(labels, FEWEST_LABELS, None)
        return LabelsNeeded(labels, advice.labels + round(advice.more.value or 0), version.ref)

    def price(self) -> DryRun:
        """Return an estimate of what learning asks.

        Raises:
            DataError: if there are too few labels.
        """
        return learn_estimate(self._own_workspace(), list(self._labeling.rows()), self._options())

    def start(self) -> None:
        """Begin to learn; nothing happens if that is under way.

        Raises:
            SettingsError: if there are too few labels.
        """
        # Two tabs may start it at the same time: it is paid for once.
        with self._starting:
            if self._state.status == "running":
                return
            if not (needed := self.needed()).can_learn:
                raise SettingsError(needed.words(), "Label more texts first.")
            self._state = LearningState("running")
            self._under_way = BackgroundWork(lambda: closing_connections(self._learn()))

    def report(self) -> View:
        """Return the report on the version that was learned.

        Raises:
            NotInStore: if none was learned yet.
        """
        if self._state.version is None:
            raise NotInStore("Nothing has been learned from this page yet.")
        store = self._workspace.store
        return training_view(store.load(self._state.version), store.training(self._state.version))

    def stop(self) -> None:
        """End learning; what was answered so far is cached."""
        if self._under_way and self._state.status == "running":
            self._under_way.stop()

    async def _learn(self) -> None:
        workspace = self._own_workspace()
        try:
            result = await learn(workspace, list(self._labeling.rows()), self._options())
        except RubriclabError as error:
            self._state = LearningState("failed", words=for_reader(error.text))
        except BaseException as error:
            self._state = LearningState("failed", words=f"Learning ended unexpectedly: {type(error).__name__}.")
            raise
        else:
            self._state = LearningState("done", 1.0, "", result.version.ref)
        finally:
            workspace.close()

    def _own_workspace(self) -> Workspace:
        """Return a workspace with the same store, judge options and budget, whose progress goes to the page."""

        def advance(words: str, share: float) -> None:
            if self._state.status == "running":
                self._state = replace(self._state, words=words, share=share)

        own = self._workspace
        return Workspace(
            own.location,
            own.options,
            progress=calling(advance),
            record=own.record,
            settings=own.settings,
            budget=own.budget,
        )

    def _options(self) -> LearnOptions:
        chosen = self._labeling.options
        same = {name: getattr(chosen, name) for name in ("task", "aspect", "definition", "name", "judge")}
        scale = self._labeling.question.scale if chosen.mode == "rate" else None
        return LearnOptions.given({**same, "scale": scale})

    def _version(self) -> Version | None:
        """Return the version that says how many labels are enough, if there is one."""
        chosen = self._labeling.options
        ref = self._state.version or chosen.rubric or chosen.name or default_name(chosen.task, chosen.aspect)
        try:
            return self._workspace.store.load(ref)
        except (NoStore, NotInStore):
            return None

    def _advice_of(self, version: Version) -> StoppingAdvice | None:
        if version.ref not in self._advice:
            record = self._workspace.store.training(version.ref)
            curve = None
            if record is not None and version.rubric.aggregation is not None:
                candidates = eligible_candidates(record, version.rubric, version.provenance)
                curve = learning_curve(candidates, refit_settings(version.provenance))
            self._advice[version.ref] = stopping_advice(curve, PlanOptions().worth) if curve else None
        return self._advice[version.ref]
