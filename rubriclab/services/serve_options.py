"""How a rubric is served over HTTP."""

from __future__ import annotations

from pydantic import Field

from rubriclab.services.base import JudgeOption

PORT = 8600


class ServeOptions(JudgeOption):
    """How a rubric is served over HTTP."""

    host: str = "127.0.0.1"
    """The address to listen at; any but a loopback address needs a token. `0.0.0.0` is every address."""

    port: int = Field(default=PORT, ge=0, le=65535)
    """The port to listen at; 0 for any free port."""

    token_file: str | None = None
    """A file with a token, or a name and a token, on each line. Default: `RUBRICLAB_SERVE_TOKEN`, or no token."""

    max_body_bytes: int = Field(default=1_000_000, ge=1_000, le=64_000_000)
    """The largest body of a request."""

    max_texts: int = Field(default=100, ge=1, le=10_000)
    """The most texts in a request."""

    at_once: int = Field(default=64, ge=1, le=10_000)
    """Requests to score that are answered at the same time."""

    request_timeout: float = Field(default=120.0, gt=0, le=3600)
    """Seconds until a request to score is given up; answers that arrive later are kept in the store."""

    grace: int = Field(default=30, ge=0, le=3600)
    """Seconds that requests under way get once the service is to end."""
