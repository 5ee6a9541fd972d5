"""Judges that other packages add by an entry point. A real installation is tested with the packaging tests."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Any

import pytest
from judge_questions import GOOD, Clock, rate
from memory_answers import MemoryAnswers

from rubriclab.errors import BudgetReached, JudgeRefused, JudgeUnavailable, PlugInError, SettingsError
from rubriclab.judges.connect import account_name, connect as connect_function
from rubriclab.judges.judge import Judge, Ledger
from rubriclab.judges.limits import Retried
from rubriclab.judges.options import JudgeOptions, Price
from rubriclab.judges.replies import Reply
from rubriclab.prompts.prompt import Prompt

MODULE = __name__


class Toy:
    """A judge as another package may add it; it fails twice before it answers, as `FAULTS` says for the name's rest."""

    def __init__(self, rest: str, options: JudgeOptions) -> None:
        fault = FAULTS.get(rest)
        if isinstance(fault, ArithmeticError):
            raise fault
        self.name = f"toy:{rest}" if rest else "toy"
        self.identity = {"model": rest, "timeout": options.timeout}
        self.faults = [fault or JudgeUnavailable("busy.", retry_after=0.01, may_be_billed=False)] * 2

    async def reply(self, _prompt: Prompt[Any]) -> Reply:
        fault = self.faults.pop() if self.faults else Reply(GOOD, self.name)
        if isinstance(fault, BaseException):
            raise fault
        return fault  # type: ignore[return-value]


FAULTS: dict[str, object] = {
    "broken": ZeroDivisionError("division by zero"),
    "bug": KeyError("score"),
    "exit": SystemExit(3),
    "text": GOOD,
    "lost": ConnectionResetError("reset by peer"),
    "late": TimeoutError(),
    "own": JudgeRefused("no key."),
}


def point(name: str, target: str, package: str = "toy-judge") -> EntryPoint:
    entry = EntryPoint(name, f"{MODULE}:{target}", "rubriclab.judges")
    return entry._for(SimpleNamespace(name=package, version="1.2"))  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(Retried.__init__, "__kwdefaults__", {**Retried.__init__.__kwdefaults__, "sleep": clock.sleep})
    return clock


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    points: list[EntryPoint] = []
    module = __import__("rubriclab.judges.plug_ins", fromlist=["judge_entry_points"])
    monkeypatch.setattr(module, "entry_points", lambda **_group: points)
    module.judge_entry_points.cache_clear()
    yield points
    module.judge_entry_points.cache_clear()


def connected(spec: str, **options: Any) -> Judge:
    return connect_function(spec, options=JudgeOptions(**options), ledger=Ledger(), answers=MemoryAnswers())


def test_judges_of_a_plug_in_share_an_account(installed: list[EntryPoint]) -> None:
    installed.append(point("toy", "Toy"))
    assert [account_name(spec) for spec in ("toy:a", "toy", "openai/x")] == ["toy", "toy", "OPENAI_API_KEY"]


async def test_a_plug_in_is_called_with_the_rest_of_its_name_and_the_options(installed: list[EntryPoint]) -> None:
    installed.append(point("toy", "Toy"))
    assert connected("toy:large:v2", timeout=7).identity == {"model": "large:v2", "timeout": 7.0}
    assert connected("toy").name == "toy"


async def test_a_plug_in_has_retries_a_cache_and_a_budget(installed: list[EntryPoint]) -> None:
    installed.append(point("toy", "Toy"))
    judge = connected("toy:a", max_calls=1)
    first, second = await judge.reply(rate()), await judge.reply(rate())
    assert (first.cached, second.cached) == (False, True)
    with pytest.raises(BudgetReached):
        await judge.reply(rate("Another."))


def test_a_plug_in_s_cost_is_capped_by_the_price_that_the_user_gives(installed: list[EntryPoint]) -> None:
    installed.append(point("toy", "Toy"))
    with pytest.raises(SettingsError, match="price of toy:a is unknown"):
        connected("toy:a", max_cost=1)
    assert connected("toy:a", max_cost=1, price=Price(1, 1)).name == "toy:a"


def test_a_plug_in_replaces_no_built_in_judge(installed: list[EntryPoint]) -> None:
    installed += [point("embedded", "Toy"), point("recorded", "Toy")]
    assert connected("embedded").name == "embedded"
    with pytest.raises(Exception, match=r"The recording .* cannot be read"):
        connected("recorded:nowhere.jsonl")


def test_a_name_that_two_packages_add_is_refused(installed: list[EntryPoint]) -> None:
    installed += [point("toy", "Toy"), point("toy", "Toy", "other")]
    with pytest.raises(PlugInError, match=r"is added by the package other 1\.2 and the package toy-judge 1\.2\."):
        connected("toy")


@pytest.mark.parametrize("fault", ["lost", "late"])
async def test_a_lost_connection_of_a_plug_in_is_retried(installed: list[EntryPoint], fault: str, clock: Clock) -> None:
    installed.append(point("toy", "Toy"))
    assert (await connected(f"toy:{fault}").reply(rate())).text == GOOD
    assert len(clock.slept) == 2


NAMED = r"^The judge 'toy' of the package toy-judge 1\.2"


@pytest.mark.parametrize(
    ("target", "fault", "error", "message"),
    [
        ("nowhere", "", PlugInError, rf"{NAMED} cannot be loaded: AttributeError: "),
        ("Toy", "broken", PlugInError, rf"{NAMED} cannot be loaded: ZeroDivisionError: division by zero"),
        ("Toy", "bug", PlugInError, rf"{NAMED} raised KeyError: 'score'\."),
        ("Toy", "exit", PlugInError, rf"{NAMED} raised SystemExit: 3\."),
        ("Toy", "text", PlugInError, rf"{NAMED} returned '.*, expected a Reply\."),
        ("Toy", "own", JudgeRefused, r"^no key\.$"),
    ],
)
async def test_what_a_plug_in_does_wrong_names_its_package_and_what_its_server_refuses_is_the_provider_s(
    installed: list[EntryPoint], target: str, fault: str, error: type[Exception], message: str
) -> None:
    installed.append(point("toy", target))
    with pytest.raises(error, match=message):
        await connected(f"toy:{fault}").reply(rate())
