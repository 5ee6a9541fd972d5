"""Each method stopped by a cap and killed, and gone on with: the same rubric, and no answered request again."""

from __future__ import annotations

import pytest
import scripted_model
from commands import Commands
from flow_server import Killing
from method_flows import Run, every_kind, learning
from server import RunningServer

IN_FLIGHT = 8
# Whatever the method, the judge keeps track of what is in flight: several requests a text, and one.
WHOLE_TEXTS = ("checkeval", "direct")
# How far the lives of a run that is killed get, in shares of the whole; the first ends with its first request.
LIVES = (0.0, 0.3, 0.45)


@every_kind
def test_killed_at_several_moments_it_repeats_no_answered_request_and_ends_the_same(
    run: Run, provider: RunningServer, asking: Commands
) -> None:
    # One request at a time, so that it is certain which replies had arrived: all but the one that the kill stands for.
    command = learning(asking, run.method, "--concurrency", 1)
    lives = [1 + round(share * run.learning) for share in LIVES]
    for requests in lives:
        provider.brain = killing = Killing(at=requests, brain=scripted_model.reply)
        killing.victim = asking.start(*command)
        assert killing.victim.wait().code == -9
    provider.brain = scripted_model.reply
    done = asking(*command).json
    assert done["digest"] == run.digest
    assert provider.repeated == 0
    assert provider.answered.total() == run.learning
    assert provider.requests.total() == run.learning + len(lives)
    assert done["calls"]["made"] == run.learning - (sum(lives) - len(lives))


@pytest.mark.parametrize("method", WHOLE_TEXTS)
def test_killed_with_requests_in_flight_and_stopped_by_a_cap_it_repeats_at_most_those(
    run: Run, provider: RunningServer, asking: Commands
) -> None:
    provider.brain = killing = Killing(at=run.learning // 3, brain=scripted_model.reply)
    killing.victim = asking.start(*learning(asking, run.method, "--concurrency", IN_FLIGHT))
    assert killing.victim.wait().code == -9
    provider.brain = scripted_model.reply
    answered, cap = provider.answered.total(), run.learning // 3
    stopped = asking(*learning(asking, run.method, "--max-calls", cap))
    assert (stopped.code, stopped.out, stopped.err.count("\n")) == (2, "", 1)
    assert stopped.error.startswith(f"The cap of {cap} calls is reached.")
    # What the killed process had sent may reach the server a little later.
    assert cap <= provider.answered.total() - answered < cap + IN_FLIGHT
    done = asking(*learning(asking, run.method)).json
    assert done["digest"] == run.digest
    assert provider.repeated < IN_FLIGHT
    assert provider.requests.total() <= run.learning + IN_FLIGHT
