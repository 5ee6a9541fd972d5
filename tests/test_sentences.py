"""Where sentences end in running text, in tokenised machine output, in lists, dialogues and damaged text."""

from itertools import pairwise

import pytest
from hypothesis import example, given, settings, strategies as st

from rubriclab.sentences import sentence_spans, split_sentences

QUARTER_MEGABYTE = 250_000
WORDS = ["He", "she", "I", "mr", "Dr", "U.S", "u.s", "no", "5", "3.5", "p.m", "said", "com", "é", "他", "a", "'s", "-"]
MARKS = [".", "...", "…", "!", "?", "。", ",", ":", '"', "'", "''", "`", "“", "”", "(", ")", "-lrb-", "-rrb-", "*"]
SPACES = [" ", "  ", "\n", "\n\n", "\t", "\r\n", "\xa0", "- ", "1. "]
PIECES = st.sampled_from([*WORDS, *MARKS, *SPACES])
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=60).map("".join))


def test_marks_end_sentences():
    text = "The tide came in. Did nobody warn them? Run! All of them got wet…"
    assert split_sentences(text) == ("The tide came in.", "Did nobody warn them?", "Run!", "All of them got wet…")


def test_marks_stand_apart_in_tokenised_text():
    text = "the tide came in . did nobody warn them ? they ran !"
    assert split_sentences(text) == ("the tide came in .", "did nobody warn them ?", "they ran !")


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Hale and Mrs. Orme met Prof. Lind at the pier.",
        "mr . hale met mrs . orme at the pier .",
        "J. R. Hale sold the boat to M. Lind.",
        "j . r . hale sold the boat to an m . lind .",
        "The harbour lies in the U.S. Virgin Islands, e.g. on St. Croix.",
        "the u.s . navy left , and so did the u.k . fleet .",
        "the u. S. Navy left without its u. K. Partners.",
        "She came in at No. 5, on Aug. 26, see Fig. 3 and vol. 2.",
        "she came in at no . 5 on aug . 26 .",
        "The ferry leaves at 7 p.m. Monday and at 9 a.m. on Tuesday.",
        "Hale & Co. and Orme Inc. own the pier, the cranes, etc. and pay for them.",
    ],
)
def test_shortened_words_end_no_sentence(text):
    assert split_sentences(text) == (text,)


@pytest.mark.parametrize(
    "sentences",
    [
        ("He sailed to the U.S.", "The crew stayed."),
        ("he sailed to the u.s .", "the crew stayed ."),
        ("The ferry leaves at 7 p.m.", "Passengers wait outside."),
        ("She works for Orme Inc.", "Her brother does not."),
        ("They chose plan B.", "Then it rained."),
        ("It was the harbour of the 1970s.", "Police closed it."),
        ("it closed in the 70s .", "police said so ."),
        ("Nobody knew but I.", "Hale slept."),
    ],
)
def test_a_shortened_word_is_the_last_one_where_an_opening_follows(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    "text",
    [
        "The pier is 3.5 miles long and cost $1.25 million.",
        "the pier cost 1 . 25 million , or 0 . 5 per cent .",
        "The home side won 3 - 0 and then 2-1.",
        "Write to pier@orme.com or read orme.co.uk and www.orme.com/a.b?c=d today.",
        "the story is on orme. Com and on lind . com .",
    ],
)
def test_numbers_and_addresses_end_no_sentence(text):
    assert split_sentences(text) == (text,)


def test_a_year_may_end_a_sentence_before_a_number():
    assert split_sentences("It opened in 1920. 15 boats came.") == ("It opened in 1920.", "15 boats came.")


@pytest.mark.parametrize(
    "sentences",
    [
        ('"Come in."', "He sat down."),
        ("“Come in.”", "“Sit down.”", "He did."),
        ("'Come in.'", "He sat down."),
        ("`` come in . ''", "he sat down ."),
        ('" come in . "', "he sat down ."),
        ('He said: "The pier is old.', 'It will fall."', "Nobody listened."),
        ("the man called it ` the end of the pier . '", "the crew laughed ."),
        ("he called it ' the end of the pier . '", "the crew laughed ."),
        ("they all left .", "' we had no choice , ' he said ."),
    ],
)
def test_closing_quotation_marks_belong_to_the_sentence_before(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    "text",
    [
        '"Is the pier safe?" she asked.',
        "“Is the pier safe?” Anna Orme asked her brother.",
        "`` is the pier safe ? '' she asked .",
        "“Run!” the old man shouted, and they ran.",
        "'Run!' cried he.",
        "He calls it the 'Where is it?' game of the island of Lind.",
        "The pier ran . '' she said .",
    ],
)
def test_a_quotation_and_the_words_of_saying_are_one_sentence(text):
    assert split_sentences(text) == (text,)


