"""Labels of two levels from learning to scores: the sample, its labels turned into verdicts."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import HELDOUT, LABELLED

from rubriclab import Lab, SettingsError, Version
from rubriclab.errors import DataError
from rubriclab.models.evaluation import is_free_baseline
from rubriclab.ops.evaluate import reason_to_keep
from rubriclab.ops.options import EditOptions
from rubriclab.ops.scores import summarize_scores
from rubriclab.prompts.render import prompts_digest
from rubriclab.report.results import names_view
from rubriclab.report.rubrics import learned_view, training_view
from rubriclab.web.studio.pages import EditDraft

LEARN: dict[str, Any] = {"task": "summarization", "aspect": "ok", "definition": "The summary is coherent."}


def as_verdicts(path: Path, least: float = 4, words: tuple[str, str] = ("fail", "pass")) -> list[dict[str, Any]]:
    """Return the rows of a file of the sample, in which texts with this score pass."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        score = row.pop("scores")["coherence"]
        row |= {"scores": {"ok": words[score >= least]}}
        for field in ("annotations", "raters", "reasons"):
            row.pop(field, None)
    return rows


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("verdicts") / "store.db"


@pytest.fixture(scope="module")
def rubric(store: Path) -> Version:
    return Lab(store, progress=None).learn(as_verdicts(LABELLED), **LEARN, prefer_recall_of="fail=0.9")


@pytest.fixture(scope="module")
def lab(store: Path, rubric: Version) -> Lab:
    return Lab(store, progress=None)


@pytest.mark.parametrize(("level", "name"), [(0, "fail"), (1, "pass")])
def test_a_recall_that_few_labels_do_not_ensure_is_said_with_the_texts_found(
    tmp_path: Path, level: int, name: str
) -> None:
    notes: list[str] = []
    asked = Lab(tmp_path / "store.db", notify=notes.append, progress=None)
    version = asked.learn(as_verdicts(LABELLED), **LEARN, prefer_recall_of=f"{name}=0.9")
    counted = version.provenance.validation.verdict_agreements[0].cells[2 * level : 2 * level + 2]
    (note,) = [note for note in notes if "ensure a recall" in note]
    pattern = rf"the threshold finds (\d+) of {sum(counted)} labelled texts at '{name}'; .* recall of 0.9 "
    found = re.search(pattern, note)
    assert int(found[1]) >= 0.9 * sum(counted)


def test_labels_on_another_scale_are_refused_and_change_no_stored_verdict(
    lab: Lab, rubric: Version, tmp_path: Path
) -> None:
    (before,) = lab.evaluate(as_verdicts(HELDOUT), rubric).records().values()
    rows = [{**row, "scores": {"ok": 1 + number % 5}} for number, row in enumerate(as_verdicts(HELDOUT))]
    anchor, ref = tmp_path / "anchor.jsonl", rubric.ref
    anchor.write_text("\n".join(map(json.dumps, rows)))
    for refused in (
        lambda: lab.evaluate(rows, ref),
        lambda: lab.compare(rows, rows, ref),
        lambda: lab.drift(str(anchor), ref, anchor=True),
        lambda: lab.score(rows, ref, labels_in="scores.ok"),
    ):
        with pytest.raises(DataError, match=r"labels of 'ok' are not on the scale of .*'fail'.* 1 \(certainly 'pass"):
            refused()
    assert lab.load(ref).evaluation.verdict == before.verdict


def test_every_operation_reads_the_words_of_the_rubrics_levels(lab: Lab, tmp_path: Path) -> None:
    learned_rows, rows = (as_verdicts(path, words=("bad", "good")) for path in (LABELLED, HELDOUT))
    rubric, anchor = lab.learn(learned_rows, **LEARN, scale="bad:good", name="own"), tmp_path / "anchor.jsonl"
    anchor.write_text("\n".join(map(json.dumps, rows)))
    assert lab.score(rows, rubric, labels_in="scores.ok").summary.to_row()["labels"] == 72
    assert lab.compare(rows, rows[::-1], rubric).result.before.labelled == 72
    assert lab.drift(str(anchor), rubric, anchor=True).result.texts == 72
    assert lab.plan(rows, rubric).texts == ()
    assert lab.explain(rows, rubric, id=rows[0]["id"]).score.score
    assert lab.improve(rows[:1], rubric).texts[0].unscored is None
    with lab.scorer(rubric) as scorer:
        assert scorer.score_rows(rows[:2]).unscored == ()


