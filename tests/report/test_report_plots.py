from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from joint_samples import joint_record, joint_trust
from report_samples import shapes

from rubriclab.data.scale import Scale
from rubriclab.report import plots
from rubriclab.rubric import RewardPoint
from rubriclab.training_record import RecordedText
from rubriclab.validation import FrontierPoint

FIVE = Scale(low=1, high=5, whole=True)


def text(label: float, predicted: float | None, low: float | None = None, high: float | None = None) -> RecordedText:
    """Return a text with these scores."""
    return RecordedText(id="a", group="a", output="A.", label=label, predicted=predicted, low=low, high=high)


def test_texts_of_equal_scores_fall_on_one_stronger_dot() -> None:
    drawing = plots.scatter([(1, 2), (1, 2), (1, 2), (4, 5)], FIVE, "news@1")
    dots = shapes(drawing, "circle", "dot")
    assert len(dots) == 2
    strong, weak = (float(dot["opacity"]) for dot in dots)
    assert weak == pytest.approx(0.3)
    assert strong == pytest.approx(1 - 0.7**3, abs=0.01)


def test_human_scores_run_across_and_the_rubrics_up() -> None:
    dots = shapes(plots.scatter([(1, 1), (5, 1), (5, 5)], FIVE, "news@1"), "circle", "dot")
    first, up, across = sorted((int(dot["cx"]), -int(dot["cy"])) for dot in dots)
    assert first == (plots.LEFT, -(plots.HEIGHT - plots.BOTTOM))
    assert sorted((up, across)) == [
        (plots.WIDTH - plots.RIGHT, -(plots.HEIGHT - plots.BOTTOM)),
        (plots.WIDTH - plots.RIGHT, -plots.TOP),
    ]


def test_many_texts_do_not_make_a_large_drawing() -> None:
    pairs = [(1 + 4 * (n % 997) / 997, 1 + 4 * (n % 13) / 13) for n in range(20_000)]
    assert len(plots.scatter(pairs, FIVE, "news@1")) < 500_000


def test_names_in_a_drawing_are_escaped() -> None:
    drawing = plots.scatter([(1, 1)], FIVE, '"><script>alert(1)</script>\udc80')
    assert "<script" not in drawing
    assert ET.fromstring(drawing).get("aria-label") == (
        'Scatter of 1 text: label across, score by "><script>alert(1)</script>\\udc80 up'
    )


def test_a_reward_path_ends_at_its_last_point() -> None:
    points = [RewardPoint(step=s, visits=s, utility=0.9, bonus=1 / s) for s in range(1, 5)]
    drawing = plots.reward_path(points)
    (reward,) = shapes(drawing, "polyline", "reward")
    (dot,) = shapes(drawing, "circle", "dot")
    assert len(reward["points"].split()) == 4
    assert reward["points"].split()[-1] == f"{dot['cx']},{dot['cy']}"
    assert "reward 1.90 to 1.15 over 4 visits" in drawing


def test_a_path_of_one_flat_point_is_drawn() -> None:
    drawing = plots.reward_path([RewardPoint(step=1, visits=1, utility=1.0, bonus=0.0)])
    assert not re.search("nan|inf", drawing)
    assert len(shapes(drawing, "circle", "dot")) == 1


def test_held_out_scores_stand_above_their_labels_with_their_intervals() -> None:
    drawing = plots.predictions([text(1, 5, 1, 5)], FIVE)
    (dot,) = shapes(drawing, "circle", "dot")
    (line,) = shapes(drawing, "line", "whisker")
    assert (float(dot["cx"]), float(dot["cy"])) == (plots.LEFT, plots.TOP)
    assert (float(line["y1"]), float(line["y2"])) == (plots.HEIGHT - plots.BOTTOM, plots.TOP)


def test_a_label_outside_of_its_interval_has_another_shape() -> None:
    drawing = plots.predictions([text(1, 3, 2, 4), text(3, 3, 2, 4), text(4, 2)], FIVE)
    assert len(shapes(drawing, "path", "hollow")) == 1
    assert len(shapes(drawing, "circle", "dot")) == 2
    assert len(shapes(drawing, "line", "whisker")) == 2


def test_texts_of_one_label_stand_side_by_side_around_it() -> None:
    drawing = plots.predictions([text(3, 2), text(3, 3), text(3, 4)], FIVE)
    left, middle, right = sorted(float(dot["cx"]) for dot in shapes(drawing, "circle", "dot"))
    assert middle == pytest.approx(plots.LEFT + (plots.WIDTH - plots.LEFT - plots.RIGHT) / 2)
    assert right - middle == pytest.approx(middle - left) == pytest.approx(plots.APART)


@pytest.mark.parametrize("label", [1, 3, 5])
def test_a_crowd_of_texts_stays_inside_of_the_plot(label: float) -> None:
    drawing = plots.predictions([text(label, 3) for _ in range(60)], FIVE)
    places = [float(dot["cx"]) for dot in shapes(drawing, "circle", "dot")]
    assert len(set(places)) == 60
    assert min(places) >= plots.LEFT
    assert max(places) <= plots.WIDTH - plots.RIGHT
    assert max(places) - min(places) <= plots.CROWD


def test_a_text_without_a_held_out_score_is_not_drawn() -> None:
    drawing = plots.predictions([text(3, None), *joint_record().texts], FIVE)
    assert ET.fromstring(drawing).get("aria-label") == (
        "Scatter of 30 texts: label across, held-out score with its interval up"
    )


def test_the_rubrics_own_price_is_filled_and_the_others_are_hollow() -> None:
    drawing = plots.frontier(joint_trust().frontier)
    assert len(shapes(drawing, "circle", "dot")) == 1
    assert len(shapes(drawing, "path", "hollow")) == 3
    (line,) = shapes(drawing, "line", "equal")
    assert line["y1"] == line["y2"]
    assert "calls per text" in drawing


@pytest.mark.parametrize("calls", [0.0, 0.5, 240.0])
def test_one_price_makes_a_frontier_too(calls: float) -> None:
    point = FrontierPoint(
        name="few criteria", calls=calls, criteria=1, parts=("direct",), pearson=-0.2, error=0.0, chosen=True
    )
    drawing = plots.frontier([point])
    assert not re.search("nan|inf", drawing)
    (dot,) = shapes(drawing, "circle", "dot")
    assert plots.LEFT <= float(dot["cx"]) <= plots.WIDTH - plots.RIGHT
    assert plots.TOP <= float(dot["cy"]) <= plots.HEIGHT - plots.BOTTOM