def test_words_of_saying_after_a_full_stop_may_open_the_next_sentence():
    sentences = ("“The pier is safe.”", "Orme said on Monday that nobody needs to worry.")
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ("The pier (which is old!) fell.", "Nobody cried."),
        ("the pier ( which is old ! ) fell .", "nobody cried ."),
        ("The pier fell.", "(Nobody was there.)", "It was night."),
        ("the pier fell .", "( was it night ? )", "nobody knows ."),
        ("the pier -lrb- which is old ! -rrb- fell .", "nobody cried ."),
    ],
)
def test_a_bracket_is_a_sentence_only_where_it_stands_alone(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ("The Orme pier is... well, gone.",),
        ("the pier is ... gone .",),
        ("The pier…", "Nobody saw it fall."),
        ("what do i know ...", "i only work here ."),
        ("The pier fell. . .", "Nobody saw it."),
        ("The pier fell. ...", "Nobody saw it."),
        ("The pier fell.", "…Nobody saw it."),
    ],
)
def test_an_ellipsis_ends_a_sentence_where_a_new_one_opens(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


def test_sentences_run_together_without_a_space_are_told_apart():
    assert split_sentences("they went home.the pier fell.They slept.") == (
        "they went home.",
        "the pier fell.",
        "They slept.",
    )
    assert split_sentences("Is it safe?'He nodded. It was.") == ("Is it safe?'", "He nodded.", "It was.")


def test_headlines_and_paragraphs_are_sentences():
    text = "Pier falls\nNobody hurt\n\nThe pier of Orme fell on Monday.\n\nmore soon"
    assert split_sentences(text) == ("Pier falls", "Nobody hurt", "The pier of Orme fell on Monday.", "more soon")


def test_each_turn_of_a_dialogue_ends_one_without_a_mark_too():
    text = "did you see the pier ?\nno , i was home\nit fell . how sad !"
    assert split_sentences(text) == ("did you see the pier ?", "no , i was home", "it fell .", "how sad !")


def test_items_of_a_list_are_sentences_with_their_marks():
    text = "# To mend\n- the pier, i.e. all of it\n- the crane\n  and its arm\n* **Roof.** It leaks.\n1. Paint\n2. Tar."
    assert split_sentences(text) == (
        "# To mend",
        "- the pier, i.e. all of it",
        "- the crane\n  and its arm",
        "* **Roof.**",
        "It leaks.",
        "1. Paint",
        "2. Tar.",
    )


def test_numbers_of_a_running_list_end_no_sentence():
    assert split_sentences("1. Close the pier. 2. Mend it.") == ("1. Close the pier.", "2. Mend it.")


def test_a_line_broken_at_a_fixed_width_goes_on():
    text = (
        "The letter was typed on a machine that breaks lines at a width of\n"
        "some sixty characters, wherever that happens to be, so that Miss\n"
        "Orme opens a line in the midst of a sentence. The next one does\n"
        "not."
    )
    assert len(split_sentences(text)) == 2


def test_a_paragraph_that_goes_on_after_a_lost_link_is_one_sentence():
    text = "Two groups, Orme and Lind, have\n\n, calling it unsafe, closed the pier."
    assert split_sentences(text) == (text,)


@pytest.mark.parametrize(
    "sentences",
    [
        ("码头塌了。", "没有人受伤！", "真的吗？"),
        ("他说：“码头塌了。”", "我们走吧。"),
    ],
)
def test_marks_of_scripts_without_spaces_end_sentences(sentences):
    assert split_sentences("".join(sentences)) == sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ("Où est le quai ?", "« Il est tombé. »", "M. Orme dort."),
        ("¿Dónde está el muelle?", "¡Se cayó!", "Nadie lo vio."),
        ("أين الرصيف؟", "لقد سقط."),
        ("घाट गिर गया।", "किसी ने नहीं देखा।"),
    ],
)
def test_marks_of_other_languages_end_sentences(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize("text", ["", " \n\t ", "...", "'' !!! ''", "- - -", "* * *\n\n---"])
def test_a_text_without_letters_and_digits_has_no_sentence(text):
    assert sentence_spans(text) == ()


@settings(deadline=None, max_examples=400)
@given(TEXTS)
@example("a''.\n'' b")
@example("\n.a")
def test_spans_are_in_order_disjoint_stripped_and_leave_out_no_letter(text):
    spans = sentence_spans(text)
    at = 0
    for start, end in spans:
        assert at <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert not any(character.isalnum() for character in text[at:start])
        at = end
    assert not any(character.isalnum() for character in text[at:])


@settings(deadline=None, max_examples=200)
@given(TEXTS)
def test_a_text_is_put_together_again_from_its_sentences_and_what_lies_between(text):
    edges = [0, *(edge for span in sentence_spans(text) for edge in span), len(text)]
    rebuilt = "".join(text[start:end] for start, end in pairwise(edges))
    assert rebuilt == text
    assert split_sentences(text) == tuple(text[start:end] for start, end in sentence_spans(text))


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from(["The pier fell.", "Who saw it?", "Nobody did!", "Mr. Orme slept."]), max_size=20))
def test_plain_sentences_come_out_as_they_went_in(sentences):
    assert split_sentences(" ".join(sentences)) == tuple(sentences)


@pytest.mark.parametrize(
    ("unit", "count"),
    [(".", 0), (". ", 0), ("' ", 0), ('"', 0), ("\n", 0), (" ", 0), ("x", 1), ("a\n", 1), ("mr . ", 1), ("U.S. ", 1)],
)
def test_a_quarter_of_a_megabyte_of_anything_is_split_in_linear_time(unit, count):
    assert len(sentence_spans(unit * (QUARTER_MEGABYTE // len(unit)))) == count


def test_ten_thousand_sentences_are_split_in_linear_time():
    assert len(sentence_spans('"Is it the end?" he said. ' * 10_000)) == 10_000
