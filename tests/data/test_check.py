"""What can be learned from, and the answer to everything that cannot."""

import math
import re
from itertools import combinations
from pathlib import Path

import pytest

from rubriclab.data.check import Training, fault_messages, label_limitations, training_examples
from rubriclab.data.mapping_proposals import propose_mapping
from rubriclab.data.readers import from_rows
from rubriclab.data.rows import RowError
from rubriclab.errors import DataError, SettingsError
from rubriclab.models.text import Example, Scale, data_digest
from rubriclab.ops.check import check
from rubriclab.ops.options import CheckOptions

LONG = "Eine Antwort aus mehreren Worten; sie ist mehr als ein Name"


def rows(count=12, **changed):
    return [
        {"id": f"t{i}", "group": f"g{i % 6}", "output": f"Text {i}.", "scores": {"coherence": 1 + i % 4}, **changed}
        for i in range(count)
    ]


WORTH = {f"{group}{text}": (ord(group) + 3 * text) % 7 for group in "abcd" for text in range(4)}


def texts(scored=()):
    return [
        {"id": key, "group": key[0], "output": f"Text {key}.", "scores": {"coherence": mark} if key in scored else None}
        for key, mark in WORTH.items()
    ]


def preferences(aspect=None, groups="abcd"):
    for one, other in combinations(WORTH, 2):
        if one[0] == other[0] and one[0] in groups:
            better, worse = sorted((one, other), key=WORTH.__getitem__, reverse=True)
            yield {"preferred": better, "over": worse, "tie": WORTH[one] == WORTH[other], "aspect": aspect}


def learned(*parts, aspect="coherence", scale=None, **options):
    return training_examples(from_rows([row for part in parts for row in part], "labels"), aspect, scale, **options)


def stopped(*parts, **options):
    with pytest.raises(DataError) as error:
        learned(*parts, **options)
    return error.value


def labels(training):
    return {example.id: example.scores["coherence"] for example in training.examples}


def test_good_rows_come_back_in_order_with_the_scale_and_where_it_is_from_unless_it_is_given():
    note = "scale 1 to 4 taken from the labels; give the scale if the raters used another"
    training = learned(rows())
    assert [example.id for example in training.examples] == [f"t{i}" for i in range(12)]
    assert training == Training(training.examples, Scale(low=1, high=4, whole=True), (note,))
    for scale in ("1:5", Scale(low=1, high=5, whole=True)):
        assert learned(rows(), scale=scale) == Training(training.examples, Scale(low=1, high=5, whole=True), ())


def test_a_score_that_is_far_from_all_others_may_be_a_typing_error():
    mistyped = [*rows(), {"id": "t12", "output": "A text.", "scores": {"coherence": 45}}]
    assert "one score is far from all others: 45; correct it if it is a typing error" in learned(mistyped).notes


def test_numbers_among_words_are_named() -> None:
    verdicts = [{"output": f"Text {n}.", "scores": {"ok": ("pass", "fail")[n % 2]}} for n in range(14)]
    for number, score in ((3, 1), (8, 0), (10, 1)):
        verdicts[number]["scores"] = {"ok": score}
    read_as = "numbers among words for verdicts are read as the same two levels: 0, 1"
    assert read_as in learned(verdicts, aspect="ok").notes
    verdicts[5]["scores"] = {"ok": 3}
    assert "'fail', 'pass'; the numbers beside them are 0, 1, 3." in str(stopped(verdicts, aspect="ok"))
    words = [{**row, "scores": {"ok": 7 if n == 4 else ("good", "bad")[n % 2]}} for n, row in enumerate(verdicts)]
    assert "of the word on the scale of the numbers beside them (7)" in str(stopped(words, aspect="ok"))


