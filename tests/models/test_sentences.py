"""Where sentences of running text and of tokenised machine output end."""

import pytest
from hypothesis import example, given, strategies as st

from rubriclab.models.sentences import sentence_spans, split_sentences

QUARTER_MEGABYTE = 250_000
TOKENS = ["He", "she", "I", "mr", "Dr", "U.S", "u.s", "no", "5", "3.5", "p.m", "said", "com", "é", "他", "a", "'s", "-"]
MARKS = [".", "...", "…", "!", "?", "。", ",", ":", '"', "'", "''", "`", "“", "”", "(", ")", "-lrb-", "-rrb-", "*"]
SPACES = [" ", "  ", "\n", "\n\n", "\t", "\r\n", "\xa0", "- ", "1. "]
PIECES = st.sampled_from([*TOKENS, *MARKS, *SPACES])
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=60).map("".join))


@pytest.mark.parametrize(
    "sentences",
    [
        ("The tide came in.", "Did nobody warn them?", "Run!", "All of them got wet…"),
        ("the tide came in .", "did nobody warn them ?", "they ran !"),
        ("He sailed to the U.S.", "The crew stayed."),
        ("he sailed to the u.s .", "the crew stayed ."),
        ("She works for Orme Inc.", "Her brother does not."),
        ("They chose plan B.", "Then it rained."),
        ("It was the harbour of the 1970s.", "Police closed it."),
        ("Nobody knew but I.", "Hale slept."),
        ("It opened in 1920.", "15 boats came."),
        ('"Come in."', "He sat down."),
        ("“Come in.”", "“Sit down.”", "He did."),
        ("`` come in . ''", "he sat down ."),
        ("The pier (which is old!) fell.", "Nobody cried."),
        ("The pier fell.", "(Nobody was there.)", "It was night."),
        ("The pier…", "Nobody saw it fall."),
        ("1. Close the pier.", "2. Mend it."),
        ("Où est le quai ?", "« Il est tombé. »", "M. Orme dort."),
        ("¿Dónde está el muelle?", "¡Se cayó!", "Nadie lo vio."),
        ("أين الرصيف؟", "لقد سقط."),
        ("घाट गिर गया।", "किसी ने नहीं देखा।"),
    ],
)
def test_marks_end_sentences(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Hale and Mrs. Orme met Prof. Lind at the pier.",
        "mr . hale met mrs . orme at the pier .",
        "J. R. Hale sold the boat to M. Lind.",
        "The harbour lies in the U.S. Virgin Islands, e.g. on St. Croix.",
        "the u.s . navy left , and so did the u.k . fleet .",
        "She came in at No. 5, on Aug. 26, see Fig. 3 and vol. 2.",
        "The ferry leaves at 7 p.m. Monday and at 9 a.m. on Tuesday.",
        "Hale & Co. and Orme Inc. own the pier, the cranes, etc. and pay for them.",
        "The pier is 3.5 miles long and cost $1.25 million.",
        "the pier cost 1 . 25 million , or 0 . 5 per cent .",
        "Write to pier@orme.com or read orme.co.uk and www.orme.com/a.b?c=d today.",
        '"Is the pier safe?" she asked.',
        "“Run!” the old man shouted, and they ran.",
        "The Orme pier is... well, gone.",
        "Two groups, Orme and Lind, have\n\n, calling it unsafe, closed the pier.",
    ],
)
def test_marks_amid_a_sentence_end_none(text):
    assert split_sentences(text) == (text,)


def test_headlines_paragraphs_turns_and_items_of_a_list_are_sentences():
    text = "Pier falls\nNobody hurt\n\nThe pier of Orme fell on Monday.\n\nmore soon"
    assert split_sentences(text) == ("Pier falls", "Nobody hurt", "The pier of Orme fell on Monday.", "more soon")
    text = "did you see the pier ?\nno , i was home\nit fell . how sad !"
    assert split_sentences(text) == ("did you see the pier ?", "no , i was home", "it fell .", "how sad !")
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


@pytest.mark.parametrize(
    ("unit", "count"),
    [(".", 0), (". ", 0), ("' ", 0), ('"', 0), ("\n", 0), (" ", 0), ("x", 1), ("mr . ", 1), ("U.S. ", 1)],
)
def test_a_quarter_of_a_megabyte_of_anything_is_split_in_linear_time(unit, count):
    assert len(sentence_spans(unit * (QUARTER_MEGABYTE // len(unit)))) == count
