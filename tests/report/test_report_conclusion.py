"""The first thing that is shown of a training run: a badge, one sentence, and what to do next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from joint_samples import against_direct, joint_trust, joint_version
from report_samples import version, words_of

from rubriclab.models.version import EditOrigin, GateVerdict, MoreLabels, Version
from rubriclab.report.render import View, macro
from rubriclab.report.rubrics import actions, verdict
from rubriclab.stats.intervals import Interval


def decided(outcome: Any, judge: str = "gpt-4o-mini", **fields: Any) -> Version:
    """Return a version whose gate has this outcome; `fields` go to the deciding verdict."""
    difference = fields.pop("difference", Interval(0.1, -0.1, 0.3))
    free = GateVerdict(against="word count", outcome=outcome, difference=difference, **fields)
    return joint_version(judge=judge, validation=joint_trust(verdicts=(free,)))


def shown(one: Version) -> str:
    return words_of(View(macro("conclusion", one)), 200)


def steps(one: Version) -> str:
    return "\n".join(actions(one))


def test_the_sentence_names_the_baseline_with_its_agreement_and_the_ceiling() -> None:
    words = shown(decided("better", difference=Interval(0.2, 0.1, 0.3)))
    assert "over all texts, cross-validated on its 30 training texts of 10 groups" in words
    assert "BETTER than word count, Pearson 0.04 (difference 0.20 [0.10, 0.30]: better)." in words
    assert "A perfect judge would reach about 0.87, because the raters disagree." in words


def test_commands_are_shown_as_code_in_pages_and_markdown() -> None:
    view = View(macro("conclusion", decided("better")))
    page = view.page()
    assert "`" not in page.partition("<main>")[2]
    assert "<code>rubriclab score TEXTS --rubric news@3</code>" in page
    assert "`rubriclab score TEXTS --rubric news@3`" in view.markdown()


def test_a_version_that_was_not_validated_is_to_be_evaluated() -> None:
    assert "NOT VALIDATED" in shown(version())
    assert "`rubriclab evaluate HELDOUT --rubric news@1`" in steps(version())


def test_undecided_asks_for_as_many_labels_as_would_decide() -> None:
    assert "Label about 90 to 240 more texts from new sources (the lower" in steps(
        decided("inconclusive", more_labels=MoreLabels(even=90, likely=240))
    )


def test_too_few_groups_asks_for_groups_instead_of_labels() -> None:
    few = decided("inconclusive", few_groups=3, difference=Interval(0.2))
    assert "Label texts of at least 2 more groups" in steps(few)
    assert "(difference 0.20: too few groups to tell)" in shown(few)


def test_the_offline_judge_is_said_to_be_none_and_a_language_model_is_the_first_step() -> None:
    offline = decided("not better", judge="embedded")
    assert "Offline judge: the criteria were rated by text features" in macro("offline_banner", offline)
    assert steps(offline).startswith("Use a language model: `rubriclab learn … --judge MODEL`.")
    assert "embedded (offline, no language model)" in shown(offline)
    assert not macro("offline_banner", decided("not better")).strip()
    assert "Score with the baseline instead" in steps(decided("not better"))


def against(direct: GateVerdict, free: Any = "better") -> Version:
    """Return a version compared with the judge asked directly, and by this outcome with a free baseline."""
    baseline = GateVerdict(against="all text features", outcome=free, difference=Interval(0.28, 0.07, 0.49))
    calibrated = joint_trust().verdicts[2]
    return joint_version(validation=joint_trust(verdicts=(baseline, direct, calibrated)))


def test_the_verdict_compares_first_with_the_same_judge_asked_directly() -> None:
    assert verdict(joint_version()) == (
        "Better than the same judge asked directly: mean absolute error 0.35 instead of 0.59 points (better), Pearson "
        "0.66 instead of 0.57 (inconclusive). Calibrated on the same labels, the plain question has an error of 0.37 "
        "(not better). The best free baseline is a model of all text features, Pearson 0.38 (difference 0.28 [0.07, "
        "0.49]: better)."
    )
    assert shown(joint_version()).startswith(f"BETTER{verdict(joint_version())[6:]}")


def test_the_verdict_names_the_free_baseline_where_that_is_what_the_rubric_does_not_beat() -> None:
    words = verdict(against(against_direct("better", Interval(0.24, 0.1, 0.38)), free="not better"))
    assert words.startswith(
        "Not better than the best free baseline. Compared with the same judge asked directly: mean absolute error 0.35 "
        "instead of 0.59 points (better), "
    )
    assert words.endswith("is a model of all text features, Pearson 0.38 (difference 0.28 [0.07, 0.49]: not better).")


def test_without_errors_and_with_a_loss_the_verdict_says_so() -> None:
    worse = against(against_direct(None, None, outcome="not better", difference=Interval(-0.1, -0.2, -0.05)))
    assert "than the same judge asked directly: Pearson 0.66 instead of 0.57 (worse). The best free" in verdict(worse)
    few = against(against_direct(None, None, difference=Interval(0.1), few_groups=3))
    assert "Pearson 0.66 instead of 0.57 (too few groups to tell)." in verdict(few)
    assert "Label texts of at least 2 more groups" in steps(few)


def test_a_rubric_that_is_not_better_is_kept_for_its_reasons_only() -> None:
    same = against(against_direct(None, None, outcome="not better", difference=Interval(0.01, -0.01, 0.03)))
    assert "a gain of 0.05 or more is ruled out" in steps(same)
    assert "`rubriclab learn … --method direct` makes a version that scores without a rubric" in steps(same)
    worse = against(against_direct(None, None, outcome="not better", difference=Interval(-0.1, -0.2, -0.05)))
    assert "which agrees better" in steps(worse)
    assert "without a rubric" not in steps(joint_version())


def test_where_only_the_error_is_undecided_no_number_of_labels_is_promised() -> None:
    gain = Interval(0.1, -0.1, 0.3)
    undecided = against(
        against_direct("inconclusive", gain, outcome="not better", difference=Interval(0.0, -0.02, 0.02))
    )
    assert "Label more texts from new sources: these cannot tell the errors apart" in steps(undecided)


def test_an_edited_version_says_who_edited_it_and_its_agreement_beside_its_parents() -> None:
    effect = Interval(-0.01, -0.03, 0.01)
    edit = EditOrigin(
        by="lead",
        because="order",
        changes=(),
        labels=30,
        folds=6,
        before=Interval(0.66, 0.5, 0.8),
        after=Interval(0.65, 0.5, 0.8),
        difference=effect,
    )
    learned = joint_version(parent="news@2")
    edited = replace(learned, provenance=learned.provenance.model_copy(update={"edit": edit}))
    words = shown(edited)
    assert (
        "Edited by lead from news@2: held-out Pearson 0.66 before, 0.65 after on the same 30 labels, difference -0.01"
        in words
    )
    assert "optimistic if the edit was made with these labels in view" in words


def test_a_rubric_not_compared_with_the_judge_alone_says_so() -> None:
    words = shown(decided("better"))
    assert "Not compared with the same judge asked directly, as it was not asked while learning." in words
    assert "evaluate both: `rubriclab learn … --method direct`" in steps(decided("better"))
