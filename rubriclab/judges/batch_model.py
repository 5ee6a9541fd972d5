"""A language model whose requests are sent as batches: files that a provider processes within a day at a lower price.

litellm translates the requests and answers of every provider to and from OpenAI's form.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from rubriclab.errors import JudgeError, JudgeRefused, JudgeUnavailable, SettingsError
from rubriclab.judges.judge import Reply
from rubriclab.judges.language_model import REASONING_TOKENS, LanguageModel
from rubriclab.judges.masking import masked
from rubriclab.judges.price import Price
from rubriclab.judges.provider_errors import may_be_billed, provider_message, translated
from rubriclab.judges.providers import load_litellm, provider_of
from rubriclab.judges.reply_size import FRAME_BYTES, RECEPTION, Reception, text_limit
from rubriclab.judges.response_body import readable, stated_status
from rubriclab.option_names import option
from rubriclab.prompts.prompt import Prompt

# Providers whose batches litellm makes, polls and returns in OpenAI's form.
PROVIDERS = ("openai", "azure", "vertex_ai")
# Of these, the ones that take OpenAI's form themselves.
OPENAI_FORM = ("openai", "azure")
ENDPOINT = "/v1/chat/completions"
# Seconds for the upload or download of a file.
FILE_SECONDS = 1800.0
# The largest file of answers that is received; it is held in memory.
MOST_FILE_BYTES = 2_000_000_000
# The largest response about a file, a batch, or a page of batches.
STATUS_BYTES = 10_000_000
# Batches on a page of the list, at most.
PAGE = 100
# Seconds by which the clocks of this machine and the provider may differ.
SKEW = 86_400.0
ENDED = ("completed", "failed", "expired", "cancelled")
# What a provider charges for a batch where no price is listed.
ASSUMED_SHARE = 0.5
# A batch that does not fit into the tokens that the account may have in the queue; it may be sent again later.
QUEUE_FULL = "token_limit_exceeded"


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """How far a batch is.

    Attributes:
        batch_id: the provider's id.
        state: `validating`, `in_progress`, `finalizing`, `cancelling`, or one of `ENDED`.
        files: ids of the files with answers and errors.
        done, total: requests; 0 where the provider does not say.
        fault: why the whole batch failed; empty if it did not.
        queue_full: whether it failed since too many tokens are in the queue.
    """

    batch_id: str
    state: str
    files: tuple[str, ...] = ()
    done: int = 0
    total: int = 0
    fault: str = ""
    queue_full: bool = False

    @property
    def ended(self) -> bool:
        """Whether no more answers will come, and those that came can be fetched."""
        # A provider may name the file of a completed batch a moment later.
        return self.state in ENDED and not (self.state == "completed" and self.done and not self.files)


class BatchModel(LanguageModel):
    """A language model that is asked by batches. Arguments are those of `LanguageModel`.

    Raises:
        SettingsError: if the provider has no batches that litellm makes.
    """

    def __init__(self, model: str, **settings: Any) -> None:
        super().__init__(model, **settings)
        self._sent_with = self._mended
        if provider_of(model) not in PROVIDERS:
            raise SettingsError(
                f"{option('batch')}: {model} cannot be asked by batches; that is possible with the providers "
                f"{', '.join(PROVIDERS)}.",
                f"Leave {option('batch')} out, or name a model of one of these.",
            )

    @property
    def api_base(self) -> str | None:
        """The server's address, if one was given."""
        return self._api_base

    @cached_property
    def batch_price(self) -> Price | None:
        """The price of requests in a batch; `None` if no price is known."""
        return self._price.times(ASSUMED_SHARE) if self._price else batch_price_of(self.model)[0]

    def line(self, name: str, prompt: Prompt[Any]) -> bytes:
        """Return the line of the request file that asks `prompt`, with the body that a single call would have."""
        request = {"custom_id": name, "method": "POST", "url": ENDPOINT, "body": self._body(prompt)}
        return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def reply_in(self, body: Mapping[str, Any], prompt: Prompt[Any] | None) -> Reply:
        """Return the reply in the body of a response; without its prompt only the overall limit of size applies.

        Raises:
            ReplyTooLarge: if it is larger than the prompt allows.
            JudgeUnavailable: if the body is damaged.
        """
        litellm = load_litellm()
        try:
            response = litellm.utils.convert_to_model_response_object(
                response_object=readable(body), model_response_object=litellm.ModelResponse()
            )
        except Exception as error:  # litellm raises various errors for what is no completion
            raise JudgeUnavailable(f"{self.model}: damaged reply in a batch: {provider_message(error)}") from error
        reply = self._read(response, self.batch_price)
        most = self._max_reply_bytes
        limit = text_limit(prompt, max(self.spare_tokens, REASONING_TOKENS), most) if prompt else most
        if len(reply.text.encode()) > limit:
            raise Reception(self.model, limit).too_large()
        return reply

    def error_in(self, status: int, body: Any, prompt: Prompt[Any]) -> JudgeError:
        """Return the error of a request that failed; one that can be sent again without a refused setting may be."""
        error = self._error_in(status, body, prompt)
        error.may_be_billed = may_be_billed(status)
        return error

    def _error_in(self, status: int, body: Any, prompt: Prompt[Any]) -> JudgeError:
        error = self._provider_error(status, body)
        mended = self._sent_with
        sent = {*self._settings(prompt), *self._mended.dropped} - mended.dropped
        if self._mend(mended, error, sent, prompt.max_tokens + self.spare_tokens, prompt):
            return JudgeUnavailable(f"{self.model} does not accept a setting: {provider_message(error)}")
        return translated(error, self.model)

    async def upload(self, lines: bytes) -> str:
        """Return the id of the uploaded file of requests.

        Raises:
            JudgeError: as for all that follows: `JudgeUnavailable` if a retry can help, `JudgeRefused` if not.
        """
        made = await self._call("acreate_file", FILE_SECONDS, file=("requests.jsonl", lines), purpose="batch")
        return str(made.id)

    async def create(self, file_id: str) -> str:
        """Return the id of a new batch of the requests in a file."""
        made = await self._call("acreate_batch", completion_window="24h", endpoint=ENDPOINT, input_file_id=file_id)
        return str(made.id)

    async def find(self, file_id: str, since: datetime) -> str | None:
        """Return the id of the batch that was made of a file, `None` if there is none; `since` is before it was made.

        However many batches are newer, all pages of the provider's list are read back to that time.
        """
        page = await self._call("alist_batches", limit=PAGE)
        while page is not None:
            batches = _listed(page)
            for batch in batches:
                if getattr(batch, "input_file_id", None) == file_id:
                    return str(batch.id)
            if any(batch.created_at < since.timestamp() - SKEW for batch in batches):
                return None
            page = await self._page_after(page)
        return None

    async def status(self, batch_id: str) -> BatchStatus:
        """Return how far a batch is."""
        # litellm would fetch the answers of every finished batch to compute their cost.
        metadata = {"batch_ignore_default_logging": True}
        return _status(await self._call("aretrieve_batch", batch_id=batch_id, litellm_metadata=metadata))

    async def cancel(self, batch_id: str) -> BatchStatus:
        """Return how far a batch is that the provider was told to stop."""
        return _status(await self._call("acancel_batch", batch_id=batch_id))

    async def content(self, file_id: str, prompts: int) -> bytes:
        """Return the content of a file with the answers to at most so many prompts."""
        most = min(MOST_FILE_BYTES, prompts * (FRAME_BYTES + self._max_reply_bytes))
        found = await self._call("afile_content", FILE_SECONDS, most_bytes=most, file_id=file_id)
        return bytes(found.content)

    async def delete(self, file_id: str) -> None:
        """Delete a file from the provider's storage."""
        await self._call("afile_delete", file_id=file_id)

    def _body(self, prompt: Prompt[Any]) -> dict[str, Any]:
        self._sent_with = self._mended
        model, provider = self._place
        messages, settings = self._messages(prompt), self._settings(prompt)
        if provider not in OPENAI_FORM:  # litellm translates the file
            return {"model": model, "messages": messages, **settings}
        litellm = load_litellm()
        mapped = litellm.utils.get_optional_params(model=model, custom_llm_provider=provider, **settings)
        chat = litellm.utils.ProviderConfigManager.get_provider_chat_config(model, litellm.LlmProviders(provider))
        body = chat.transform_request(
            model=model, messages=messages, optional_params=mapped, litellm_params={}, headers={}
        )
        added = body.pop("extra_body", None) or {}
        return {name: value for name, value in {**body, **added}.items() if name != "stream"}

    def _provider_error(self, status: int, body: Any) -> Exception:
        from litellm.llms.openai.common_utils import OpenAIError as ResponseError
        from openai import OpenAIError

        litellm, (model, provider) = load_litellm(), self._place
        inner = body.get("error") if isinstance(body, Mapping) else None
        response = ResponseError(
            status, f"Error code: {status} - {body}", body=inner if isinstance(inner, dict) else None
        )
        try:
            litellm.exception_type(model=model, original_exception=response, custom_llm_provider=provider)
        except OpenAIError as error:
            return error
        return response

    async def _page_after(self, page: Any) -> Any:
        if not isinstance(page, Mapping):  # litellm cannot pass on where a page of Azure begins
            return await self._answered(page.get_next_page()) if page.has_next_page() else None
        token = page.get("next_page_token")
        return await self._call("alist_batches", limit=PAGE, after=token) if token else None

    async def _call(
        self, function: str, seconds: float | None = None, *, most_bytes: int = STATUS_BYTES, **given: Any
    ) -> Any:
        litellm, seconds = load_litellm(), seconds or self._timeout
        place = {"api_base": self._api_base} if self._api_base else {}
        call = getattr(litellm, function)
        request = call(custom_llm_provider=self._place[1], timeout=seconds, max_retries=0, **place, **given)
        return await self._answered(request, seconds, most_bytes=most_bytes)

    async def _answered(
        self, request: Awaitable[Any], seconds: float | None = None, *, most_bytes: int = STATUS_BYTES
    ) -> Any:
        from openai import OpenAIError
        from pydantic import ValidationError

        seconds = seconds or self._timeout
        reception = Reception(self.model, most_bytes)
        outer = RECEPTION.set(reception)
        try:
            async with asyncio.timeout(seconds):
                return await request
        except TimeoutError:
            raise JudgeUnavailable(f"{self.model}: no complete response within {seconds:g} seconds.") from None
        except OpenAIError as error:
            raise reception.fault or translated(error, self.model) from error
        except (ValidationError, json.JSONDecodeError) as error:
            raise JudgeUnavailable(f"{self.model}: damaged response: {provider_message(error)}") from error
        except (ValueError, TypeError) as error:  # what litellm needs in the environment is missing
            raise JudgeRefused(f"{self.model}: {provider_message(error)}") from error
        finally:
            RECEPTION.reset(outer)


