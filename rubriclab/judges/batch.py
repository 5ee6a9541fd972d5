"""Batches: files of requests that a provider processes within a day at a lower price.

`BatchModel` makes the calls of a provider's Batch API, which litellm translates to and from OpenAI's form. The judge
`BatchScheduler` uses it. Prompts that arrive together are a *wave*, which is sent as one or more batches. The store
keeps an `OpenBatch` until its answers are fetched, so that an interrupted run can continue it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol, TypeVar

from pydantic import ValidationError

from rubriclab import errors
from rubriclab.judges import providers, responses
from rubriclab.judges.cache import AnswerCache, Storage, call_storage
from rubriclab.judges.judge import Judge, JudgeWrapper, dump_reply, load_reply, request_digest
from rubriclab.judges.limits import MAX_PAUSE
from rubriclab.judges.llm import REASONING_TOKENS, LanguageModel
from rubriclab.judges.options import Price
from rubriclab.judges.replies import Reply
from rubriclab.models.base import DIGEST_PREFIX, digest
from rubriclab.prompts.prompt import Prompt

# Providers whose batches litellm makes, polls and returns in OpenAI's form.
PROVIDERS = ("openai", "azure", "vertex_ai")
# Providers among these that get a file exactly as it is written here. For the others, litellm translates the file.
UNTRANSLATED = ("openai", "azure")
ENDPOINT = "/v1/chat/completions"
FILE_TRANSFER_SECONDS = 1800.0
# The largest file of answers that is received; it is held in memory.
MAX_DOWNLOAD_BYTES = 2_000_000_000
MAX_STATUS_BYTES = 10_000_000  # of a response about a file, a batch, or a page of batches
MAX_BATCHES_ON_PAGE = 100
MAX_CLOCK_SKEW_SECONDS = 86_400.0  # between the clocks of this machine and the provider
ENDED_STATES = ("completed", "failed", "expired", "cancelled")
# The share of the usual price that a batch is assumed to cost if no price is listed.
ASSUMED_PRICE_SHARE = 0.5
# The error code of a batch with more tokens than the account may have in the queue; it may be sent again later.
QUEUE_FULL = "token_limit_exceeded"


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """What a provider says of a batch: its `done` and `total` requests, its answer `files`, why it failed (`fault`)."""

    state: str
    files: tuple[str, ...] = ()
    done: int = 0
    total: int = 0
    fault: str = ""
    queue_full: bool = False  # whether the batch failed because the account has too many tokens in the queue

    @property
    def ended(self) -> bool:
        # A provider may name the file of a completed batch a moment later.
        lacks_files = self.state == "completed" and self.done > 0 and not self.files
        return self.state in ENDED_STATES and not lacks_files


class BatchModel(LanguageModel):
    """A language model of a provider with a Batch API; for other providers, making one raises `SettingsError`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if providers.provider_of(self.name) not in PROVIDERS:
            raise errors.SettingsError(
                f"`batch`: {self.name} cannot be asked in batches; that is possible with the providers "
                f"{', '.join(PROVIDERS)}.",
                "Leave `batch` out, or name a model of one of these.",
            )

    @cached_property
    def batch_price(self) -> Price | None:
        return self.price.times(ASSUMED_PRICE_SHARE) if self.price else batch_price_of(self.name)[0]

    def request_line(self, name: str, prompt: Prompt[Any]) -> bytes:
        """Return the line for `prompt` in a file of requests. `name` is repeated in the line of its answer."""
        model, provider = self._model_and_provider
        messages, settings = self._messages(prompt), self._settings(prompt)
        body = {"model": model, "messages": messages, **settings}
        if provider in UNTRANSLATED:  # so the request is written as litellm would send it singly
            litellm = providers.load_litellm()
            mapped = litellm.utils.get_optional_params(
                model=model, custom_llm_provider=provider, drop_params=True, **settings
            )
            chat = litellm.utils.ProviderConfigManager.get_provider_chat_config(model, litellm.LlmProviders(provider))
            body = chat.transform_request(
                model=model, messages=messages, optional_params=mapped, litellm_params={}, headers={}
            )
            body |= body.pop("extra_body", None) or {}
            body.pop("stream", None)
        request = {"custom_id": name, "method": "POST", "url": ENDPOINT, "body": body}
        return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def reply_in(self, body: Mapping[str, Any], prompt: Prompt[Any] | None) -> Reply:
        """Return the reply in the body of a response; `JudgeError` if it is damaged or larger than `prompt` allows."""
        litellm = providers.load_litellm()
        try:
            response = litellm.utils.convert_to_model_response_object(
                response_object=responses.repaired_reply(body), model_response_object=litellm.ModelResponse()
            )
        except Exception as error:  # litellm raises various errors for what is no completion
            message = f"{self.name}: damaged reply in a batch: {responses.provider_message(error)}"
            raise errors.JudgeUnavailable(message) from error
        reply, limit = self._read(response, self.batch_price), self.max_reply_bytes
        if prompt:
            limit = responses.text_limit(prompt, max(self.reasoning_limit, REASONING_TOKENS), limit)
        if len(reply.text.encode()) > limit:
            raise responses.ResponseRecord(self.name, limit).too_large_error()
        return reply

    def error_in(self, status: int, body: Any, request: _PendingRequest) -> errors.JudgeError:
        """Return a failed request's error: `JudgeUnavailable` if the request can be sent again."""
        from litellm.llms.openai.common_utils import OpenAIError as ResponseError
        from openai import OpenAIError

        # litellm turns the response into the error that it would raise for a single request.
        litellm, (model, provider) = providers.load_litellm(), self._model_and_provider
        stated = body.get("error") if isinstance(body, Mapping) else None
        fields = stated if isinstance(stated, dict) else None
        error: Exception = ResponseError(status, f"Error code: {status} - {body}", body=fields)
        try:
            litellm.exception_type(model=model, original_exception=error, custom_llm_provider=provider)
        except OpenAIError as translated:
            error = translated
        fault = responses.judge_error_from(error, self.name, self.api_key_variable)
        prompt, adjusted_when_sent = request.prompt, request.adjusted_when_sent
        dropped_since_sent = self.adjusted_settings.dropped - adjusted_when_sent.dropped
        sent = {*self._settings(prompt), *dropped_since_sent, adjusted_when_sent.token_limit_name}
        if self._adjust(adjusted_when_sent, error, sent, prompt.max_tokens + self.reasoning_limit, prompt):
            message = f"{self.name} does not accept a setting: {responses.provider_message(error)}"
            fault = errors.JudgeUnavailable(message)
        fault.may_be_billed = responses.may_be_billed(status)
        return fault

    async def upload(self, lines: bytes) -> str:
        file = await self._call("acreate_file", FILE_TRANSFER_SECONDS, file=("requests.jsonl", lines), purpose="batch")
        return str(file.id)

    async def create(self, file_id: str) -> str:
        batch = await self._call("acreate_batch", completion_window="24h", endpoint=ENDPOINT, input_file_id=file_id)
        return str(batch.id)

    async def find(self, file_id: str, since: datetime) -> str | None:
        """Return the id of the batch that was made from a file after `since`, or `None` if there is none."""
        page = await self._call("alist_batches", limit=MAX_BATCHES_ON_PAGE)
        while page is not None:
            is_mapping = isinstance(page, Mapping)  # as litellm returns it for Vertex AI
            batches = (page["data"] if is_mapping else page.data) or ()
            for batch in batches:
                if getattr(batch, "input_file_id", None) == file_id:
                    return str(batch.id)
            if any(batch.created_at < since.timestamp() - MAX_CLOCK_SKEW_SECONDS for batch in batches):
                return None
            if is_mapping:
                token = page.get("next_page_token")
                page = await self._call("alist_batches", limit=MAX_BATCHES_ON_PAGE, after=token) if token else None
            else:  # litellm cannot request a later page of Azure
                page = await self._await_answer(page.get_next_page(), self.timeout) if page.has_next_page() else None
        return None

    async def status(self, batch_id: str) -> BatchStatus:
        # This keeps litellm from fetching the answers of every finished batch to compute their cost.
        metadata = {"batch_ignore_default_logging": True}
        return _status(await self._call("aretrieve_batch", batch_id=batch_id, litellm_metadata=metadata))

    async def cancel(self, batch_id: str) -> BatchStatus:
        return _status(await self._call("acancel_batch", batch_id=batch_id))

    async def content(self, file_id: str, n_prompts: int) -> bytes:
        max_bytes = min(MAX_DOWNLOAD_BYTES, n_prompts * (responses.MAX_BYTES_BESIDE_REPLY + self.max_reply_bytes))
        file = await self._call("afile_content", FILE_TRANSFER_SECONDS, max_bytes=max_bytes, file_id=file_id)
        return bytes(file.content)

    async def delete(self, file_id: str) -> None:
        await self._call("afile_delete", file_id=file_id)

    async def _call(
        self, function_name: str, seconds: float | None = None, *, max_bytes: int = MAX_STATUS_BYTES, **options: Any
    ) -> Any:
        call, timeout = getattr(providers.load_litellm(), function_name), seconds or self.timeout
        _, provider = self._model_and_provider
        request = call(custom_llm_provider=provider, timeout=timeout, max_retries=0, **self._address_and_key, **options)
        return await self._await_answer(request, timeout, max_bytes)

    async def _await_answer(self, request: Awaitable[Any], seconds: float, max_bytes: int = MAX_STATUS_BYTES) -> Any:
        try:
            async with self._receiving(max_bytes, seconds):
                return await request
        except (ValidationError, json.JSONDecodeError) as error:
            message = f"{self.name}: damaged response: {responses.provider_message(error)}"
            raise errors.JudgeUnavailable(message) from error
        except (ValueError, TypeError) as error:  # litellm lacks a variable of the environment
            raise errors.JudgeRefused(f"{self.name}: {responses.provider_message(error)}") from error