def test_words_in_the_reverse_order_are_asked_about_before_they_make_a_rubric_look_bad(
    store: Path, rubric: Version
) -> None:
    notes: list[str] = []
    turned = Lab(store, notify=notes.append, progress=None)
    turned.evaluate(as_verdicts(HELDOUT), rubric, include_training=True, level_scores={"pass": 0, "fail": 1})
    assert "'fail' is higher than 'pass': is that meant?" in notes


def test_scores_are_probabilities_by_a_logistic_map_and_the_verdict_follows_the_threshold(
    lab: Lab, rubric: Version
) -> None:
    aggregation, validation = rubric.rubric.aggregation, rubric.provenance.validation
    assert rubric.rubric.scale.names == ("fail", "pass")
    assert (aggregation.calibration.kind, aggregation.conformal) == ("logistic", None)
    assert [agreement.name for agreement in validation.verdict_agreements] == ["joint", "direct", "direct, calibrated"]
    assert sum(validation.verdict_agreements[0].cells) == validation.n
    wrong = sum(text.decided_wrongly(None) for text in lab.training_record(rubric.ref).texts)
    assert wrong == sum(validation.verdict_agreements[0].cells[1:3])
    assert f"{wrong} of {validation.n} texts" in str(lab.disagreements(rubric))
    threshold = aggregation.threshold
    assert threshold is not None
    recorded = lab.explain(rubric=rubric, id=lab.training_record(rubric.ref).texts[0].id).score
    scores = lab.score(as_verdicts(HELDOUT), rubric)
    assert re.search(r"^text +score +verdict +reason$", str(scores), re.MULTILINE)
    assert re.search(rf"^{scores[0].id} +[\d.]+ +{scores[0].verdict} ", str(scores), re.MULTILINE)
    for row in (recorded.to_row(), *scores.to_rows()):
        assert 0 < row["score"] < 1
        assert row["verdict"] == ("pass" if row["score"] >= threshold else "fail")


def test_a_transfer_recalibrates_the_threshold_keeps_the_levels_and_states_auroc(lab: Lab, rubric: Version) -> None:
    result = lab.transfer(rubric, as_verdicts(HELDOUT), action="recalibrate", save=True, no_relearn=True)
    aggregation, validation = result.saved.rubric.aggregation, result.saved.provenance.validation
    assert result.saved.rubric.score_scale.names == ("fail", "pass")
    assert (aggregation.calibration.kind, aggregation.conformal) == ("logistic", None)
    assert aggregation.threshold is not None
    (own,) = validation.verdict_agreements
    assert sum(own.cells) == len(as_verdicts(HELDOUT))
    texts = lab.training_record(result.saved.ref).texts
    assert sum(own.cells[1:3]) == sum(text.decided_wrongly(None) for text in texts)
    assert own.auroc == validation.evaluators[0].auroc
    assert all(each.auroc.value > 0.5 for each in result.transfer.actions if not each.skipped)


def test_a_reused_rubric_is_said_to_be_fitted_to_no_label_of_the_target(lab: Lab, rubric: Version) -> None:
    reused = lab.transfer(rubric, as_verdicts(HELDOUT), action="reuse", save=True, no_relearn=True, name="reused").saved
    for page in (str(learned_view(reused)), str(lab.gate(reused)), str(training_view(reused, None))):
        shown = " ".join(page.split())
        assert not re.search("in each fold, learned|cross-validated|Cross-validation|its 72 training texts", shown)
        assert re.search("on 72 texts of \\d+ groups, to which it was not fitted", shown)


