"""Joint training: several methods propose criteria, the labels select and fit a rubric, and the gate tests it.

methods             -> candidates: criteria by labelled texts, every rating with its reason, no call repeated
candidates + labels -> selected criteria, their weights, and the map of the weighted sum onto the raters' scale
the same by fold    -> held-out scores, for intervals, and for the gate's comparison with baselines without calls
all of it           -> a rubric, its provenance, and a record of the training
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rubriclab.errors import SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.learning.baselines import best_feature
from rubriclab.learning.candidates import (
    Candidates,
    EarlierRubric,
    Plan,
    find_candidates,
    joining,
    learning_calls as calls_for_candidates,
    with_earlier,
)
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.single_call import MOST_ENTRIES, rated_in_one_call
from rubriclab.learning.single_method import Trained, origins
from rubriclab.learning.study import Study
from rubriclab.methods.method import LearningCalls, Progress, silent
from rubriclab.methods.single_call import RIVALS_TEMPLATE, TEMPLATE, rivals_key
from rubriclab.models.version import DIRECT, Provenance
from rubriclab.option_names import option
from rubriclab.prompts import prompts_digest

# The shares of the work that are done when the methods have proposed their criteria, and when these are rated.
PROPOSED, RATED = 0.25, 0.95


async def train(
    plans: Sequence[Plan],
    settings: JointSettings,
    *,
    judge: Judge,
    generator: Judge,
    seed: int,
    earlier: EarlierRubric | None = None,
    model_versions: Callable[[], Sequence[str]] = tuple,
    on_progress: Progress = silent,
) -> Trained:
    """Return a rubric of criteria that the methods of `plans` propose and those of `earlier`, with its validation.

    The same plans, settings, seed and replies give the same rubric, provenance and record, except for `model_versions`,
    which depends on when the replies were received.

    Raises:
        DataError: if there are no labelled texts.
        SettingsError: if the settings exclude every candidate.
        JudgeError: if a method could learn nothing, or no criterion distinguishes any two labelled texts.
    """
    _check(plans, settings)
    plans, left_out = _asked_about_rivals(plans, settings)
    assignment = plans[0].training_input.assignment
    together = _is_in_one_call(plans, settings)
    found = PROPOSED if together else RATED
    candidates = await find_candidates(
        plans,
        judge=judge,
        generator=generator,
        seed=seed,
        rated_later=together,
        on_progress=lambda doing, share: on_progress(doing, found * share),
    )
    if earlier:
        candidates = with_earlier(candidates, earlier)
    if together:
        candidates = await rated_in_one_call(
            candidates,
            plans,
            judge=judge,
            generator=generator,
            rivals=settings.rivals,
            on_progress=lambda doing, share: on_progress(doing, found + (RATED - found) * share),
        )
    study = Study(candidates, assignment, settings, seed)
    on_progress(f"selecting from {len(candidates.candidates)} criteria", RATED)
    rubric = study.rubric()
    on_progress(f"{len(rubric.criteria)} of {len(candidates.candidates)} criteria kept", 1.0)
    provenance = Provenance(
        **origins(candidates.examples, assignment.aspect.name, judge, generator, model_versions()),
        settings=_settings(plans, settings),
        prompts=prompts_digest(_templates(plans, candidates)),
        seed=seed,
        agreement=study.agreement,
        baseline=best_feature(candidates.examples, assignment.aspect.name),
        validation=study.validation,
    )
    return Trained(
        rubric, provenance, (*left_out, *candidates.notes, *study.not_assessed(), *study.notes), study.record(rubric)
    )


def learning_calls(plans: Sequence[Plan], settings: JointSettings) -> LearningCalls:
    """Return about how many calls a joint training takes."""
    _check(plans, settings)
    plans, _ = _asked_about_rivals(plans, settings)
    together = _is_in_one_call(plans, settings)
    calls = calls_for_candidates(plans, rated_later=together)
    if not together:
        return calls
    texts = len(plans[0].training_input.examples)
    entries = calls.unrated or len(joining(plans))
    each_text = math.ceil(entries / MOST_ENTRIES) + any(plan.method.name == DIRECT for plan in plans)
    return replace(calls, judge=calls.judge + texts * each_text)


def _asked_about_rivals(plans: Sequence[Plan], settings: JointSettings) -> tuple[Sequence[Plan], tuple[str, ...]]:
    """Return the plans whose criteria calls about several texts can contain, and a note if others are left out.

    A reply about ten texts has no room for the many questions of a checklist, which agreed least with people.
    """
    joined = set(joining(plans)) if settings.rivals else set[str]()
    questions = {plan.method.name for plan in plans if plan.method.criterion_kind == "question"} & joined
    if not questions or questions == joined:
        return plans, ()
    note = f"{', '.join(sorted(questions))} left out: a call about several texts has no room for many questions"
    return [plan for plan in plans if plan.method.name not in questions], (note,)


def _is_in_one_call(plans: Sequence[Plan], settings: JointSettings) -> bool:
    """Return whether all judged criteria share a call: those of several methods, unless it is about several texts."""
    judged = [plan for plan in plans if plan.method.criterion_kind != "feature"]
    can_share = settings.ask != "by method" and len(joining(judged)) == len(judged)
    return can_share and len(judged) >= (1 if settings.rivals else 2)


def _templates(plans: Sequence[Plan], candidates: Candidates) -> list[str]:
    about_rivals = {RIVALS_TEMPLATE} if candidates.rivals else set[str]()
    return sorted({name for plan in plans for name in plan.method.prompts} | {TEMPLATE} | about_rivals)


def _check(plans: Sequence[Plan], settings: JointSettings) -> None:
    """Raise `SettingsError` if the settings exclude every candidate, as far as is known before any call."""
    free = any(plan.method.name == "text_features" for plan in plans)
    groups = Counter(rivals_key(example) for example in plans[0].training_input.examples)
    if settings.rivals and max(groups.values(), default=0) < 2:
        raise SettingsError(
            "A call about several texts needs texts of one group with the same source and context; every labelled text "
            "is the only one of its group;",
            f"give the group or the source of each text, or leave {option('settings', 'joint.ask=with rivals')} out.",
        )
    if settings.calibration == "none" and free:
        raise SettingsError(
            "Calibration `none` is the mean of the judge's ratings, which is undefined for text features;",
            "choose another calibration, or leave the text features out.",
        )


def _settings(plans: Sequence[Plan], settings: JointSettings) -> Mapping[str, Mapping[str, Any]]:
    methods: dict[str, Mapping[str, Any]] = {plan.method.name: plan.settings.model_dump(mode="json") for plan in plans}
    return {**methods, "joint": settings.model_dump(mode="json")}