def batch_price_of(model: str) -> tuple[Price | None, bool]:
    """Return the price of `model` in a batch, and whether litellm lists it; otherwise it is half the usual price."""
    usual_price = providers.price_of(model)
    if usual_price is None:
        return None, False
    info = providers.model_info(model)
    prompt, completion = info.get("input_cost_per_token_batches"), info.get("output_cost_per_token_batches")
    if prompt is None or completion is None:
        return usual_price.times(ASSUMED_PRICE_SHARE), False
    return Price(prompt * 1e6, completion * 1e6), True


def _status(batch: Any) -> BatchStatus:
    faults = getattr(batch.errors, "data", None) or ()
    counts = batch.request_counts
    return BatchStatus(
        state=str(batch.status),
        files=tuple(str(file) for file in (batch.output_file_id, batch.error_file_id) if file),
        done=getattr(counts, "completed", 0) or 0,
        total=getattr(counts, "total", 0) or 0,
        fault=providers.mask_keys(" ".join(str(fault.message) for fault in faults[:3]))[:1000],
        queue_full=any(fault.code == QUEUE_FULL for fault in faults),
    )


_log = logging.getLogger(__name__)


def answers_in(files: Iterable[bytes], names: Collection[str]) -> dict[str, tuple[int | None, Any]]:
    """Return the HTTP status and the body of each response in `files`, by the name of its request.

    If a request was not processed, the status is `None` and the body is the reason. Damaged lines, and lines with a
    name not in `names`, are ignored and logged. Of several lines with one name, the first with a reply counts.
    """
    # Each line is {"custom_id": NAME, "response": {"status_code": …, "body": …}, "error": …}.
    answers: dict[str, tuple[int | None, Any]] = {}
    ignored_lines = 0
    lines = (line for file in files for line in file.split(b"\n"))
    for line in filter(bytes.strip, lines):
        try:
            row = json.loads(line)
            name, response, error = row["custom_id"], row.get("response"), row.get("error")
            if isinstance(response, dict) and type(response.get("status_code")) is int:
                status, body = response["status_code"], response.get("body")
                if status == 200:
                    status = responses.stated_status(body) or 200
                answer = (status, body)
            else:
                answer = (None, str(error.get("message") or error.get("code"))[:500])
            if name not in names:
                raise KeyError(name)
        except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
            ignored_lines += 1
            continue
        if name not in answers or (_is_completion(*answer) and not _is_completion(*answers[name])):
            answers[name] = answer
    if ignored_lines:
        _log.warning("a batch's files have %d lines that answer none of its requests; they are ignored", ignored_lines)
    return answers