def test_a_judge_asked_directly_is_not_compared_with_itself_and_is_learned_again_as_one(lab: Lab) -> None:
    rows = as_verdicts(HELDOUT)
    direct = lab.learn(as_verdicts(LABELLED), **LEARN, methods="direct", name="itself")
    moved = lab.transfer(direct, rows[:36], action="recalibrate", save=True, no_relearn=True, name="moved-itself").saved
    assert not {"direct", "direct, calibrated"} & {each.against for each in moved.provenance.validation.verdicts}
    shown = " ".join(str(lab.gate(moved)).split())
    assert "Compared with free baselines only, as it is itself the judge asked directly." in shown
    assert "the same judge" not in shown
    calls = re.findall("lab.learn\\(LABELLED.*", str(lab.evaluate(rows[36:], [moved, direct])))
    assert {"direct" in each for each in calls} == {True}


def test_a_threshold_set_by_hand_is_used_recorded_and_kept_by_edits_and_transfers_until_it_is_lifted(
    lab: Lab, rubric: Version
) -> None:
    result = lab.edit(rubric, threshold=0.8, author="anna", because="missed faults cost more", name="strict")
    strict = result.saved
    assert (result.effect.threshold_before, result.effect.threshold_after) == (rubric.rubric.threshold, 0.8)
    assert ("threshold", 0.8) in [(each.field, each.after) for each in lab.diff(rubric, strict).fields]
    rows = lab.score(as_verdicts(HELDOUT), strict).to_rows()
    assert all((row["verdict"] == "pass") == (row["score"] >= 0.8) for row in rows)
    assert all(text.passed == (text.predicted >= 0.8) for text in lab.training_record(strict.ref).texts)
    edit = strict.provenance.edit
    assert [(each.action, each.after) for each in edit.changes] == [("threshold", "0.8")]
    first, *_ = (each.id for each in strict.rubric.criteria)
    adapted = lab.transfer(strict, as_verdicts(HELDOUT), action="recalibrate", save=True, no_relearn=True).saved
    assert adapted.rubric.threshold == 0.8
    assert lab.edit(strict, drop=first, preview=True).rubric.threshold == 0.8
    lifted = lab.edit(strict, threshold="learned", preview=True)
    assert lifted.rubric.threshold == rubric.rubric.threshold


def test_the_effect_of_an_edited_threshold_is_in_verdicts(lab: Lab, rubric: Version) -> None:
    result = lab.edit(rubric, threshold=0, preview=True)
    effect = result.effect
    assert effect.statistic == "balanced accuracy"
    assert [recall.value for recall in effect.verdicts[1].recalls] == [0, 1]
    assert effect.after.value == 0.5
    assert effect.difference.value == pytest.approx(effect.after.value - effect.before.value, abs=1e-4)
    assert effect.before == effect.recorded
    validation = rubric.provenance.validation
    assert effect.verdicts[0].auroc == validation.evaluators[0].auroc


def test_a_threshold_is_a_probability_and_only_of_a_rubric_with_verdicts(lab: Lab, rubric: Version) -> None:
    for given, threshold in (("0.8", 0.8), (0.8, 0.8), ("learned", "learned")):
        draft = EditDraft.model_validate({"threshold": given})
        assert draft.threshold == EditOptions(threshold=given).threshold == threshold
    graded = lab.learn(LABELLED, task="summarization", aspect="coherence", methods=["direct", "geval"], name="graded")
    for ref, threshold, message in (
        (rubric, 1.5, "scores are probabilities"),
        (rubric, "high", "a number from 0 to 1, or learned"),
        (graded, 0.5, "without pass and fail"),
    ):
        with pytest.raises(SettingsError, match=message):
            lab.edit(ref, threshold=threshold, preview=True)


def test_the_summary_has_the_share_that_passes_and_fail_under_goes_by_it(lab: Lab, rubric: Version) -> None:
    scores = lab.score(as_verdicts(HELDOUT), rubric)
    summary = scores.summary
    passing = sum(score.verdict == "pass" for score in scores) / len(scores)
    assert summary.pass_rate == passing == summary.to_row()["pass_rate"]
    assert summary.human_mean.low is not None
    assert summary.meets(1.0) is False
    without_labels = summarize_scores(scores, rubric.rubric.score_scale, rubric.rubric.threshold)
    assert without_labels.meets(passing) is True
    assert without_labels.meets(passing + 0.01) is False


