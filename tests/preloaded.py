"""Imports everything that a command may need, for the process that the commands of the tests are forked from."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import tempfile
from pathlib import Path
from unittest import mock

import rubriclab
from rubriclab.cli.options import all_long_names
from rubriclab.prompts.render import FOLDER, _template_turns

# Of other packages: what they import only when it is first used.
OTHERS = (
    "encodings.utf_8_sig",
    "experiments.commands",
    "experiments.runner.run",
    "litellm._service_logger",
    "litellm.batches.main",
    "litellm.files.main",
    "litellm.integrations.prometheus_services",
    "litellm.llms.litellm_proxy.chat.transformation",
    "litellm.llms.openai.chat.gpt_audio_transformation",
    "litellm.llms.openai_like.dynamic_config",
    "litellm.llms.vertex_ai.vertex_ai_partner_models.anthropic.transformation",
    "litellm.proxy._types",
    "litellm.proxy.openai_files_endpoints.common_utils",
    "numpy.ma",
    "numpy.random",
    "openai.resources",
    "privileges",
    "rich._emoji_codes",
    "rich._unicode_data.unicode17-0-0",
    "scipy.stats",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite",
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.auto",
)


# While modules are imported nearly nothing becomes garbage, and looking for it took a fifth of the time.
gc.disable()
# First, as a worker imports rubriclab beside it. By the variables that `commands` sets, as rubriclab does, litellm asks
# nobody and leaves a .env file alone.
asked: list[object] = []
with (
    tempfile.TemporaryDirectory() as folder,
    contextlib.chdir(folder),
    mock.patch("socket.socket.connect", lambda *call: asked.append(call)),
    mock.patch("socket.getaddrinfo", lambda *call, **_: asked.append(call)),
):
    Path(".env").write_text("OF_ANOTHER_PROJECT=1")
    importlib.import_module("litellm")
if asked or "OF_ANOTHER_PROJECT" in os.environ:
    raise ImportError(f"litellm asks the network ({asked}) or reads a .env file where it is imported")
for module in pkgutil.walk_packages(rubriclab.__path__, "rubriclab."):
    # The integrations need libraries that are not there, and __main__ starts the command line.
    if "integrations" not in module.name and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
for name in OTHERS:
    importlib.import_module(name)

# What a process makes once: compiled templates, and how options are written.
for template in FOLDER.glob("*/*.md"):
    _template_turns(template.relative_to(FOLDER).with_suffix("").as_posix())
all_long_names()

# A forked process copies each page of memory that its garbage collector writes to; what is here will not be collected.
gc.freeze()
gc.enable()