def _is_completion(status: int | None, body: Any) -> bool:
    return status == 200 and isinstance(body, Mapping)


T = TypeVar("T")

# A wave is the prompts that arrive together. It ends after this many seconds without a new prompt.
QUIET_SECONDS = 1.0
# A wave of fewer prompts is sent one by one, at the usual price.
MIN_BATCH = 10
# Seconds between the first two checks whether a batch is done.
FIRST_PAUSE = 10.0
# Each later pause is `PAUSE_GROWTH` times the one before, but at most `MAX_PAUSE_GROWTH` times the first.
PAUSE_GROWTH = 1.5
MAX_PAUSE_GROWTH = 30
# How many requests about a batch may fail in a row. With the pauses between them, this takes more than an hour.
MAX_FAILURES = 20
# Seconds before a batch that did not fit into the provider's queue is sent again.
QUEUE_PAUSE = 60.0
# Half of what OpenAI and Azure take in one file.
MAX_UPLOAD_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class OpenBatch:
    """An uploaded file of requests and the batch made from it, whose answers have not been fetched yet.

    Attributes:
        key: the name that rubriclab gives the batch before the provider's `batch_id` is known.
        judge: the digest of the judge's identity.
        batch_id: `None` if it is not known whether the batch was made.
        created: when the file was uploaded, in UTC as ISO 8601.
        requests: the digests of the requests.
        key_from: the environment variable with the judge's API key; `None` for the provider's usual variable.
    """

    key: str
    judge: str
    model: str
    api_base: str | None
    file_id: str
    batch_id: str | None
    created: str
    requests: tuple[str, ...]
    key_from: str | None = None

    @property
    def name(self) -> str:
        return self.batch_id or self.key