def test_the_gate_compares_auroc_and_brier_score_with_the_judge_asked_directly(lab: Lab, rubric: Version) -> None:
    validation = rubric.provenance.validation
    by_name = {each.name: each for each in validation.evaluators}
    own, direct, calibrated = (by_name[name] for name in ("joint", "direct", "direct, calibrated"))
    found, against_calibrated = validation.verdict_against("direct"), validation.verdict_against("direct, calibrated")
    assert against_calibrated is not None
    assert found.difference.value == pytest.approx(own.auroc.value - direct.auroc.value, abs=1e-5)
    assert found.less_error.value == pytest.approx(direct.brier.value - own.brier.value, abs=1e-5)
    assert rubric.provenance.agreement.reselected == own.auroc
    assert calibrated.auroc == direct.auroc
    assert calibrated.brier != direct.brier
    agreement = {each.name: each for each in validation.verdict_agreements}
    assert (agreement["joint"].auroc, agreement["joint"].brier) == (own.auroc, own.brier)
    assert (agreement["direct"].auroc, agreement["direct"].brier) == (direct.auroc, direct.brier)
    gate = str(lab.gate(rubric))
    assert "AUROC" in gate
    for shown in (gate, str(lab.versions()), str(rubric).partition("8 criteria")[0]):
        assert not {"Pearson", "Spearman"} & set(re.findall(r"\w+", shown))


def test_a_rubric_of_one_method_has_an_auroc_instead_of_correlations(lab: Lab, rubric: Version) -> None:
    made = lab.learn(as_verdicts(LABELLED), **LEARN, methods="hypoeval", name="only-hypoeval")
    agreement = made.provenance.agreement
    assert agreement.auroc is not None
    names = str(names_view([made]))
    shown = agreement.reselected if agreement.optimistic else agreement.auroc
    assert f"{shown.value:.2f} [{shown.low:.2f}, {shown.high:.2f}]" in names
    diff = lab.diff(rubric, made)
    assert {"auroc", "reselected"} <= {each.statistic for each in diff.agreement}
    for words in (str(made), str(diff).partition("How it was learned")[0], names):
        assert "AUROC" in words
        assert not {"Pearson", "Spearman", "Kendall"} & set(re.findall(r"\w+", words))


