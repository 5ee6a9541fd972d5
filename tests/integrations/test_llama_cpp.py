"""llama.cpp's server with a small model as judge and generator; a reply takes seconds, so texts are few and short."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from commands import CHECKOUT

from rubriclab import Lab, Version

FOLDER = Path(os.environ.get("RUBRICLAB_LLAMA_CPP", CHECKOUT / ".llama-cpp"))
SERVER, MODEL = FOLDER / "llama-server", FOLDER / "model.gguf"
pytestmark = pytest.mark.skipif(
    "RUBRICLAB_INTEGRATIONS" not in os.environ or not (SERVER.exists() and MODEL.exists()),
    reason="takes minutes, and needs llama.cpp and a model: run make test-integrations",
)
CONTEXT_TOKENS = 4096
REPLIES = {
    "Shut up and read the manual, you fool.": 1,
    "Not my problem. Go away.": 1,
    "No. Ask somebody else.": 1,
    "Whatever. Try page 7.": 1,
    "It is in the manual, page 7.": 2,
    "You will find it on page 7 of the manual.": 2,
    "Please have a look at page 7 of the manual.": 3,
    "Could you please have a look at page 7?": 3,
    "Thank you for asking! You will find it on page 7; please write again if it does not help.": 3,
    "We are sorry for the trouble, and thank you for your patience: a new one is on its way.": 3,
}
ROWS = [
    {"id": f"r{number}", "output": text, "scores": {"politeness": score}}
    for number, (text, score) in enumerate(REPLIES.items())
]


@dataclass
class Llama:
    """The server at a port, which can be killed and started again."""

    port: int

    def start(self) -> None:
        """Start it, and wait until it answers."""
        where = ("--host", "127.0.0.1", "--port", str(self.port), "--alias", "local")
        self._process = subprocess.Popen(
            [SERVER, "-m", MODEL, *where, "-c", str(CONTEXT_TOKENS), "-np", "1"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(600):
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health"):
                return
            time.sleep(0.2)
        raise TimeoutError("llama.cpp's server does not answer.")

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="module")
def llama() -> Iterator[Llama]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server = Llama(free.getsockname()[1])
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def lab(llama: Llama, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("llama")
    options: dict[str, Any] = {"api_base": f"http://127.0.0.1:{llama.port}/v1", "concurrency": 1, "timeout": 600}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "none")
        with Lab(
            folder / "store.db", "openai/local", record=folder / "replies.jsonl", structured="schema", **options
        ) as lab:
            yield lab


@pytest.fixture(scope="module")
def version(lab: Lab) -> Version:
    """What the model learned, with itself as the generator."""
    few = {"initial_examples": 4, "initial_hypotheses": 2, "bank_size": 2, "refine_rounds": 0}
    return lab.learn(
        ROWS,
        task="reply",
        aspect="politeness",
        definition="How polite the reply is to the customer.",
        methods=("hypoeval", "direct"),
        no_literature=True,
        settings={"hypoeval": few},
    )


def test_a_rubric_is_learned_and_scores_with_the_prompt_cache(lab: Lab, version: Version) -> None:
    scores = lab.score(texts("Bye."), version)
    assert all(score.score is not None for score in scores)
    assert scores.effort.cached_prompt_tokens > scores.effort.prompt_tokens / 2


def test_the_schema_holds_the_model_to_one_entry_for_each_criterion(lab: Lab, version: Version) -> None:
    recording = lab._record or Path()
    before = len(recording.read_text("utf-8").splitlines())
    lab.score(texts("Thanks.")[:1], version)
    replies = [json.loads(line)["reply"]["text"] for line in recording.read_text("utf-8").splitlines()[before:]]
    asked = [name for reply in replies for name in json.loads(reply)]
    assert sorted(asked) == sorted(criterion.id for criterion in version.rubric.criteria)


def test_a_text_longer_than_the_context_is_missing_alone(lab: Lab, version: Version) -> None:
    long = {"id": "long", "output": "Please have a look at the manual. " * CONTEXT_TOKENS}
    *others, missing = lab.score([*texts("See you."), long], version)
    assert missing.score is None
    assert "context" in (missing.unscored or "")
    assert all(score.score is not None for score in others)


def test_a_server_that_is_killed_and_started_again_is_waited_for(lab: Lab, llama: Llama, version: Version) -> None:
    def restart() -> None:
        llama.kill()
        time.sleep(3)
        llama.start()

    scores = []
    for number, score in enumerate(lab.score(texts("Good luck."), version, stream=True)):
        scores.append(score.score)
        if number == 0:
            threading.Thread(target=restart).start()
    assert len(scores) == 4
    assert None not in scores


def texts(end: str) -> list[dict[str, str]]:
    """Return four texts that no other test has."""
    return [{"id": str(row["id"]), "output": f"{row['output']} {end}"} for row in ROWS[::3]]
