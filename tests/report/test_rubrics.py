"""Views of rubrics: the conclusion, criteria, units, training and single texts."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from report_samples import (
    QUESTIONS,
    against_direct,
    checklist_part,
    examples,
    joint_record,
    joint_trust,
    joint_version,
    question,
    version,
    words_of,
)
from syrupy.assertion import SnapshotAssertion
from view_samples import VERDICTS, evaluated

from rubriclab.learning.gate import gate_verdict
from rubriclab.learning.pass_fail import decision_agreement, rater_decision_agreement
from rubriclab.learning.scoring import Score
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import CriterionRating, UnitVerdict
from rubriclab.models.evaluation import CALIBRATED, DIRECT, WHOLE, EvaluationRecord, GateVerdict, MoreLabels, Raters
from rubriclab.models.text import Units
from rubriclab.models.version import EditOrigin, Effort, TransferOrigin, Version
from rubriclab.ops.plan import PlanResult
from rubriclab.ops.versions import rank_disagreements
from rubriclab.report import rubrics, wording
from rubriclab.report.render import View, macro
from rubriclab.report.results import names_view
from rubriclab.report.rubrics import CAVEAT, badge_of, headline, parts_by_weight, score_axis_of, verdict, weight_in
from rubriclab.stats.intervals import Interval


def decided(outcome: Any, judge: str = "gpt-4o-mini", **fields: Any) -> Version:
    """Return a version whose gate has this outcome; `fields` go to the deciding verdict."""
    difference = fields.pop("difference", Interval(0.1, -0.1, 0.3))
    free = GateVerdict(against="word count", outcome=outcome, difference=difference, **fields)
    return joint_version(judge=judge, validation=joint_trust(verdicts=(free,)))


def against(direct: GateVerdict, free: Any = "better") -> Version:
    """Return a version compared with the judge asked directly, and by this outcome with a free baseline."""
    baseline = GateVerdict(against="all text features", outcome=free, difference=Interval(0.28, 0.07, 0.49))
    calibrated = joint_trust().verdicts[2]
    return joint_version(validation=joint_trust(verdicts=(baseline, direct, calibrated)))


def edited(learned: Version) -> Version:
    """Return a version that somebody has edited, with what that did to its agreement."""
    before, after, difference = Interval(0.66, 0.5, 0.8), Interval(0.65, 0.5, 0.8), Interval(-0.01, -0.03, 0.01)
    measured: dict[str, Any] = {"before": before, "after": after, "difference": difference, "labels": 30, "folds": 6}
    edit = EditOrigin(author="lead", because="order", changes=(), **measured)
    return replace(learned, provenance=learned.provenance.model_copy(update={"edit": edit}))


def on_other_texts(version: Version, outcome: Any, against: str, *, with_direct: bool = True) -> Version:
    """Return the version with an evaluation whose verdict has this outcome against this evaluator."""
    found = GateVerdict(against=against, outcome=outcome, difference=Interval(0.01, -0.01, 0.03))
    own: dict[str, Any] = {"judge": "gpt-4o", "data": "sha256:d", "n": 72, "groups": 18, "level": "group"}
    own |= {"created": datetime(2026, 11, 30, tzinfo=UTC), "order": Interval(0.64, 0.29, 0.84)}
    return replace(version, evaluation=EvaluationRecord(verdict=found, compared_with_direct=with_direct, **own))


LABELS, GROUPS = np.tile([0.0, 1.0], 6), list("abcdef" * 2)
ALIKE = decision_agreement("joint", LABELS, LABELS, LABELS, GROUPS)
AMONG_RATERS = rater_decision_agreement([(label, label, label * (n > 1)) for n, label in enumerate(LABELS)], GROUPS)
FEW: dict[str, Any] = {"difference": Interval(0.1), "few_groups": 3}
WORSE: dict[str, Any] = {"outcome": "worse", "difference": Interval(-0.1, -0.2, -0.05)}
EQUAL: dict[str, Any] = {"outcome": "not better", "difference": Interval(0.01, -0.01, 0.03)}
BESIDE = (ALIKE, *(ALIKE.model_copy(update={"name": name}) for name in (DIRECT, CALIBRATED)))
CONTRADICTING = Raters(alpha=Interval(-0.6), ceiling=None)
# What is concluded about a version, by what was found.
CONCLUSIONS = {
    "not validated": version(),
    "better than the judge asked directly": joint_version(),
    "worse than the judge asked directly": against(against_direct(None, None, **WORSE)),
    "as good as the judge asked directly": against(against_direct(None, None, **EQUAL)),
    "too few groups beside the judge asked directly": against(against_direct(None, None, **FEW)),
    "only the error undecided": against(against_direct("inconclusive", Interval(0.1, -0.1, 0.3), **EQUAL)),
    "not better than the free baseline": against(against_direct("better", Interval(0.24, 0.1, 0.38)), "not better"),
    "judge not asked directly, better": decided("better", difference=Interval(0.2, 0.1, 0.3)),
    "judge not asked directly, not better": decided("not better"),
    "judge not asked directly, more labels": decided("inconclusive", more_labels=MoreLabels(even=90, likely=240)),
    "judge not asked directly, too few groups": decided("inconclusive", **FEW),
    "offline judge": decided("not better", judge="embedded"),
    "edited": edited(joint_version(parent="news@2")),
    "edited, judge not asked directly": edited(decided("better", difference=Interval(0.2, 0.1, 0.3))),
    "raters contradict each other": joint_version(validation=joint_trust(raters=CONTRADICTING)),
    "verdicts beside those of raters": joint_version(validation=joint_trust(verdict_agreements=(ALIKE, AMONG_RATERS))),
    "worse, but as good on other texts": on_other_texts(
        against(against_direct(None, None, **WORSE)), "not better", "plain@1"
    ),
    "better than a free baseline on other texts, which does not count": on_other_texts(
        joint_version(), "better", "baseline: -words", with_direct=False
    ),
    "worse than a free baseline on other texts, which counts beside the judge asked directly": on_other_texts(
        joint_version(), "worse", "baseline: -words"
    ),
    "verdicts beside those of the judge asked directly": joint_version(
        validation=joint_trust(verdict_agreements=BESIDE)
    ),
    "judge not asked directly, undecidable": decided("inconclusive"),
    "verdicts of no two raters": joint_version(validation=joint_trust(verdict_agreements=(ALIKE,))),
}


def test_a_list_says_what_a_verdict_on_other_texts_is_against() -> None:
    shown = names_view([one for name, one in CONCLUSIONS.items() if "on other texts" in name]).csv()
    limited = "not compared with the judge asked directly; better than a text feature"
    assert {"no real gain over plain@1", limited} < {*re.findall("on other texts.*,(.*)\r", shown)}


def test_decisions_at_learning_are_called_so_below_an_evaluation_and_labels_single_where_it_is_known() -> None:
    beside = on_other_texts(CONCLUSIONS["verdicts beside those of raters"], "worse", "plain@1")
    assert "At learning, it decides 12 of 12" in macro("verdict_sentences", beside)
    assert "At learning, the rubric agrees with the labels" in macro("verdict_sentences", beside)
    shown = words_of(View(macro("verdict_block", edited(beside))), 200)
    assert "At its edit (figures below), on 30 texts, it was " in shown
    assert "At learning" not in shown
    alone = CONCLUSIONS["verdicts of no two raters"]
    reuse = TransferOrigin(action="reuse", judge="gpt-4o", aspect="order", data="sha256:d", labels=30)
    moved = replace(alone, provenance=alone.provenance.model_copy(update={"transfer": reuse}))
    assert "This file has one label per text" in macro("verdict_sentences", alone)
    assert "raters agree was not measured here" in macro("verdict_sentences", moved)


def test_no_name_in_a_list_breaks_inside_a_word_and_columns_that_do_not_fit_are_named() -> None:
    long = replace(CONCLUSIONS["worse, but as good on other texts"], name="summarization-coherence-direct")
    shown = words_of(names_view([long]), 80)
    assert {long.ref, "coherence", "plain@1"} <= {*shown.split()}
    assert "Not at this width: " in shown


@pytest.mark.parametrize("counts", [True, False])
def test_a_plan_and_scores_give_the_verdict_that_counts(counts: bool) -> None:
    worse = against(against_direct(None, None, **WORSE))
    one = on_other_texts(worse, "inconclusive", "direct@1", with_direct=counts)
    plan = words_of(PlanResult(one, (), 24, one.effort).view())
    assert ("did not pass at learning" in plan) != counts
    for shown in (plan, verdict(one)):
        assert shown.startswith("Inconclusive compared with direct@1, on 72 other texts" if counts else "Worse than")
    assert verdict(one, at_learning=True) == verdict(worse)


def test_an_evaluation_of_an_earlier_release_shows_one_side_and_the_gain() -> None:
    one = CONCLUSIONS["worse, but as good on other texts"]
    assert not {"other", "decisions", "points"} & one.evaluation.model_dump().keys()
    assert "this rubric gain over plain@1" in words_of(View(macro("lead_table_of", one)), 200)


@pytest.mark.parametrize("known", [True, False])
def test_of_two_equal_sides_the_cheaper_is_advised_with_what_it_saves_or_else_the_rubric(known: bool) -> None:
    tokens = {"single_call/judge": 209_953, **({"direct/rate": 840} if known else {})}
    effort = Effort(stages={"single_call/judge": 72, "direct/rate": 2}, stage_tokens=tokens)
    both = wording.scoring_calls(replace(joint_version(), effort=effort)), wording.with_tokens(1, effort, "direct/rate")
    less = "about 420 instead of 12,000 tokens per text" if known else "1 instead of 4 calls per text"
    of_direct = f"b@1, which takes {less}, or with a@1 if you need reasons by criterion:"
    of_rubric, cheaper = "a@1, which gives reasons by criterion", f" and takes {less}"
    pairs = {both: of_direct, both[::-1]: of_rubric + cheaper, (both[0], wording.CallsPerText()): f"{of_rubric}:"}
    for pair, advice in pairs.items():
        shown = str(macro("equal_advice", "a@1", rubrics.cheaper("a@1", "b@1", *pair), []))
        assert " ".join(shown.split()).startswith(advice)


def test_steps_beside_a_calibrated_judge_name_stored_versions_only() -> None:
    for outcome in ("better", "inconclusive", "not better", "worse"):
        shown = str(macro("steps_of", on_other_texts(joint_version(), outcome, "b@1, calibrated")))
        named = {*re.findall("(?:--rubric|transfer) ([^ <]+)", shown)}
        assert named == {"b@1" if outcome == "worse" else "news@3"}


def test_a_headline_says_which_measure_decides() -> None:
    opposed = "News orders texts closer to people's order, but gives scores farther from people's than a"
    cases: tuple[tuple[Any, Any, str], ...] = (
        ("better", "not better", "News orders texts closer to people's order than a"),
        ("better", "worse", opposed),
        ("inconclusive", "not better", "It is not known whether news agrees with people better or worse than a"),
    )
    for order, error, said in cases:
        gains = GateVerdict(against="a", outcome=order, difference=Interval(0.1), error_outcome=error)
        assert headline(gains, "a", "news") == said


def test_equal_orders_are_called_equal_and_not_a_lack_of_groups() -> None:
    scale = joint_version().rubric.score_scale
    equal = gate_verdict("a", Interval(0.0), None, scale, n_labels=36, clusters=6)
    assert rubrics.gain_outcomes(equal) == ("", "equal")
    assert headline(equal, "a", "news@1") == "news@1 orders these texts exactly as well as a"
    assert macro("more_labels", equal).startswith("Both order these texts equally well, whichever group is left out: ")
    in_error = gate_verdict("a", Interval(0.0), Interval(0.1, -0.1, 0.3), scale, n_labels=36, clusters=6)
    assert macro("more_labels", in_error).endswith("how many labels would decide it is not estimated")
    few = gate_verdict("a", Interval(0.0), None, scale, n_labels=36, clusters=4)
    assert rubrics.gain_outcomes(few)[1] == "too few groups to tell"
    assert (equal.lacking_groups, few.lacking_groups) == (None, 1)


def test_a_better_verdict_that_the_criteria_may_not_explain_says_so_in_the_headline_alone() -> None:
    whole = GateVerdict(against=WHOLE, outcome=None, difference=Interval(0.0, -0.1, 0.1))
    one = joint_version(validation=joint_trust(verdicts=(*joint_trust().verdicts, whole)))
    shown = words_of(View(macro("verdict_block", one)), 200)
    assert re.findall(f"BETTER .*?{CAVEAT}|{CAVEAT}", shown) == [f"BETTER {badge_of(one).headline}"]
    assert badge_of(one).tone == "qualified"


@pytest.mark.parametrize("name", CONCLUSIONS)
def test_the_conclusion_says_what_was_found_and_what_to_do_next(name: str, snapshot: SnapshotAssertion) -> None:
    one = CONCLUSIONS[name]
    shown = View(macro("offline_banner", one) + macro("verdict_block", one))
    assert words_of(shown, 200) == snapshot


def test_commands_are_shown_as_code_in_pages_and_markdown() -> None:
    view = View(macro("verdict_block", decided("better")))
    page = view.page()
    assert "`" not in page.partition("<main>")[2]
    assert '<code class="unbroken"><span>rubriclab</span> <span>score</span> <span>TEXTS</span> ' in page
    assert "`rubriclab score TEXTS --rubric news@3`" in view.markdown()


EVIL = "<script>alert(1)</script>"


def test_a_page_shows_the_verdict_on_each_unit_the_failing_ones_first() -> None:
    units = Units(kind="fact", beside=("source",))
    own = {"method": "seal", "units": units, "settings": {"weights": "as packed"}, "dropped": ()}
    part = checklist_part(question("f1", support="source"), QUESTIONS[2]).model_copy(update=own)
    made, texts = version(name="pieces", parts=(part,)), examples()
    verdicts = (
        UnitVerdict("The dam broke.", (0,), 1.0, "So the source says.", ("The dam gave way.",)),
        UnitVerdict("Ten died.", (1,), 0.0, "The source has nobody die."),
        UnitVerdict(f"It rained. {EVIL}", (2,), None, "No answer came."),
        UnitVerdict("All of it.", (), 0.25, "Only the start."),
    )
    rating = CriterionRating("f1", 0.5, "Half.", units=verdicts)
    scores = [
        Score(text.id, "coherence", 1.0 + number % 5, (rating,), None, made.ref, "fake")
        for number, text in enumerate(texts)
    ]
    page = evaluated([made], {made.ref: scores}, texts).page()
    found = [page.index(words) for words in ("Ten died.", "All of it.", "The dam broke.")]
    assert found == sorted(found)
    assert all(words in page for words in ("by: The dam gave way.", "holds", "fails", "none", "25% of the scale"))
    assert EVIL not in page


def test_criteria_come_by_weight_and_wrong_decisions_before_scores_further_from_the_label() -> None:
    one, record = joint_version(), joint_record()
    weights = [[weight_in(each.id, one.rubric) for each in own] for _, own in parts_by_weight(one.rubric)]
    assert all(own == sorted(own, reverse=True) for own in (*weights, [own[0] for own in weights]))
    summed = one.rubric.aggregation.model_copy(update={"onto": VERDICTS, "threshold": 0.7})
    one = joint_version(rubric=one.rubric.model_copy(update={"aggregation": summed}))
    scored: Any = ({"label": 0.0, "predicted": 0.6}, {"label": 1.0, "predicted": 0.65, "output": "word " * 100})
    texts = tuple(text.model_copy(update=own) for text, own in zip(record.texts, scored, strict=False))
    found = rank_disagreements(one, record.model_copy(update={"texts": texts, "cells": record.cells[:2]}))
    assert [each.text.label for each in found] == [1.0, 0.0]
    shown = words_of(View(macro("disagreement_card", score_axis_of(one, texts), one, found[0])), 200)
    assert "people good, rubric bad, 0.65 [1.69, 3.89] (90 %) decided wrongly" in shown
    assert "does not store those counted" in macro("wrong_decisions", one, record)
    tied = record.model_copy(update={"texts": (*texts, texts[0].model_copy(update={"label": 0.5}))})
    assert "1 of 2 texts is decided wrongly" in macro("wrong_decisions", one, tied)
    by_fold = [text.model_copy(update={"passed": True}) for text in texts]
    assert not by_fold[1].decided_wrongly(0.7)
    assert 0.7 in score_axis_of(one, texts).ticks
    assert 0.7 not in score_axis_of(one, by_fold).ticks, "the threshold of a fold may be another"
    assert macro("marks", one, by_fold, held_back=True).endswith("other sources, which this version does not store.")
    by_fold[0] = by_fold[0].model_copy(update={"threshold": 0.41})
    assert macro("marks", one, by_fold, held_back=True).endswith("other sources (the coloured line in its row).")
    assert "</bdi> from 0.41" in macro("score_words", one.rubric, by_fold[0], "")
    assert "full text" not in shown


@pytest.mark.parametrize(("wrong", "shown", "said"), [(8, 8, "all of them"), (15, 12, "the 12 "), (1, 6, "come next")])
def test_a_list_of_disagreements_says_which_it_shows(wrong: int, shown: int, said: str) -> None:
    assert said in macro("wrong_first", wrong, shown)


def test_criteria_help_only_if_an_interval_shows_it_and_a_lower_order_is_not_closer() -> None:
    without_interval = GateVerdict(against=WHOLE, outcome=None, difference=Interval(0.2))
    one = joint_version(validation=joint_trust(verdicts=(*joint_trust().verdicts[:3], without_interval)))
    assert rubrics.criteria_may_not_help(one)
    claims = ((0.01, "orders texts at most slightly closer to"), (-0.01, "does not order texts closer to"))
    for gain, said in claims:
        found = GateVerdict(against="direct", outcome="not better", difference=Interval(gain, -0.03, 0.03))
        assert headline(found, "X") == f"This rubric {said} people's order than X"


def test_evaluators_on_fewer_texts_than_the_rubric_say_how_many() -> None:
    trust = joint_trust()
    fewer = tuple(each.model_copy(update={"n": 25}) if each.name == "direct" else each for each in trust.evaluators)
    one = joint_version(validation=trust.model_copy(update={"evaluators": fewer}))
    assert "directly, on 25 of 30 texts" in words_of(View(macro("verdict_block", one)), 200)
    assert " of 30 texts" not in words_of(View(macro("verdict_block", joint_version())), 200)


def test_settings_of_a_preset_are_called_by_its_name() -> None:
    for name, method in METHODS.items():
        for preset, chosen in method.presets.items():
            settings = method.settings.model_validate(chosen).model_dump(mode="json")
            assert wording.preset(name, settings) == preset
        assert wording.preset(name, {}) == ""
    settings = {"hypoeval": METHODS["hypoeval"].presets["paper"]}
    assert "as by preset=paper" in macro("settings", version(settings=settings))
