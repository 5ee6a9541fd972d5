"""Serves the labelling page until it is ended, and writes the labels."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import platformdirs
from starlette.types import ASGIApp

from rubriclab.data.write import write_rows
from rubriclab.errors import SettingsError
from rubriclab.models.characters import count
from rubriclab.models.judgment import LabelQuestion
from rubriclab.ops.inputs import Data
from rubriclab.ops.label import (
    Labeling,
    LabelOptions,
    LabelResult,
    prepare_labeling,
)
from rubriclab.ops.workspace import Workspace
from rubriclab.web.label.app import label_app
from rubriclab.web.security import Access
from rubriclab.web.server import EVERYWHERE, LOOPBACK, listen, local_address, port_of, serve

PORT = 8787


async def label(workspace: Workspace, data: Data, output: str | Path | None, options: LabelOptions) -> LabelResult:
    """Serve the page on which people label the texts of `data` until it is ended, and return the labels so far.

    They are written to `output`, if it is given, whenever a rater finishes and at the end.

    Raises:
        DataError: if a row is faulty, there is nothing to label, or `output` cannot be written.
        SettingsError: for options that do not go together, or a port in use.
    """
    labeling = prepare_labeling(workspace, data, options)
    if options.no_page:
        return written(labeling, output)
    with listen(EVERYWHERE if options.share else LOOPBACK, options.port, preferred=PORT) as bound:
        access = access_of(labeling.question, options, port_of(bound))
        for line in addresses(access, port_of(bound)):
            workspace.notify(line)

        writing = threading.Lock()

        def finish() -> str:
            # Several raters may finish at the same time: one file is written after the other.
            with writing:
                result = written(labeling, output)
            texts = count(result.labelled, "labelled text")
            return f"{texts} written to {output}." if output else f"There are {texts}."

        def app(stop: Callable[[], None]) -> ASGIApp:
            return label_app(labeling, access, finish=finish, stop=stop)

        own = f"http://{LOOPBACK}:{port_of(bound)}/"
        try:
            await serve(app, bound, own, browser=not options.no_browser and not options.share)
        finally:
            with writing:
                result = written(labeling, output)
    return result


def access_of(question: LabelQuestion, options: LabelOptions, port: int) -> Access:
    """Return who may use the page: everybody at this computer, or only those with a link."""
    names = (local_address(), socket.gethostname(), socket.getfqdn()) if options.share else ()
    token = kept_secret("label", "token", question.digest)
    links = {rater: kept_secret("label", "link", question.digest, rater) for rater in raters_with_link(options)}
    return Access.at(port, names, token=token, links=links)


def raters_with_link(options: LabelOptions) -> tuple[str, ...]:
    """Return the raters that get a link: those that the page is shared with, and the one at this computer."""
    return tuple(dict.fromkeys((*options.share, *filter(None, (options.rater,))))) if options.share else ()


def addresses(access: Access, port: int) -> list[str]:
    """Return where raters find the page, in lines for the person who started it."""
    if not access.links:
        return [f"Label at http://{LOOPBACK}:{port}/ until you press Ctrl-C. Every answer is kept as it is given."]
    shared = local_address()
    lines = [f"{rater}: http://{shared}:{port}{access.path(rater)}" for rater in access.links]
    return ["Send each rater their own link; whoever has it rates in their name. Press Ctrl-C to end.", *lines]


def written(labeling: Labeling, output: str | Path | None) -> LabelResult:
    """Return the labels so far, written to `output` if there are any."""
    result = labeling.result()
    if output is not None and result.rows:
        write_rows(result.rows, output)
    return result


# A random key in a file that only the user can read: secrets that are derived from it stay the same when a server is
# started again, so that open pages and sent links keep working.
KEY_FILE = "page-key"
KEY_BYTES = 32


def kept_secret(*purpose: str) -> str:
    """Return an unguessable text for a purpose; the same one each time.

    Raises:
        SettingsError: if the key cannot be read or written.
    """
    content = "\0".join(purpose).encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(hmac.digest(_key(), content, hashlib.sha256)).decode().rstrip("=")


def _key() -> bytes:
    file = platformdirs.user_data_path("rubriclab", appauthor=False) / KEY_FILE
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            _create(file)
        key = file.read_bytes()
    except OSError as error:
        raise SettingsError(
            f"The key of the pages, {file}, cannot be kept: {error.strerror}.", "Make its folder writable."
        ) from None
    if len(key) != KEY_BYTES:
        raise SettingsError(f"The key of the pages, {file}, has {len(key)} bytes instead of {KEY_BYTES}.", "Delete it.")
    return key


def _create(file: Path) -> None:
    """Write a new key, complete from the moment it appears; the first of several processes decides."""
    handle, name = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as new:
            new.write(secrets.token_bytes(KEY_BYTES))
        os.link(name, file)
    except FileExistsError:
        pass
    finally:
        os.unlink(name)