def test_an_evaluation_shows_the_verdicts_on_other_texts(lab: Lab, rubric: Version, store: Path) -> None:
    direct = lab.learn(as_verdicts(LABELLED), **LEARN, methods="direct", name="asked")
    found = lab.evaluate(as_verdicts(HELDOUT), [rubric, direct])
    shown, rows = str(found), {row["evaluator"]: row for row in found.to_row()["results"]}
    compared = {(row["evaluator"], row["compared_with"]): row for row in found.to_row()["comparisons"]}
    gains = compared[rubric.ref, direct.ref]
    assert (gains["measure"], gains["n"], gains["less_error_n"]) == ("AUROC", 72, 72)
    for gain, measure, sign in (("less_error", "brier", -1), ("difference", "auroc", 1)):
        difference = rows[rubric.ref][measure]["value"] - rows[direct.ref][measure]["value"]
        assert gains[gain]["value"] == pytest.approx(sign * difference, abs=1e-5)
    cells = found.to_frame()
    differences = cells[cells.table == "Differences"]
    assert [*differences.column] == [f"difference in {each}" for each in ("Brier score", "AUROC", "AUROC", "AUROC")]
    assert {*zip(differences.aspect, differences.level, differences.n, strict=True)} == {("ok", "dataset", 72)}
    assert f"Calibration of the scores by {rubric.ref}" in {*cells.table}
    assert not {"pearson", "spearman", "kendall"} & {name for row in rows.values() for name in row}
    assert not {"Pearson", "Spearman"} & set(shown.replace(",", " ").split())
    assert [*rows][:2] == [rubric.ref, direct.ref]
    for ref, decided in zip((rubric.ref, direct.ref), found.decisions[0].rubrics, strict=True):
        own = rows[ref]
        assert sum(own["cells"]) == len(as_verdicts(HELDOUT))
        assert own["verdict"] == decided.verdict.overall
        assert own["threshold"] == lab.load(ref).rubric.threshold
        assert all(own[name]["low"] <= own[name]["value"] <= own[name]["high"] for name in ("auroc", "brier", "kappa"))
        ((other, above),) = own["auroc_above"].items()
        assert above["value"] == pytest.approx(own["auroc"]["value"] - rows[other]["auroc"]["value"], abs=1e-5)
    # The judge asked directly decides where it is better, also if the rubric is better than what is free.
    labels = (example.scores["ok"] for example in found.examples)
    scored_labels = zip(found.scores[direct.ref], labels, strict=True)
    perfect = tuple(replace(score, score=float(label)) for score, label in scored_labels)
    beaten = replace(found, scores={**found.scores, direct.ref: perfect})
    rows = {row["evaluator"]: row for row in beaten.to_row()["results"]}
    above = rows[rubric.ref]["auroc_above"][direct.ref]["value"]
    assert above == pytest.approx(rows[rubric.ref]["auroc"]["value"] - 1, abs=1e-5)
    worse = f"WORSE {rubric.ref} agrees with people less than {direct.ref}, the same judge asked directly"
    assert worse in " ".join(str(beaten).split())
    record = beaten.records()[rubric.ref]
    assert (record.other.asked_directly, record.other.n) == (True, record.n)
    assert record.error == record.decisions.brier
    assert record.other.error.value == 0
    # The same judge decides whatever the order; another judge alone is not the same.
    other = replace(direct, name="other")
    of_other = tuple(replace(score, judge="other") for score in found.scores[direct.ref])
    scores = {**beaten.scores, other.ref: of_other}
    for versions in ((rubric, direct, other), (rubric, other, direct)):
        record = replace(found, versions=versions, scores=scores).records()[rubric.ref]
        assert (record.verdict.against, record.compared_with_direct) == (direct.ref, True)
    scores[other.ref] = tuple(replace(score, judge="other") for score in perfect)
    record = replace(found, versions=(rubric, other), scores=scores).records()[rubric.ref]
    assert (record.verdict.against, record.compared_with_direct) == (other.ref, False)
    # Where a free baseline decides, the record still says whether the judge asked directly was compared.
    reversed_scores = tuple(replace(score, score=1 - (score.score or 0.0)) for score in perfect)
    beside_direct = replace(found, scores={**found.scores, direct.ref: reversed_scores})
    notes: list[str] = []
    noting = Lab(store, notify=notes.append, progress=None)
    alone = noting.evaluate(as_verdicts(HELDOUT), rubric)
    # A record with the judge asked directly is not replaced by one without it.
    kept = noting.load(rubric.ref).evaluation
    assert kept.compared_with_direct
    assert re.search(r"store keeps the verdict on \S+ on 72 texts .*, which compares with the same judge", notes[-1])
    counting = "The verdict of an earlier evaluation counts, as it "
    assert f"{counting}compares with the same judge asked directly: " in " ".join(str(alone).split())
    noting.evaluate(as_verdicts(HELDOUT), [rubric, direct])
    assert re.search(r"store replaces the verdict on asked@1 on 72 texts of", notes[-1])
    fewer = noting.evaluate(as_verdicts(HELDOUT)[:48], [rubric, direct])
    assert f"{counting}is on more texts: " in " ".join(str(fewer).split())
    # A new evaluation of the same texts counts, even if an earlier release counted more of them.
    assert reason_to_keep(kept.model_copy(update={"n": kept.n + 1}), kept) == ""
    assert reason_to_keep(kept.model_copy(update={"n": kept.n + 1, "data": "sha256:d"}), kept) == "is on more texts"
    few = kept.model_copy(update={"groups": 4, "data": "sha256:d", "compared_with_direct": True})
    enough = "is on texts of 5 groups or more"
    assert reason_to_keep(kept, few) == reason_to_keep(alone.kept[rubric.ref][0], few) == enough
    few, without_direct = kept.model_copy(update={"groups": 4}), kept.model_copy(update={"compared_with_direct": False})
    assert reason_to_keep(without_direct, few) == enough
    for evaluation, compared_with_direct in ((beside_direct, True), (alone, False)):
        record = evaluation.records()[rubric.ref]
        assert is_free_baseline(record.verdict.against)
        assert record.compared_with_direct == compared_with_direct


