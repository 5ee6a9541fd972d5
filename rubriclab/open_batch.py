"""A batch of requests that a provider is processing, as it is stored until all its answers are cached."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpenBatch:
    """An uploaded file of requests, and the batch that was made of it.

    Attributes:
        key: its name in the store.
        judge: the digest of the judge's identity.
        model: the litellm model string.
        api_base: the server's address, if one was given.
        file_id: the provider's id of the uploaded file.
        batch_id: the provider's id of the batch; `None` if it is not known whether the batch was made.
        created: when the file was uploaded, in UTC as ISO 8601.
        requests: the digests of the requests.
    """

    key: str
    judge: str
    model: str
    api_base: str | None
    file_id: str
    batch_id: str | None
    created: str
    requests: tuple[str, ...]

    @property
    def name(self) -> str:
        """The provider's id, or else the name in the store."""
        return self.batch_id or self.key
