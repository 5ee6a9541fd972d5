"""What results come to: means by hand, the papers' figures beside the right ones, tests as scipy has them."""

import one_case
import pytest
from scipy.stats import false_discovery_control, mannwhitneyu, wilcoxon

from experiments.runner.cases import Case
from experiments.runner.results import Gap, Outcome, Results, Row, Spent
from experiments.runner.study import Study
from experiments.runner.summary import summarise
from rubriclab.stats.intervals import Interval

ASPECTS = ("coherence", "consistency", "fluency", "relevance")
OTHERS = ("empathy", "surprise", "engagement")


def study(**fields: object) -> Study:
    usual = {
        "sets": {"summeval": list(ASPECTS), "hanna": list(OTHERS)},
        "labels": [30],
        "arms": [{"name": name, "method": name} for name in ("hypoeval", "direct")],
        "compare": [["hypoeval", "direct"], ["hypoeval", "baseline: word count"]],
    }
    return one_case.study(**{**usual, **fields})


def outcome(name: str, aspect: str, values: dict[str, float | None], seed: int = 1, labels: int = 30) -> Outcome:
    rows = [
        Row(
            arm=arm,
            figures={m: Interval(v, v - 0.1, v + 0.1) for m in ("spearman", "pearson")} if v else {},
            missing=None if v else "no questions",
            counts={"texts": 10},
            learning=None if arm.startswith("baseline") else Spent(calls=30, cost_usd=0.5, seconds=2),
            scoring=None if arm.startswith("baseline") else Spent(calls=20, cost_usd=0.25, seconds=1),
        )
        for arm, v in values.items()
    ]
    gaps = [Gap(first="hypoeval", second="direct", measure="spearman", difference=Interval(0.1, 0.05, 0.2))]
    case = Case(set=name, aspect=aspect, labels=labels, seed=seed)
    return Outcome(case=case, split="drawn", rows=tuple(rows), gaps=tuple(gaps), version="1")


def results(*cases: Outcome) -> Results:
    about = {"study": "some", "digest": "", "judge": "embedded", "prompts": ""}
    return Results(format="rubriclab-study-results/1", **about, data={}, cases=cases)


BASELINE = "baseline: word count"
FIGURES = {
    ("summeval", "coherence"): (0.5, 0.3, 0.1),
    ("summeval", "consistency"): (0.4, 0.35, 0.5),
    ("summeval", "fluency"): (0.3, 0.32, 0.1),
    ("summeval", "relevance"): (0.6, 0.2, 0.2),
    ("hanna", "empathy"): (0.45, 0.4, 0.44),
    ("hanna", "surprise"): (0.2, 0.1, 0.3),
    ("hanna", "engagement"): (0.35, 0.05, 0.2),
}
CASES = [
    outcome(*key, dict(zip(("hypoeval", "direct", BASELINE), values, strict=True))) for key, values in FIGURES.items()
]


def test_means_are_over_seeds_first_and_then_over_aspects() -> None:
    found = summarise(
        study(),
        results(
            outcome("summeval", "coherence", {"hypoeval": 0.2}, seed=1),
            outcome("summeval", "coherence", {"hypoeval": 0.4}, seed=2),
            outcome("hanna", "empathy", {"hypoeval": 0.6}, seed=1),
        ),
    )
    assert [(line.aspect, line.figures["spearman"].value) for line in found.lines] == [
        ("coherence", 0.3),
        ("empathy", 0.6),
    ]
    assert found.lines[0].figures["spearman"] == Interval(0.3, 0.2, 0.4)
    (mean,) = found.means
    assert (mean.aspects, mean.figures["spearman"]) == (2, 0.45)
    assert (mean.learning, mean.scoring, mean.cost_usd) == (30, 2, 2.25)


@pytest.mark.parametrize(("how", "test"), [("signed ranks", wilcoxon), ("rank sums", mannwhitneyu)])
def test_contrasts_are_tested_over_aspects_and_corrected_for_how_many_there_are(how, test) -> None:
    found = summarise(study(significance=how), results(*CASES)).contrasts
    ours, direct, baseline = (list(column) for column in zip(*FIGURES.values(), strict=True))
    raw = [test(ours, other).pvalue for other in (direct, baseline)]
    assert [each.p for each in found] == pytest.approx(raw, abs=1e-5)
    assert [each.adjusted for each in found] == pytest.approx(false_discovery_control(raw), abs=1e-5)
    assert found[0].difference == pytest.approx(sum(a - b for a, b in zip(ours, direct, strict=True)) / 7, abs=1e-6)
    assert (found[0].ahead, found[0].behind, found[0].cases) == (7, 0, 7)
    assert (found[1].ahead, found[1].cases) == (0, 0)
