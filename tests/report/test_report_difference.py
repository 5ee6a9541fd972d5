"""What changed between two versions."""

from __future__ import annotations

from dataclasses import replace

from joint_samples import joint_trust, joint_version
from kinds_samples import (
    EXPLANATION,
    demonstration,
    explained,
    shown,
    unlabelled,
)
from report_samples import criterion, interval, printed, version, words_of

from rubriclab.models.rubric import Part
from rubriclab.models.version import EditOrigin, GateVerdict, Version
from rubriclab.report.results import difference_view
from rubriclab.store.diff import compare


def difference(before: Version, after: Version) -> str:
    """Return the words of the difference."""
    return words_of(difference_view(compare(before, after)))


def test_a_difference_names_every_change() -> None:
    before = version()
    assert before.provenance.agreement
    reworded = criterion(statement="Each sentence takes up the last one.")
    added = criterion("h09", "vivid verbs", statement="Verbs show the scene at hand.")
    after = version(
        2,
        seed=2,
        parts=(Part(method="hypoeval", settings={"k": 10}, criteria=(reworded, added)),),
        examples=tuple(f"new-{number:02}" for number in range(12)),
        data="sha256:" + "c" * 64,
        agreement=before.provenance.agreement.model_copy(update={"pearson": interval(0.5)}),
    )
    words = difference(before, after)
    for part in (
        "news@1 to news@2 The rubrics are different.",
        "seed 114514 2",
        "data sha256:bbbbbbbbbbbb sha256:cccccccccccc",
        "Pearson, fitted 0.68 [0.50, 0.80] 0.50",
        "0 unchanged, 1 changed, 1 added, 1 removed",
        "- a clear end",
        "+ vivid verbs Verbs show the scene at hand.",
        "~ linked sentences",
        "statement - Each sentence takes up the one before. + Each sentence takes up the last one.",
        "Training texts +12 -3",
        "new-09 and 2 more",
        "- train-1, train-2, train-3",
    ):
        assert part in words
    assert "Kendall" not in words


def test_a_changed_explanation_is_compared_line_by_line() -> None:
    after = explained(2, EXPLANATION.replace("reads as one", "is one").replace("I look at:", "I look at this:"))
    lines = [line.strip() for line in printed(difference_view(compare(explained(), after)), 120).splitlines()]
    changed = lines[lines.index("statement") + 1 :]
    assert [line for line in changed if line[:1] in "-+…"] == [
        "- I look at:",
        "+ I look at this:",
        "…",
        "- A 5 reads as one account.",
        "+ A 5 is one account.",
    ]


def test_a_change_of_white_space_alone_is_said_to_be_one() -> None:
    after = explained(2, EXPLANATION.replace("\n\n", "\n\n\n"))
    assert "statement white space only" in difference(explained(), after)


def test_both_verdicts_and_held_out_agreement_come_first_and_an_edit_with_its_paired_effect() -> None:
    edit = EditOrigin(
        by="lead", because="order", changes=(), labels=30, folds=6, difference=interval(-0.1, -0.2, -0.05)
    )
    worse = joint_trust(verdicts=(GateVerdict(against="word count", outcome="not better", difference=interval(0.0)),))
    first = joint_version()
    made = first.provenance.model_copy(update={"validation": worse, "edit": edit})
    words = difference(first, replace(first, number=4, parent=first.ref, provenance=made))
    assert "news@3: better; news@4: not better." in words
    effect = "Held-out Pearson changes by -0.10 [-0.20, -0.05]: the edited rubric agrees less with these labels."
    assert words.startswith(f"news@3 to news@4 {effect}")
    assert "not comparable. news@3: by cross-validation of the whole learning procedure; news@4: by refitting" in words
    assert words.index("Pearson, held out 0.66 [0.47, 0.81]") < words.index("How it was learned")


def test_texts_that_the_judge_is_newly_shown_are_shortened() -> None:
    words = difference(shown(demonstration("a")), shown(demonstration("a"), demonstration("b")))
    assert "demonstration b, output + The text b. It goes on." in words
    assert "demonstration b, score + 2.0" in words
    assert "demonstration a" not in words
    assert words.count("It goes on.") < 30


def test_figures_are_called_optimistic_only_where_labels_were_learned_from() -> None:
    better = explained(2, agreement=version().provenance.agreement)
    mixed = difference(explained(), better)
    assert "on the labels that the rubric was fitted to, which is optimistic" in mixed
    assert "Spearman, cross-validated 0.42 [0.21, 0.67] 0.44" in mixed
    honest = difference(unlabelled(), explained())
    assert "Agreement with the training labels labels not learned from before after" in honest
    assert "Spearman not measured 0.42 [0.21, 0.67]" in honest
    assert "cross-validated" not in honest