def batch_price_of(model: str) -> tuple[Price | None, bool]:
    """Return the price of `model` in a batch, and whether it is listed; if it is not, half of the usual price."""
    from rubriclab.judges.price import price_of

    usual = price_of(model)
    if usual is None:
        return None, False
    info = load_litellm().get_model_info(model)
    prompt, completion = info.get("input_cost_per_token_batches"), info.get("output_cost_per_token_batches")
    if prompt is None or completion is None:
        return usual.times(ASSUMED_SHARE), False
    return Price(prompt * 1e6, completion * 1e6), True


def _listed(page: Any) -> Sequence[Any]:
    """Return the batches on a page, which litellm returns as a mapping for Vertex AI."""
    return (page["data"] if isinstance(page, Mapping) else page.data) or ()


def _status(batch: Any) -> BatchStatus:
    faults = getattr(batch.errors, "data", None) or ()
    counts = batch.request_counts
    return BatchStatus(
        batch_id=str(batch.id),
        state=str(batch.status),
        files=tuple(str(file) for file in (batch.output_file_id, batch.error_file_id) if file),
        done=getattr(counts, "completed", 0) or 0,
        total=getattr(counts, "total", 0) or 0,
        fault=masked(" ".join(str(fault.message) for fault in faults[:3]))[:1000],
        queue_full=any(fault.code == QUEUE_FULL for fault in faults),
    )


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What a batch's files say about one request.

    A line is `{"custom_id": …, "response": {"status_code": …, "body": …}, "error": …}`; a request that was not
    processed has no response but an error with a code, such as `batch_expired`.

    Attributes:
        status: the HTTP status of the response; `None` if the request was not processed.
        body: the body of the response.
        reason: why the request was not processed.
    """

    status: int | None
    body: Any
    reason: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether the body is a completion."""
        return self.status == 200 and isinstance(self.body, Mapping)