def test_one_answer_to_several_questions_is_counted_also_before_the_columns_are_mapped(tmp_path: Path) -> None:
    for question, counted in (("Frage {}?", ["4 of 14"]), ("Eine Frage?", [])):
        asked = [f"{question.format(n)},{LONG}{max(n, 4)},{n % 5}" for n in range(1, 15)]
        (tmp_path / "asked.csv").write_text("\n".join(["Frage,Antwort,Note", *asked]))
        notes = check(tmp_path / "asked.csv", CheckOptions(aspect="x")).notes
        assert [note.split(": ")[1].split(";")[0] for note in notes if "several groups" in note] == counted
    same = [{**row, "output": "A."} for row in rows()]
    several, used = label_limitations(learned(same).examples, "coherence", Scale(low=0, high=10, whole=True))
    assert several.startswith("texts that are in several groups, such as one answer to different questions: 12 of 12;")
    assert (used, several in learned(same).notes) == ("the scores use only 1 to 4 of the given scale 0 to 10", True)


def test_grades_of_which_1_is_the_best_are_named_and_turned_and_never_in_part(tmp_path: Path) -> None:
    graded_rows = (f"{LONG}{n},{(1, 1.0, 2, 3)[n % 4]}" for n in range(14))
    (tmp_path / "t.csv").write_text("\n".join(["output,Note", *graded_rows]))
    graded, turned = {"aspect": "x", "mapping": "scores.x=Note", "definition": "d"}, "3:1"
    noted = check(tmp_path / "t.csv", CheckOptions(**graded))
    assert not any("higher scores are taken for better" in note for note in noted.notes)
    reverses = "so the next command reverses the scores: `level_scores=3:1`; `level_scores` must begin with the worst"
    assert [note for note in noted.notes if reverses in note]
    assert f"--definition d --map scores.x=Note --levels {turned}" in str(noted.next)
    assert f"--levels {turned}" in str(check(tmp_path / "t.csv", CheckOptions()).next)
    assert (noted.aspects[0].distribution, noted.aspects[0].lowest_is_best) == ({1: 8, 2: 3, 3: 3}, True)
    worse = check(tmp_path / "t.csv", CheckOptions(**graded, level_scores="6:1"))
    assert worse.aspects[0].distribution == {4: 3, 5: 3, 6: 8}
    assert "--scale 1:6 --map scores.x=Note --levels 6:1" in str(worse.next)
    for levels in (turned, {1: 3, 2: 2, 3: 1}):
        found = check(tmp_path / "t.csv", CheckOptions(**graded, level_scores=levels))
        assert (found.aspects[0].distribution, "turn" in str(found.notes)) == ({1: 3, 2: 3, 3: 8}, False)
    with pytest.raises(SettingsError, match="expected a text WORD=SCORE,… or a mapping, got 5"):
        CheckOptions(**graded, level_scores=5)
    half, beyond = from_rows([{"output": "A.", "scores": {"x": n}} for n in (1.5, 3.5)], level_scores=turned)
    assert isinstance(half, Example)
    assert half.scores == {"x": 2.5}
    assert "got 3.5, expected one of the levels 3:1" in str(beyond)
    with pytest.raises(SettingsError, match=r"If 1 is the best grade, turn .* `level_scores=\"3:1\"`"):
        check(tmp_path / "t.csv", CheckOptions(**graded, scale="3:1"))


@pytest.mark.parametrize(
    ("mapping", "are_turned", "question"),
    [
        ("scores.x=Note", True, "'Note', so the next .* better, leave it out; or is the label in 'Punkte'\\?"),
        ("scores.x=Note,scores.y=Punkte", True, "'Note', so the next command .* if .* better, leave it out$"),
        ("annotations.x.a=Note,annotations.x.b=Rang", True, "'Note' and 'Rang', so the next command"),
        ("scores.x=Punkte,annotations.x.a=Rang", False, "is 1 the best in 'Rang', and also in 'Punkte'\\?"),
    ],
)
def test_grades_beside_other_scores_of_the_aspect_are_asked_about_instead_of_turned(
    tmp_path: Path, mapping: str, are_turned: bool, question: str
) -> None:
    rated = (f"{LONG}{n},{n % 5 + 1},{n % 5 + 1},{5 - n % 4}" for n in range(20))
    (tmp_path / "t.csv").write_text("\n".join(["output,Note,Rang,Punkte", *rated]))
    checked = check(tmp_path / "t.csv", CheckOptions(aspect="x", mapping=mapping))
    assert ("--levels" in str(checked.next)) == are_turned
    assert len([note for note in checked.notes if re.search(question, note)]) == 1