def test_a_verdict_counts_by_the_own_judge_on_unseen_texts_of_enough_groups_with_labels_that_differ(
    lab: Lab, rubric: Version
) -> None:
    rows = as_verdicts(HELDOUT)
    new = replace(lab.evaluate(rows, rubric), kept={})
    by_other = tuple(replace(score, judge="other") for score in new.scores[rubric.ref])
    seen = rubric.provenance.model_copy(update={"groups": tuple(example.group for example in new.examples)})
    few = lab.evaluate([{**row, "source": "one", "group": "one"} for row in rows], rubric)
    for evaluation, why in (
        (replace(new, scores={rubric.ref: by_other}), "the scores are by another judge than the rubric's own"),
        (replace(new, versions=(replace(rubric, provenance=seen),)), "the rubric was learned from some of these texts"),
        (few, "texts of fewer than 5 groups give no verdict"),
    ):
        assert evaluation.records() == {}
        assert f"The verdict at learning counts, as {why}" in " ".join(str(evaluation).split())
    assert few.decisions[0].rubrics[0].verdict.more_labels, "with one group, the texts count as groups"
    equal = lab.evaluate([{**row, "scores": {"ok": "pass"}} for row in rows], rubric)
    assert equal.records() == {}
    assert "NO COMPARISON MADE  as the labels are all equal: add texts with other labels" in str(equal)
    graded = [{**row, "scores": {"ok": 1 + number % 5}} for number, row in enumerate(as_verdicts(LABELLED))]
    direct = lab.learn(graded, **LEARN, methods="direct", name="graded")
    with pytest.raises(DataError, match="take labels of different scales"):
        lab.evaluate(rows, [rubric, direct])


def test_only_texts_that_both_sides_and_the_labels_decide_are_counted(lab: Lab, rubric: Version) -> None:
    rows = [{**row, "scores": {"ok": float(row["scores"]["ok"] == "pass")}} for row in as_verdicts(HELDOUT)]
    groups = sorted({row["source"] for row in rows})
    assert len(groups) >= 12
    decided = [row for row in rows if row["source"] in groups[:8]]
    found = lab.evaluate([*decided, *({**row, "scores": {"ok": 0.5}} for row in rows if row not in decided)], rubric)
    record, basis = found.records()[rubric.ref], (len(decided), 8)
    assert (record.n, record.groups) == basis
    assert record.other.n == len(decided)
    assert found.to_row()["results"][0]["groups"] == 8
    assert f"On {len(decided)} texts of 8 groups (texts of one source are a group, ties of" in str(found)
    assert "not better" not in {record.verdict.outcome, record.verdict.error_outcome}


def test_a_comparison_gives_percentage_points_of_pass_and_fail(lab: Lab, rubric: Version) -> None:
    rows = as_verdicts(HELDOUT)
    found = lab.compare(rows, [{**row, "output": row["output"][:40]} for row in rows], rubric)
    shown = " ".join(str(found).split())
    assert "worse and better by at least 5 percentage points" in shown
    assert "percentage points, bias" in shown
    assert not re.search(r"(?<!percentage )\bpoints", shown)
    with pytest.raises(SettingsError, match=r"give a share below 1: 0\.05 is 5 percentage points"):
        lab.compare(rows, rows, rubric, max_drop=5)


def test_only_a_rubric_whose_texts_the_offline_judge_rated_is_said_to_need_a_language_model(rubric: Version) -> None:
    without_prompts = rubric.provenance.model_copy(update={"prompts": prompts_digest(())})
    asking_nobody = replace(rubric, provenance=without_prompts)
    for version, warns in ((rubric, True), (asking_nobody, False)):
        assert ("rated by text features, not by a language model" in str(learned_view(version))) == warns
