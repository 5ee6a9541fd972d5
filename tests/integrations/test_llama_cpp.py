"""llama.cpp's server with a small model as judge and generator; a reply takes seconds, so texts are few and short."""

from __future__ import annotations

import os
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from commands import CHECKOUT
from waiting import until

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


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of the server, once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = ("--host", "127.0.0.1", "--port", str(port), "--alias", "local")
    command = [str(SERVER), "-m", str(MODEL), *where, "-c", str(CONTEXT_TOKENS), "-np", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: _answers(f"http://127.0.0.1:{port}/health"))
    yield f"http://127.0.0.1:{port}/v1"
    process.kill()
    process.wait()


def _answers(url: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(url):
        return True
    return False


@pytest.fixture(scope="module")
def lab(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("llama")
    options: dict[str, Any] = {"api_base": address, "concurrency": 1, "timeout": 600}
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


def test_a_text_longer_than_the_context_is_missing_alone(lab: Lab, version: Version) -> None:
    long = {"id": "long", "output": "Please have a look at the manual. " * CONTEXT_TOKENS}
    *others, missing = lab.score([*texts("See you."), long], version)
    assert missing.score is None
    assert "context" in (missing.unscored or "")
    assert all(score.score is not None for score in others)


def texts(end: str) -> list[dict[str, str]]:
    """Return four texts that no other test has."""
    return [{"id": str(row["id"]), "output": f"{row['output']} {end}"} for row in ROWS[::3]]