def test_labels_that_are_all_equal_are_named_and_the_next_command_is_about_another_aspect(tmp_path: Path) -> None:
    rated = (f"{LONG}{n},4,pass,{n % 3}" for n in range(20))
    (tmp_path / "t.csv").write_text("\n".join(["output,scores.a,scores.b,scores.c", *rated]))
    why = "nothing can be learned from labels that are all equal"
    all_aspects = check(tmp_path / "t.csv", CheckOptions())
    assert all_aspects.notes[1:] == (f"all 20 scores for 'a' are 4; {why}", f"all 20 scores for 'b' are 'pass'; {why}")
    assert all_aspects.next is not None
    assert all_aspects.next.options["aspect"] == "c"
    assert not check([{"output": f"{n}.", "scores": {"a": 4}} for n in range(20)], CheckOptions()).usable


@pytest.mark.parametrize(("levels", "worse"), [("pass=1,fail=2", "fail"), ("good=1,bad=5", "bad"), ("a=2,b=1", "")])
def test_levels_against_the_usual_meaning_of_their_words_are_asked_about(levels: str, worse: str) -> None:
    words = [pair.partition("=")[0] for pair in levels.split(",")]
    given = [{"output": f"{n}.", "scores": {"x": words[n % 2]}} for n in range(12)]
    notes = training_examples(from_rows(given, level_scores=levels), "x").notes
    asked = [f"{worse!r} is higher than {words[0]!r}: is that meant?"] if worse else []
    assert [note for note in notes if "is that meant" in note] == asked


def test_the_better_of_two_unknown_words_is_not_guessed(tmp_path: Path) -> None:
    rated = [f"{LONG}{n},{('bestanden', 'durchgefallen')[n % 2]}" for n in range(14)]
    (tmp_path / "rated.csv").write_text("\n".join(["output,Urteil", *rated]))
    notes = check(tmp_path / "rated.csv", CheckOptions(aspect="x", mapping="scores.x=Urteil")).notes
    assert not any("probabilities" in note for note in notes)


def test_notes_count_what_is_left_out_and_what_labels_are() -> None:
    means = rows(scores=None)
    for number, row in enumerate(means):
        row["annotations"] = {"coherence": {"anna": 1 + number % 4, "ben": 2}}
    for given, said in (
        ([*rows(), {"output": "No label."}], "rows without a score for 'coherence' are left out: 1 of 13"),
        (rows(group=None), "every text is a group of its own"),
        (means, "labels that are means of annotations, since the text has no score for 'coherence': 12"),
        ([*texts(WORTH), *preferences()], "24 comparisons ignored: every text in them has a score for 'coherence'"),
    ):
        training = learned(given)
        assert len(training.examples) == len(WORTH if "comparisons" in said else rows())
        assert any(note.startswith(said) for note in training.notes)
    assert learned(means).examples[3].scores["coherence"] == 3.0


def test_all_faults_are_named_together_in_the_order_of_their_lines():
    some = rows(14)
    some[1]["scores"] = {"coherence": 9}
    some[3]["scores"] = {"coherence": "4"}
    some[5]["id"] = "t2"
    some[7]["annotations"] = {"coherence": [1, 0]}
    faults = stopped(some, scale="1:4").faults
    fields = {2: "scores.coherence", 4: "scores.coherence", 6: "id", 8: "annotations.coherence"}
    beginnings = [f"labels:{line}: field '{field}'" for line, field in fields.items()]
    assert [fault.split(": got")[0] for fault in faults] == beginnings
    assert "got 9, expected a score from 1 to 4" in faults[0]
    assert "got 't2', which line 3 also has" in faults[2]
    rated = [{**row, "by": name} for row in rows(6) for name in ("anna", "ben")]
    assert "add `mapping=rater=by`" in stopped(rated).faults[0]
    assert "add `mapping=rater=COLUMN`" in stopped([{**row, "at": n} for n, row in enumerate(rated)]).faults[0]


