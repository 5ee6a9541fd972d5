"""An edit of a version without learned weights: its score is its method's own, and nothing is fitted.

Criteria can be dropped, reworded, merged and added, and the definition changed; there are no weights to limit. Both
rubrics score the labelled texts, by cached answers where there are any.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rubriclab.editing.edits import edited_parts
from rubriclab.editing.effect import EditEffect, weight_changes
from rubriclab.errors import JudgeError
from rubriclab.estimate import DryRun, dry_run, estimate_scoring
from rubriclab.learning.gate import gate_level, paired_difference
from rubriclab.learning.single_method import training_agreement
from rubriclab.rubric import Rubric
from rubriclab.services.edit_options import EditResult
from rubriclab.services.edit_saving import RubricEdit
from rubriclab.stats.agreement import agreement
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import Interval
from rubriclab.transfer.rating_matrix import rate


@dataclass(frozen=True, eq=False)
class SingleMethodEdit(RubricEdit):
    """An edit of a version without learned weights, before anything is asked."""

    @cached_property
    def rubric(self) -> Rubric:
        """The edited rubric."""
        before = self.version.rubric
        parts = edited_parts(before, self.plan, self.version.provenance.settings, self.options.signature)
        return Rubric.model_validate({**dict(before), "aspect": self.plan.aspect, "parts": parts})

    def estimate(self) -> DryRun:
        """Return an estimate of what is asked; cached answers, such as those of learning, lower it."""
        before, after = (estimate_scoring(each, self.texts.examples) for each in (self.version.rubric, self.rubric))
        return dry_run({"judge": (self.choice.spec, before + after)}, self.workspace.options)

    async def run(self) -> EditResult:
        """Return the effect of the edit, and the child version unless this is a preview.

        Raises:
            JudgeError: if no text could be scored.
            JudgeRefused, BudgetReached, ReplayMiss: from the judge; answers so far are kept in the store.
        """
        self.workspace.collect_used_answers()
        judge, examples = self.workspace.judge(self.choice), self.texts.examples
        scores: list[FloatArray] = []
        for rubric in (self.version.rubric, self.rubric):
            with self.workspace.progress(self.workspace.ledger):
                found = await rate(rubric, self.version.ref, examples, judge, self.workspace.under_way)
            if np.isnan(found.scores).all():
                raise JudgeError(f"None of {len(examples)} texts could be scored; the latest reason: {found.reason}")
            scores.append(found.scores)
        return await self.workspace.off_event_loop(self._finish, *scores)

    def _finish(self, before: FloatArray, after: FloatArray) -> EditResult:
        parent, examples, provenance = self.version.rubric, self.texts.examples, self.version.provenance
        labels = np.array([text.scores[self.texts.aspect] for text in examples], dtype=float)
        groups = [text.group for text in examples]
        level = gate_level(labels, groups)
        sides = [agreement(scores, labels, groups, level=level).pearson.rounded() for scores in (before, after)]
        calls = [estimate_scoring(rubric, examples).calls / len(labels) for rubric in (parent, self.rubric)]
        # Whether the parent was learned from the labels of some of these texts.
        same = bool(set(groups) & set(provenance.groups))
        optimistic = same and provenance.agreement is not None and provenance.agreement.optimistic
        effect = EditEffect(
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
            weights=weight_changes(parent, self.rubric),
            optimistic=optimistic,
        )
        known, methods = {part.method for part in parent.parts}, " and ".join(part.method for part in self.rubric.parts)
        notes = tuple(
            f"{new.criterion.id} is rated by {new.method}: the score is the mean of the scores by {methods}"
            for new in self.plan.new
            if new.method not in known
        )
        # The selection of criteria cannot be repeated without a fold's labels: their ratings were not kept.
        reselected = np.full(len(after), np.nan) if optimistic else after
        found = training_agreement(after, reselected, labels, groups, optimistic=optimistic)
        return self.result(self.rubric, effect, notes, lambda: (found, None, None))
