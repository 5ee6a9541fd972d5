"""An edit of a version without learned weights: its score is its method's own, and nothing is fitted.

Criteria can be dropped, reworded, merged and added, and the definition changed; there are no weights to limit. Both
rubrics score the labelled texts, by cached answers where there are any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rubriclab.editing.edits import EditPlan
from rubriclab.editing.effect import EditEffect, weight_changes
from rubriclab.editing.parts import edited_parts
from rubriclab.errors import JudgeError
from rubriclab.learning.gate import gate_level, paired_difference
from rubriclab.learning.single_method import training_agreement
from rubriclab.rubric import Rubric
from rubriclab.scoring.estimate import scoring_at_most
from rubriclab.services.dry_run import DryRun, dry_run
from rubriclab.services.edit_labels import LabelledTexts
from rubriclab.services.edit_options import EditOptions, EditResult
from rubriclab.services.edit_provenance import edited_provenance
from rubriclab.services.judge_choice import JudgeChoice
from rubriclab.services.workspace import Workspace
from rubriclab.stats.agreement import agreement
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import Interval
from rubriclab.store import Version
from rubriclab.transfer.rating_matrix import RatedTexts, rate


@dataclass(frozen=True, eq=False)
class SingleMethodEdit:
    """An edit of a version without learned weights, before anything is asked."""

    workspace: Workspace
    options: EditOptions
    version: Version
    texts: LabelledTexts
    plan: EditPlan
    choice: JudgeChoice

    @cached_property
    def rubric(self) -> Rubric:
        """The edited rubric."""
        before = self.version.rubric
        parts = edited_parts(before, self.plan, self.version.provenance.settings, self.options.signature)
        return Rubric.model_validate({**dict(before), "aspect": self.plan.aspect, "parts": parts})

    def at_most(self) -> DryRun:
        """Return the most that is asked; cached answers, such as those of learning, lower it."""
        both = (scoring_at_most(rubric, self.texts.examples) for rubric in (self.version.rubric, self.rubric))
        before, after = both
        return dry_run({"judge": (self.choice.spec, before + after)}, self.workspace.options)

    async def run(self) -> EditResult:
        """Return the effect of the edit, and the child version unless this is a preview.

        Raises:
            JudgeError: if no text could be scored.
            JudgeRefused, BudgetReached, ReplayMiss: from the judge; answers so far are kept in the store.
        """
        self.workspace.collect_used_answers()
        judge, examples = self.workspace.judge(self.choice), self.texts.examples
        rated: list[RatedTexts] = []
        for rubric in (self.version.rubric, self.rubric):
            with self.workspace.progress(self.workspace.ledger):
                found = await rate(rubric, self.version.ref, examples, judge, self.workspace.under_way)
            if np.isnan(found.scores).all():
                raise JudgeError(f"None of {len(examples)} texts could be scored; the latest reason: {found.reason}")
            rated.append(found)
        return await self.workspace.off_event_loop(self._finish, rated[0].scores, rated[1].scores)

    def _finish(self, before: FloatArray, after: FloatArray) -> EditResult:
        effect = self._effect(before, after)
        saved = None if self.options.preview else self._save(effect, after)
        return EditResult(self.version.ref, self.rubric, effect, saved, self.workspace.effort(), tuple(self._notes()))

    def _notes(self) -> Iterator[str]:
        """Yield how much criteria of methods count that the parent does not have."""
        known = {part.method for part in self.version.rubric.parts}
        methods = " and ".join(part.method for part in self.rubric.parts)
        for new in self.plan.new:
            if new.method not in known:
                name = new.criterion.id
                yield f"{name} is rated by {new.method}: the score is the mean of the scores by {methods}"

    def _effect(self, before: FloatArray, after: FloatArray) -> EditEffect:
        labels, groups = self._labels()
        level = gate_level(labels, groups)
        sides = [agreement(scores, labels, groups, level=level).pearson.rounded() for scores in (before, after)]
        calls = [
            scoring_at_most(rubric, self.texts.examples).calls / len(labels)
            for rubric in (self.version.rubric, self.rubric)
        ]
        return EditEffect(
            level=level,
            n=int((~np.isnan(before + after)).sum()),
            groups=len(set(groups)),
            folds=0,
            before=sides[0],
            after=sides[1],
            difference=paired_difference(after, before, labels, groups),
            recorded=Interval(None),
            calls_before=calls[0],
            calls_after=calls[1],
            weights=weight_changes(self.version.rubric, self.rubric),
            optimistic=self._learned_from_these,
        )

    @property
    def _learned_from_these(self) -> bool:
        """Whether the parent was learned from the labels of some of these texts."""
        before = self.version.provenance
        same = {text.group for text in self.texts.examples} & set(before.groups)
        return bool(same) and before.agreement is not None and before.agreement.optimistic

    def _labels(self) -> tuple[FloatArray, list[str]]:
        examples = self.texts.examples
        labels = np.array([text.scores[self.texts.aspect] for text in examples], dtype=float)
        return labels, [text.group for text in examples]

    def _save(self, effect: EditEffect, scores: FloatArray) -> Version:
        workspace, (labels, groups) = self.workspace, self._labels()
        # The selection of criteria cannot be repeated without a fold's labels: their ratings were not kept.
        reselected = np.full(len(scores), np.nan) if effect.optimistic else scores
        found = training_agreement(scores, reselected, labels, groups, optimistic=effect.optimistic)
        provenance = edited_provenance(
            workspace, self.version, self.texts, self.options, self.plan, effect, found, None
        )
        name, parent = self.options.name or self.version.name, self.version.ref
        used = workspace.ledger.used
        return workspace.store.save(name, self.rubric, provenance, workspace.effort(), parent, used=used)