class BatchStore(Storage, Protocol):
    """Keeps open batches, so that their answers can be fetched after an interruption."""

    def save(self, batch: OpenBatch, /) -> None:
        """Store a batch in place of any batch with the same key."""

    def remove(self, key: str, /) -> None:
        """Remove a batch, if it is there."""

    def list_open(self, judge: str | None = None, /) -> tuple[OpenBatch, ...]:
        """Return the batches of the judge whose identity has the digest `judge`, or of all judges; the oldest first."""


class BatchTooSmall(errors.JudgeError):
    """A wave has fewer than `MIN_BATCH` prompts, and so was not sent."""

    may_be_billed = False


@dataclass(eq=False, repr=False)
class Batched(JudgeWrapper):
    """A `BatchScheduler` and a judge `direct`, which answers the prompts of waves that are too small."""

    direct: Judge

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        try:
            return await self.judge.reply(prompt)
        except BatchTooSmall:
            return await self.direct.reply(prompt)


class _PendingRequest(NamedTuple):
    prompt: Prompt[Any]
    reply: asyncio.Future[Reply]
    adjusted_when_sent: responses.AdjustedSettings  # the judge may have adjusted other settings since then


# Requests that wait for a reply, and what came of them. The keys of both mappings are the requests' digests.
PendingRequests = dict[str, _PendingRequest]
Outcomes = dict[str, Reply | Exception]