def answers_in(files: Iterable[bytes], names: Collection[str]) -> dict[str, BatchAnswer]:
    """Return what files say about the requests of these names, by name.

    Lines that are damaged or name no such request are left out, and logged; so are repeated names, of which a
    completion comes first, and otherwise the first line.
    """
    found: dict[str, BatchAnswer] = {}
    damaged = unknown = repeated = 0
    for line in (line for file in files for line in file.split(b"\n") if line.strip()):
        name, answer = _read(line)
        if answer is None:
            damaged += 1
        elif name not in names:
            unknown += 1
        elif name in found:
            repeated += 1
            if answer.succeeded and not found[name].succeeded:
                found[name] = answer
        else:
            found[name] = answer
    if damaged or unknown or repeated:
        _log.warning(
            "a batch's files have %d damaged lines, %d of unknown requests and %d repeated ones; they are ignored",
            damaged,
            unknown,
            repeated,
        )
    return found


def _read(line: bytes) -> tuple[str, BatchAnswer | None]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return "", None
    if not isinstance(row, dict) or not isinstance(row.get("custom_id"), str):
        return "", None
    response, error = row.get("response"), row.get("error")
    if isinstance(response, dict) and type(response.get("status_code")) is int:
        status, body = response["status_code"], response.get("body")
        return row["custom_id"], BatchAnswer(stated_status(body) or status if status == 200 else status, body)
    if isinstance(error, dict):
        reason = error.get("message") or error.get("code")
        return row["custom_id"], BatchAnswer(None, None, str(reason)[:500])
    return row["custom_id"], None