def test_one_text_in_two_rows_is_told_apart_from_one_id_for_two_texts():
    assert "one row with their mean" not in stopped([*rows(), {**rows()[0], "output": "Another."}]).faults[0]
    assert "one row with their mean" in stopped([*rows(), rows()[0]]).faults[0]
    nameless = {"output": "Rated by two.", "scores": {"coherence": 2}}
    assert "one row with their mean" in stopped([*rows(), nameless, {**nameless, "scores": {"coherence": 3}}]).faults[0]


@pytest.mark.parametrize(
    ("given", "aspect", "said"),
    [
        (rows(), "fluency", r"'coherence' \(12\).*`mapping={.scores\.fluency.: .COLUMN.}`"),
        (rows(scores=None), "coherence", "no scores at all"),
        (rows(1), "coherence", "1 of 1; learning needs at least 10"),
        (rows(9), "coherence", "9 of 9; learning needs at least 10"),
        (rows(scores={"coherence": 4}), "coherence", "All 12 scores for 'coherence' are 4; nothing can be learned"),
        ([*texts(), *preferences("fluency")], "coherence", "None of the 16 rows has a score for 'coherence'"),
        ([*texts(), *preferences(groups="ab")], "coherence", "8 of 16; learning needs"),
    ],
)
def test_labels_that_nothing_can_be_learned_from_are_refused_with_what_there_is(given, aspect, said):
    with pytest.raises(DataError, match=said):
        learned(given, aspect=aspect)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"output": " "}, "output"),
        ({"scores": {"coherence": math.nan}}, "scores.coherence"),
        ({"scores": {"coherence": math.inf}}, "scores.coherence"),
        ({"annotations": {"coherence": (math.nan,)}}, "annotations.coherence"),
    ],
)
@pytest.mark.parametrize("scale", [None, "1:5"])
def test_examples_made_by_hand_are_held_to_the_same(changed, field, scale):
    good = [Example(id=str(i), output="A", group="g", scores={"coherence": i % 3}) for i in range(11)]
    bad = Example(**{"id": "bad", "output": "B", "group": "g", "scores": {"coherence": 2.0}, **changed})
    with pytest.raises(DataError) as error:
        training_examples([*good, bad], "coherence", scale)
    assert f"rows:12: field '{field}'" in error.value.faults[-1]


def test_labels_that_are_too_few_or_all_the_same_are_left_out_where_none_are_needed():
    few = learned(rows(5), scale="1:5", needs_labels=False)
    same = learned(rows(scores={"coherence": 3}), scale="1:5", needs_labels=False)
    for found, why in (
        (few, "texts with a score for 'coherence': 5 of 5; learning needs at least 10"),
        (same, "scores for 'coherence' are 3"),
    ):
        assert found.examples == ()
        assert (found.scale.low, found.scale.high) == (1, 5)
        assert why in found.notes[0]


def test_without_labels_or_a_scale_nothing_can_be_made():
    with pytest.raises(DataError, match=r'mapping=.*scores\.coherence.*To learn without labels, .* `scale="LOW:HIGH"`'):
        learned(rows(scores={}), needs_labels=False)


def test_comparisons_alone_order_the_texts_of_each_group_around_the_middle_of_0_to_1():
    training = learned(texts(), preferences())
    assert (training.scale.low, training.scale.high, training.scale.whole) == (0, 1, False)
    found = labels(training)
    for group in "abcd":
        own = [name for name in WORTH if name[0] == group]
        assert sorted(own, key=found.__getitem__) == sorted(own, key=WORTH.__getitem__)
        assert sum(found[name] for name in own) / 4 == pytest.approx(0.5, abs=1e-6)
    assert training.notes == (
        "16 labels are fitted to 24 comparisons, by a Bradley-Terry model",
        "4 groups with comparisons alone: only the order within a group is known there, and each group is centered at "
        "the middle of the scale",
        "scale 0 to 1 by default, since there are only comparisons; give another scale if you prefer",
        "4 groups are too few for intervals and a verdict on the rubric, which need at least 5; label texts of 1 more "
        "group",
    )


