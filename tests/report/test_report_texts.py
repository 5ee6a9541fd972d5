from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from joint_samples import joint_version
from report_samples import examples, scores_of, version, words_of

from rubriclab.models.text import Example, Scale
from rubriclab.models.version import RecordedText
from rubriclab.report import charts
from rubriclab.report.evaluation import (
    JudgedText,
    error_sentence,
    human_scores,
    judged_texts,
    rubric_scores,
)
from rubriclab.report.render import View, macro, words_of as words_in


def judged(values: list[float | None]) -> list[JudgedText]:
    """Return the sample's first texts, scored by the rubric with `values`; people gave them 1, 2, 3, 4, 1, 2 …"""
    texts = examples()[: len(values)]
    news = version()
    return judged_texts(texts, scores_of(news, texts, lambda number, _: values[number]), news.ref, "coherence")


def test_scores_come_as_numbers_with_gaps() -> None:
    texts = judged([None, 2.5])
    assert human_scores(texts).tolist() == [1, 2]
    np.testing.assert_array_equal(rubric_scores(texts), [np.nan, 2.5])


def test_scores_of_all_texts_or_of_the_labelled_ones_are_taken() -> None:
    news, texts = version(), examples()
    del texts[2].scores["coherence"]  # type: ignore[attr-defined]
    rated = [text for text in texts if text.scores]
    whole = judged_texts(texts, scores_of(news, texts, lambda *_: 3.0), "news@1", "coherence")
    part = judged_texts(texts, scores_of(news, rated, lambda *_: 3.0), "news@1", "coherence")
    assert whole == part
    assert [text.example for text in part] == rated


@pytest.mark.parametrize("wrong", [slice(0, 5), slice(None, None, -1)])
def test_scores_of_other_texts_are_refused_by_name(wrong: slice) -> None:
    news, texts = version(), examples()
    scores = scores_of(news, texts, lambda *_: 3.0)[wrong]
    with pytest.raises(ValueError, match=r"scored\['news@1'\]: expected one score for each of the 24 examples"):
        judged_texts(texts, scores, "news@1", "coherence")


def said(one: Any, *texts: tuple[float, float | None, tuple[float, float] | None]) -> str:
    judged: Any = [
        JudgedText(
            Example(str(place), "A text.", f"g{place}", annotations={"coherence": (label, label + 2)}),
            label,
            SimpleNamespace(score=score, interval=ends),  # type: ignore[arg-type]
        )
        for place, (label, score, ends) in enumerate(texts)
    ]
    return words_in(fromstring(f"<p>{error_sentence(one, judged)}</p>"))


def test_error_bias_and_coverage_are_stated_with_the_number_of_texts() -> None:
    words = said(joint_version(), (3, 4, (3, 5)), (2, 2.5, (2.2, 3)), (5, None, None))
    assert "mean absolute error 0.75 points, bias +0.75, 100 % within one point, on 2 texts" in words
    assert "; 1 of 2 labels (50 %) lie in the 90 % intervals of the scores." in words
    assert words.endswith(
        "Single raters, each against the mean of the others: mean absolute error 2.00 points, bias +0.00, 0 % within "
        "one point."
    )


def test_without_intervals_coverage_is_not_stated_and_without_scores_nothing_is() -> None:
    assert "on 1 text. Single" in said(version(), (3, 4, None))
    assert said(version(), (3, None, None)) == ""


@pytest.mark.parametrize(("names", "shown"), [(("bad", "good"), "'good'"), (("0", "1"), "'1'"), (None, "1")])
def test_a_card_names_the_levels_of_labels_and_raters_not_their_numbers(
    names: tuple[str, str] | None, shown: str
) -> None:
    scale = Scale(low=0, high=1, whole=False, names=names)
    text = RecordedText(id="t", group="g", output="A text.", label=1, predicted=0.32, raters={"anna": 1, "ben": 0.5})
    card = words_of(View(macro("text_card", charts.axis_of([], 0, 1), scale, text, [])))
    assert f"people {shown}, rubric 0.32" in card
    assert f"anna {shown}, ben 0.5" in card