@dataclass(eq=False, repr=False)
class BatchScheduler(JudgeWrapper):
    """A judge that sends prompts in batches of at most `max_requests`.

    `reply` adds its prompt to the current wave, which ends when no prompt has arrived for `QUIET_SECONDS`. `_answer`
    then sends the wave, and `_follow` waits for each batch and caches its answers. A prompt that an earlier run sent in
    a batch that is still open waits for the answers of that batch instead.
    """

    judge: BatchModel
    answers: AnswerCache
    batches: BatchStore
    max_requests: int
    notify: Callable[[str], None] = lambda _text: None
    _last_arrival: float = field(default=0.0, init=False)
    _pending: PendingRequests = field(default_factory=dict, init=False)
    _requests_by_batch: dict[str, PendingRequests] = field(default_factory=dict, init=False)
    _finished_batches: set[str] = field(default_factory=set, init=False)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _collector: asyncio.Task[None] | None = field(default=None, init=False)
    _error_for_all: errors.JudgeError | None = field(default=None, init=False)

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the reply; raise `BatchTooSmall` if the prompt's wave is too small for a batch."""
        if self._error_for_all:
            raise self._error_for_all
        loop = asyncio.get_running_loop()
        request = _PendingRequest(prompt, loop.create_future(), self.judge.adjusted_settings)
        self._pending[request_digest(self.identity, prompt)] = request
        self._last_arrival = loop.time()
        if self._collector is None or self._collector.done():
            self._collector = self._start(self._collect())
        return await request.reply

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _set_outcome(self, requests: Iterable[_PendingRequest], outcome: Reply | Exception) -> None:
        if isinstance(outcome, errors.JudgeRefused | errors.BatchCancelled | errors.ProviderDown):
            self._error_for_all = outcome
        for request in requests:
            if request.reply.done():
                continue
            if isinstance(outcome, Reply):
                request.reply.set_result(outcome)
            else:
                request.reply.set_exception(outcome)

    async def _collect(self) -> None:
        while self._pending:
            remaining = QUIET_SECONDS
            while remaining > 0:
                await asyncio.sleep(remaining)
                remaining = self._last_arrival + QUIET_SECONDS - asyncio.get_running_loop().time()
            pending, self._pending = self._pending, {}
            wave = {request_key: request for request_key, request in pending.items() if not request.reply.done()}
            try:
                await self._answer(wave)
            except Exception as error:
                self._set_outcome(wave.values(), error)

    async def _answer(self, wave: PendingRequests) -> None:
        unsent = dict(wave)
        # Some prompts may be in open batches.
        for batch in await call_storage(self.batches, self.batches.list_open, digest(self.identity)):
            if batch.key in self._finished_batches:
                continue
            sent_requests = {each: unsent.pop(each) for each in batch.requests if each in unsent}
            if batch.key in self._requests_by_batch:
                self._requests_by_batch[batch.key].update(sent_requests)
            elif sent_requests:
                self._start(self._follow(batch, sent_requests, resumed=True))
        # While a prompt waited for the end of its wave, another batch may have answered the same prompt.
        for request_key, reply in (await self._cached_replies(unsent)).items():
            self._set_outcome([unsent.pop(request_key)], reply)
        if len(unsent) < MIN_BATCH:
            self._set_outcome(unsent.values(), BatchTooSmall(f"{self.name}: fewer than {MIN_BATCH} prompts."))
            return
        # Prompts without an answer are sent in as many batches as needed.
        requests: PendingRequests = {}
        lines = bytearray()
        for request_key, unsent_request in unsent.items():
            request = unsent_request._replace(adjusted_when_sent=self.judge.adjusted_settings)
            # Without the prefix: providers take names of at most 64 characters.
            line = self.judge.request_line(request_key.removeprefix(DIGEST_PREFIX), request.prompt)
            if requests and (len(requests) == self.max_requests or len(lines) + len(line) > MAX_UPLOAD_BYTES):
                await self._send(requests, bytes(lines))
                requests, lines = {}, bytearray()
            requests[request_key] = request
            lines += line
            await asyncio.sleep(0)  # lets other tasks run, as making each line takes about a millisecond
        await self._send(requests, bytes(lines))

    async def _cached_replies(self, keys: Iterable[str]) -> Outcomes:
        answers = {each: await call_storage(self.answers, self.answers.get, each) for each in keys}
        return {request_key: load_reply(answer) for request_key, answer in answers.items() if answer is not None}

    async def _send(self, requests: PendingRequests, lines: bytes) -> None:
        batch = OpenBatch(
            key=secrets.token_hex(8),
            judge=digest(self.identity),
            model=self.name,
            api_base=self.judge.api_base,
            file_id=await self._with_retries(lambda: self.judge.upload(lines)),
            batch_id=None,
            created=datetime.now(UTC).isoformat(timespec="microseconds"),
            requests=tuple(requests),
            key_from=self.judge.api_key_variable,
        )
        await call_storage(self.batches, self.batches.save, batch)
        self._start(self._follow(batch, requests, resumed=False))

    async def _follow(self, batch: OpenBatch, requests: PendingRequests, *, resumed: bool) -> None:
        """Give `requests` their outcomes once `batch` has ended; `resumed` if an earlier run uploaded it."""
        self._requests_by_batch[batch.key] = requests
        outcomes: Outcomes = {}
        no_answer_error: Exception  # the outcome of the requests without an answer
        try:
            try:
                batch_id = await self._create_or_continue(batch, resumed=resumed)
                status, cancellation = await self._wait_for_end(batch, batch_id, resumed=resumed)
                outcomes = await self._fetch_outcomes(batch, status)
                no_answer = f"batch {batch_id} has no answer to this prompt."
                no_answer_error = cancellation or errors.JudgeUnavailable(no_answer)
            except errors.JudgeRefused as error:
                no_answer_error = error
                # Another process may have fetched the answers and deleted the files.
                outcomes = await self._cached_replies(self._requests_by_batch[batch.key])
        except Exception as error:
            no_answer_error = error
        except BaseException:
            del self._requests_by_batch[batch.key]
            raise
        self._finished_batches.add(batch.key)
        for request_key, request in self._requests_by_batch.pop(batch.key).items():
            outcome = outcomes.get(request_key, no_answer_error)
            # In a cancelled batch, the provider's error for a request that was not processed would lead to a retry.
            if isinstance(no_answer_error, errors.BatchCancelled) and isinstance(outcome, errors.JudgeUnavailable):
                outcome = no_answer_error
            self._set_outcome([request], outcome)

    async def _create_or_continue(self, batch: OpenBatch, *, resumed: bool) -> str:
        if batch.batch_id:
            self.notify(f"batch {batch.batch_id} is continued: {len(batch.requests):,} requests")
            return batch.batch_id
        may_exist = resumed

        async def find_or_create() -> str:
            nonlocal may_exist
            since = datetime.fromisoformat(batch.created)
            existing = await self.judge.find(batch.file_id, since) if may_exist else None
            may_exist = True  # if the response to this request is lost, the batch may have been made
            return existing or await self.judge.create(batch.file_id)

        try:
            batch_id = await self._with_retries(find_or_create)
        except errors.JudgeRefused:
            await call_storage(self.batches, self.batches.remove, batch.key)
            raise
        await call_storage(self.batches, self.batches.save, replace(batch, batch_id=batch_id))
        self.notify(f"batch {batch_id} is under way: {len(batch.requests):,} requests")
        return batch_id

    async def _wait_for_end(
        self, batch: OpenBatch, batch_id: str, *, resumed: bool
    ) -> tuple[BatchStatus, errors.BatchCancelled | None]:
        """Return the status of a batch that has ended, and an error if it was cancelled during this run."""
        pause, checks, logged_done = FIRST_PAUSE, 0, None
        while True:
            status = await self._with_retries(lambda: self.judge.status(batch_id))
            if status.ended or status.done != logged_done:
                _log.info("batch %s: %s, %d of %d requests done", batch_id, status.state, status.done, status.total)
            if status.ended:
                break
            checks, logged_done = checks + 1, status.done
            await asyncio.sleep(pause)
            pause = min(PAUSE_GROWTH * pause, MAX_PAUSE_GROWTH * FIRST_PAUSE)
        if status.state == "failed":
            await call_storage(self.batches, self.batches.remove, batch.key)
            fault = f"batch {batch_id} failed: {status.fault or 'the provider does not say why.'}"
            if status.queue_full:
                raise errors.JudgeUnavailable(fault, retry_after=QUEUE_PAUSE, may_be_billed=False)
            raise errors.JudgeRefused(fault, "If the file is too large, give a smaller `batch_size`.")
        # At the first check of a resumed batch, it may have been cancelled before this run.
        if status.state == "cancelled" and (checks or not resumed):
            message = f"Batch {batch_id} was cancelled; {status.done:,} of its {status.total:,} requests were answered."
            return status, errors.BatchCancelled(
                message, "Run the command again to send the others: answers so far are cached."
            )
        return status, None

    async def _fetch_outcomes(self, batch: OpenBatch, status: BatchStatus) -> Outcomes:
        """Return the outcomes of a batch that has ended, cache its replies, and forget the batch."""
        names = {each.removeprefix(DIGEST_PREFIX): each for each in batch.requests}
        files = [await self._with_retries(partial(self.judge.content, file, len(names))) for file in status.files]
        outcomes: Outcomes = {}
        for name, (response_status, body) in answers_in(files, names).items():
            request_key = names[name]
            request = self._requests_by_batch.get(batch.key, {}).get(request_key)  # `None` if not asked for in this run
            if response_status is None:
                fault = f"{self.name}: the request was not processed: {body}"
                outcomes[request_key] = errors.JudgeUnavailable(fault, may_be_billed=False)
            elif _is_completion(response_status, body):
                try:
                    reply = self.judge.reply_in(body, request.prompt if request else None)
                except errors.JudgeError as error:
                    outcomes[request_key] = error
                else:
                    await call_storage(self.answers, self.answers.put, request_key, dump_reply(reply))
                    outcomes[request_key] = reply
            elif request:
                outcomes[request_key] = self.judge.error_in(response_status, body, request)
        await call_storage(self.batches, self.batches.remove, batch.key)
        if len(outcomes) == len(names):
            # Files that stay take up space in the provider's storage; a failed deletion has no other effect.
            for file in (batch.file_id, *status.files):
                try:
                    await self.judge.delete(file)
                except errors.RubriclabError as error:
                    _log.info("the file %s could not be deleted: %s", file, error.message)
        return outcomes

    async def _with_retries(self, request: Callable[[], Awaitable[T]]) -> T:
        pause = FIRST_PAUSE
        for _ in range(MAX_FAILURES):
            try:
                return await request()
            except errors.JudgeUnavailable as error:
                last_error = error
                wait = max(pause, min(error.retry_after or 0.0, MAX_PAUSE))
                _log.info("%s; the next attempt follows in %.1f s", error.message, wait)
                await asyncio.sleep(wait)
                pause = min(PAUSE_GROWTH * pause, MAX_PAUSE_GROWTH * FIRST_PAUSE)
        message = f"{MAX_FAILURES} requests in a row failed; the last one: {last_error.message}"
        raise errors.ProviderDown(message, "Run the command again later: batches that are under way are continued.")
