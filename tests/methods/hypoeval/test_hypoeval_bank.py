"""The bank: ids, ranking, leaving with a reason, evidence that stays."""

import pytest
from hypoeval_scripts import criterion

from rubriclab.methods.hypoeval.learn import Bank
from rubriclab.methods.hypoeval.score import HypoEvalSettings


@pytest.fixture
def bank() -> Bank:
    bank = Bank(HypoEvalSettings())
    bank.add(criterion(name) for name in "abc")
    return bank


def test_an_id_is_never_used_again(bank: Bank):
    bank.drop("h03", "gone")
    assert [c.id for c in bank.add([criterion("d")])] == ["h04"]
    assert bank.every_id() == ("h01", "h02", "h03", "h04")


def test_settings_choose_the_bonus():
    order = {}
    for rule in ("improved", "paper"):
        bank = Bank(HypoEvalSettings(procedure=rule))
        bank.add([criterion("early"), criterion("late")])
        bank.visit("h01", 0.9, 1)
        bank.visit("h02", 0.8, 20)
        order[rule] = [c.id for c in bank.top(2, 20)]
    assert order == {"improved": ["h01", "h02"], "paper": ["h02", "h01"]}


def test_trimming_keeps_the_best_and_says_why_others_left(bank: Bank):
    for name, utility in (("h01", 0.1), ("h02", 0.9), ("h03", 0.5)):
        bank.visit(name, utility, 7)
    bank.trim(2, 7)
    assert [c.id for c in bank.alive] == ["h02", "h03"]
    (dropped,) = bank.dropped()
    assert dropped.criterion.trait == "a"
    assert dropped.reason == "reward below the best 2 after 7 labelled texts"