def test_scores_stay_and_texts_without_one_are_placed_among_them():
    scored = {name for name in WORTH if int(name[1]) % 4 != 2}
    training = learned(texts(scored), preferences())
    found = labels(training)
    assert all(found[name] == WORTH[name] for name in scored)
    assert training.notes[0] == "4 labels are fitted to 24 comparisons beside 12 scores, by a Bradley-Terry model"
    assert (training.scale.low, training.scale.high) == (0, 6)
    for group in "abcd":
        others = [WORTH[f"{group}{other}"] for other in (0, 1, 3)]
        above = sum(worth < WORTH[f"{group}2"] for worth in others)
        assert above in (1, 2) or (found[f"{group}2"] > sum(others) / 3) == (above == 3)


def test_the_order_of_the_rows_changes_nothing():
    there, back = (learned(order(texts()), order([*preferences()])) for order in (list, lambda rows: rows[::-1]))
    assert data_digest(there.examples, "coherence") == data_digest(back.examples, "coherence")


def test_texts_that_cannot_be_compared_are_faults_with_their_lines():
    wrong = [{"preferred": "a0", "over": "zz"}, {"preferred": "a0", "over": "b0"}, {"ranking": ["a0", "nobody", "b1"]}]
    found = stopped(texts(), preferences(), wrong).faults
    assert found == (
        "labels:41: got a comparison with 'zz', expected the id of a text in this data",
        "labels:42: got a comparison of 'a0' (group 'a') with 'b0' (group 'b'), expected two texts of one group",
        "labels:43: got a comparison with 'nobody', expected the id of a text in this data",
    )


def test_a_comparison_of_a_repeated_id_is_one_with_the_first_text_of_this_id():
    repeated = {"id": "a0", "group": "b", "output": "Another.", "scores": None}
    between_groups = {"preferred": "a0", "over": "b0"}
    training = learned(texts(), [repeated], preferences(), [between_groups], skip_faulty=True)
    assert len(training.examples) == 16
    assert "faulty rows are left out: 2" in training.notes


def test_where_there_are_several_aspects_each_comparison_names_its_own():
    parts = preferences("coherence", "a"), preferences(None, "b"), preferences("fluency", "c")
    (first, *_) = found = stopped(texts(), *parts).faults
    assert "field 'aspect': got nothing, expected the aspect of the comparison" in first
    assert len(found) == 6


def test_a_column_of_chats_is_the_output_and_equal_faults_share_a_line():
    turns = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because of the rain."}]
    chats = [{"ticket": f"T{i}", "messages": turns, "rating": i % 5} for i in range(9)]
    assert propose_mapping(chats, "helpfulness") == {"output": "messages", "scores.helpfulness": "rating"}
    assert propose_mapping([{**row, "aspect": turns} for row in chats])["output"] == "messages"
    faults = [RowError("t.csv", line, "output", "nothing", "a non-empty text") for line in range(2, 8)]
    other = RowError("t.csv", 9, "id", "a number", "a text")
    assert fault_messages([*faults, other, RowError("u.csv", 2, "output", "nothing", "a non-empty text")]) == [
        "t.csv: 6 rows, the first in line 2: field 'output': got nothing, expected a non-empty text",
        "t.csv:9: field 'id': got a number, expected a text",
        "u.csv:2: field 'output': got nothing, expected a non-empty text",
    ]


def test_the_narrower_or_wider_scale_that_scores_seem_to_be_of_is_proposed():
    (note,) = (note for note in learned(rows(), scale="1:7").notes if "given scale" in note)
    assert note.startswith("the scores use only 1 to 4 of the given scale 1 to 7;")
    assert note.endswith("give it: `scale=1:4`")
    assert not any("given scale" in note for note in learned(rows(), scale="1:5").notes)
    assert "if the raters' scale is wider, give it: `scale=1:4`" in stopped(rows(), scale="1:2").text
    assert "wider" not in stopped(rows(), rows(1, id="x", scores={"coherence": 99}), scale="1:5").text
