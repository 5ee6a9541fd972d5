"""Findings of papers: what raters reward or penalize, each with a quotation that proves it.

A model proposes the findings of a paper; findings whose quotation is in the paper are kept. Learning uses them, except
findings about the raters of a benchmark (a public data set) on which the rubric is to be tested.
"""

from __future__ import annotations

import asyncio
import io
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import platformdirs
from pydantic import AfterValidator, BaseModel, Field, ValidationInfo
from rapidfuzz import fuzz

from rubriclab.display import Displayed
from rubriclab.errors import JudgeError, LiteratureError, SettingsError
from rubriclab.judges.connect import EMBEDDED
from rubriclab.judges.judge import ask
from rubriclab.learning.estimate import DryRun, dry_run, estimate_prompts
from rubriclab.methods.prompting import Name, WholeNumber, Wording, at_most, for_each, keep_valid
from rubriclab.methods.sources import Finding, benchmark_name, changing_findings, load_findings, read_findings
from rubriclab.models.base import MAX_WORDING_LENGTH, Unreadable, content_path, decode_text, read_file
from rubriclab.models.characters import close_match, did_you_mean, is_blank
from rubriclab.models.text import Example, Words, find_aspect, shipped_aspects, task_words
from rubriclab.models.version import Effort
from rubriclab.ops.options import LearnOptions, LiteratureAddOptions, LiteratureShowOptions
from rubriclab.ops.workspace import Job, JudgeChoice, Notify, Workspace
from rubriclab.prompts.prompt import Prompt

MAX_PAPER_BYTES = 100_000_000
# If a PDF has fewer letters and digits, its pages are scanned, or the fonts do not map their glyphs to letters.
MIN_LETTERS = 20  # letters and digits per page
MIN_READABLE = 0.6  # share of letters and digits in all characters that are not spaces
MAX_FINDINGS_PER_REPLY = 6
# The prompt asks for quotations of at most `MAX_WORDS`; up to `MAX_QUOTATION_CHARACTERS` characters are accepted.
MAX_WORDS = 60
MAX_QUOTATION_CHARACTERS = 3_000
MAX_REPLY_TOKENS = 3_400
# Maximum number of characters of a paper in one prompt: about 8,000 tokens in any language with an alphabet.
MAX_PAPER_CHARACTERS = 24_000
_SPLIT_WORD = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\s*\n\s*(?=[a-zà-ÿ])")
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2060-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class PaperPage:
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Paper:
    """The pages of a paper that hold text. Form feeds separate the pages of a text file."""

    name: str
    pages: tuple[PaperPage, ...]
    has_page_numbers: bool


def read_paper(path: Path) -> Paper:
    """Return the text of a PDF or text file; LiteratureError if it has no readable text."""
    try:
        content = read_file(path, MAX_PAPER_BYTES)
        is_pdf = b"%PDF-" in content[:1024]
        texts = _pdf_page_texts(content) if is_pdf else decode_text(content).split("\f")
    except Unreadable as error:
        hint = "A paper is a PDF with a text layer, or a text file in UTF-8."
        raise LiteratureError(f"{path} cannot be read: {error}.", hint) from None
    pages = tuple(PaperPage(number, clean(text)) for number, text in enumerate(texts, 1) if not is_blank(text))
    if not pages:
        raise LiteratureError(f"{path} holds no text.", "Give a file with the text of the paper.")
    return Paper(path.name, pages, is_pdf or len(texts) > 1)


def clean(text: str) -> str:
    """Return the text without control characters, with the words joined that were split at the end of a line."""
    lines = _UNSAFE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _SPLIT_WORD.sub("", unicodedata.normalize("NFC", lines)).strip()


def page_runs(paper: Paper, max_characters: int) -> Iterator[list[PaperPage]]:
    """Yield lists of successive pages with at most `max_characters` in all; a longer page is cut between words."""
    run: list[PaperPage] = []
    for page in paper.pages:
        remaining = page.text
        while remaining:
            end = len(remaining)
            if end > max_characters:
                after_last_space = remaining.rfind(" ", 1, max_characters) + 1
                end = after_last_space or max_characters
            if run and sum(len(each.text) for each in run) + end > max_characters:
                yield run
                run = []
            run.append(PaperPage(page.number, remaining[:end]))
            remaining = remaining[end:]
    yield run


def _pdf_page_texts(content: bytes) -> list[str]:
    try:
        from pypdf import PdfReader
    except ImportError:
        raise LiteratureError("Reading PDF files needs: pip install 'rubriclab[literature]'") from None
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # pypdf warns of small faults that users cannot fix
    try:
        reader = PdfReader(io.BytesIO(content))
        # A file that only restricts printing or copying has an empty password.
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it is protected by a password")
        texts = [page.extract_text() for page in reader.pages]
    except Unreadable:
        raise
    except Exception as error:  # a damaged file makes pypdf raise errors of almost any kind
        raise Unreadable(" ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__) from None
    characters = "".join("".join(texts).split())
    n_readable = sum(map(str.isalnum, characters))
    if n_readable < MIN_LETTERS * len(texts) or n_readable < MIN_READABLE * len(characters):
        raise Unreadable("its pages have no readable text, as if they were scanned")
    return texts


MIN_WORDS = 5  # a quotation with fewer words is not searched for
# Minimum similarity, from 0 to 100, of a quotation and its passage in the paper. Differences in ligatures or divided
# words leave the similarity above this minimum; another word puts it below.
MIN_SIMILARITY = 95
_PLAIN_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys("“”„«»", '"'),
        **dict.fromkeys("‘’‛ʼ´`", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00ad\ufe0e\ufe0f©®™•▪◦", None),  # these are deleted
        "İ": "I",
    }
)
_LIGATURES = re.compile("[\ufb00-\ufb06]")
_OPTIONAL_SPACES = re.compile(r" (?=[<>=≤≥≠±%])|(?<=[<>=≤≥≠±]) |(?<=-) (?=[.\d])")
# In scripts without spaces, each character counts as a word.
_WORD = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|\\w+")
# What must be identical: signs, numbers, negations, and words with a negative prefix, such as "inconsistent".
_EXACT = re.compile(
    r"[<>=≤≥≠±]|(?:(?<!\w)-)?\.?\d(?:[.,:/]?\d)*%?|\b(?:no|not|never|none|nor|neither|without|cannot|hardly)\b|\w+n't"
    r"|\b(?:un|in|im|ir|dis|non|mis)\w+"
)


def find_quotation(quotation: str, pages: Sequence[PaperPage], named_page: int | None = None) -> PaperPage | None:
    """Return the page and passage of the paper that a quotation is taken from, `None` if there is no such passage.

    Differences due to layout and text extraction are tolerated; numbers, comparison signs and negations must be equal.
    """
    quotation_text = _normalize(clean(quotation))
    if len(_WORD.findall(quotation_text)) < MIN_WORDS:
        return None
    for page in sorted(pages, key=lambda page: page.number != named_page):  # the named page first
        text = _normalize(page.text)
        alignment = fuzz.partial_ratio_alignment(quotation_text.lower(), text.lower(), score_cutoff=MIN_SIMILARITY)
        if alignment:
            # The passage consists of the whole words that the alignment touches.
            words = (word for word in re.finditer(r"\S+", text) if word.end() > alignment.dest_start)
            matched = [word for word in words if word.start() < alignment.dest_end]
            passage = text[matched[0].start() : matched[-1].end()].strip("\"'.,;: ")
            if _EXACT.findall(quotation_text.lower()) == _EXACT.findall(passage.lower()):
                return PaperPage(page.number, passage)
    return None


def _normalize(text: str) -> str:
    letters = _LIGATURES.sub(lambda match: unicodedata.normalize("NFKC", match[0]), unicodedata.normalize("NFC", text))
    return _OPTIONAL_SPACES.sub("", " ".join(letters.translate(_PLAIN_CHARACTERS).split()))


def _check_aspects(names: list[str], info: ValidationInfo) -> list[str]:
    requested = {aspect["name"].casefold(): aspect["name"] for aspect in (info.context or {}).get("aspects", ())}
    if unknown := [name for name in names if name.strip().casefold() not in requested]:
        expected = ", ".join(requested.values()) or "an empty list"
        raise ValueError(f"{unknown[0]!r:.60} is none of the qualities asked about; expected {expected}")
    return list(dict.fromkeys(requested[name.strip().casefold()] for name in names))


class QuotedFinding(BaseModel):
    page: Annotated[WholeNumber, Field(ge=1)]
    quotation: Annotated[Words, at_most(MAX_QUOTATION_CHARACTERS)]
    claim: Wording
    aspects: Annotated[list[str], AfterValidator(_check_aspects)]
    benchmarks: list[Name]


class QuotedFindings(BaseModel):
    """A model's reply about some pages; `reasoning` says first what they report about raters."""

    reasoning: Annotated[str, at_most(MAX_WORDING_LENGTH)]
    findings: list[QuotedFinding]


class UsableFindings(QuotedFindings):
    """What can be used of a reply that is still faulty after a repair: its valid findings."""

    reasoning: str = ""
    findings: Annotated[list[QuotedFinding], keep_valid(optional_fields=())]  # every field is required


@dataclass(frozen=True, repr=False)
class LiteratureAdded(Displayed):
    """The findings kept in `file`, those dropped as their quotation is not in the paper, and why pages are unread."""

    file: Path
    kept: tuple[Finding, ...]
    dropped: tuple[Finding, ...]
    unread: tuple[str, ...]
    effort: Effort  # calls, tokens, money and time that the command used

    def to_row(self) -> dict[str, Any]:
        kept = [finding.to_row() for finding in self.kept]
        dropped = [finding.to_row() for finding in self.dropped]
        return {"file": str(self.file), "kept": kept, "dropped": dropped, "unread": list(self.unread)}


def literature_add(workspace: Workspace, path: str | Path, options: LiteratureAddOptions) -> Job[LiteratureAdded]:
    """Ask a model for the findings of a paper, and keep those whose quotation is in the paper."""
    spec = options.judge or EMBEDDED
    if spec == EMBEDDED:
        hint = "Name a language model: `judge=JUDGE`."
        raise SettingsError("The offline judge does not understand texts, so it finds nothing in a paper.", hint)
    if options.task != Path(options.task).name:
        raise LiteratureError(f"The task {options.task!r} cannot name a file.", "Name it without slashes.")
    file_or_folder = literature_path(options.folder)
    file = file_or_folder if file_or_folder.suffix == ".json" else file_or_folder / f"{options.task}.json"
    paper = read_paper(Path(path))
    prompts = findings_prompts(paper, file, options)

    def estimate() -> DryRun:
        return dry_run({"judge": (spec, estimate_prompts(prompts))}, workspace.options)

    async def run() -> LiteratureAdded:
        await workspace.off_event_loop(workspace.open_store, create=True)
        judge = workspace.judge(JudgeChoice(spec))
        with workspace.progress(workspace.ledger) as on_progress:
            ask_judge = partial(ask, judge, salvage_model=UsableFindings)
            answers = await for_each(prompts, ask_judge, on_progress, "parts read")
        unread = []
        for prompt, answer in zip(prompts, answers, strict=True):
            if answer.value is None:
                first_page = prompt.fields["pages"][0]
                unread.append(f"page {first_page['number']} and following: {answer.missing}")
        if len(unread) == len(prompts):
            raise JudgeError(f"{paper.name} could not be read. {unread[0]}")
        proposals = [finding for answer in answers if answer.value for finding in answer.value.findings]
        known_benchmarks = prompts[0].fields["known_benchmarks"]
        # In another thread, since searching a long paper takes seconds.
        confirmed, dropped = await asyncio.to_thread(_split_by_quotation, proposals, paper, known_benchmarks, options)
        added = _add_findings(file, confirmed) if confirmed else ()
        return LiteratureAdded(file, added, dropped, tuple(unread), workspace.effort())

    return Job(estimate, run)


def findings_prompts(paper: Paper, file: Path, options: LiteratureAddOptions) -> list[Prompt[QuotedFindings]]:
    names = dict.fromkeys(options.aspect)
    aspects = [find_aspect(options.task, name, options.definition) for name in names] or shipped_aspects(options.task)
    earlier_findings = read_findings(file) if file.exists() else ()
    findings = [*(stored.finding for stored in stored_findings(content_path("literature"))), *earlier_findings]
    fields: dict[str, Any] = {
        "words": task_words(options.task).model_dump(),
        "aspects": [{"name": aspect.name, "definition": aspect.definition} for aspect in aspects],
        "known_benchmarks": list(dict.fromkeys(name for finding in findings for name in finding.benchmarks)),
        "most": MAX_FINDINGS_PER_REPLY,
        "fewest_words": MIN_WORDS + 1,  # one more than needed, since a model may count words differently
        "most_words": MAX_WORDS,
    }
    prompt_fields = [{**fields, "pages": list(map(asdict, pages))} for pages in page_runs(paper, MAX_PAPER_CHARACTERS)]
    return [Prompt("literature/findings", each, QuotedFindings, max_tokens=MAX_REPLY_TOKENS) for each in prompt_fields]


def _split_by_quotation(
    proposals: list[QuotedFinding], paper: Paper, known_benchmarks: list[str], options: LiteratureAddOptions
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    confirmed: list[Finding] = []
    dropped: list[Finding] = []
    for proposal in proposals:
        passage = find_quotation(proposal.quotation, paper.pages, proposal.page)
        benchmarks = [benchmark_name(name, known_benchmarks) for name in (*proposal.benchmarks, *options.benchmark)]
        finding = Finding(
            id=Path(paper.name).stem,
            aspects=tuple(proposal.aspects) or options.aspect,
            claim=" ".join(proposal.claim.split()),
            citation=options.citation or paper.name,
            benchmarks=tuple(filter(None, dict.fromkeys(benchmarks))),
            quotation=passage.text if passage else " ".join(proposal.quotation.split()),
            page=passage.number if passage and paper.has_page_numbers else None,
            file=paper.name,
        )
        side = confirmed if passage else dropped
        side.append(finding)
    return tuple(confirmed), tuple(dropped)


def _add_findings(file: Path, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Add findings to a file, and return their entries; a finding already in the file gets only new benchmarks."""
    added = {}
    with changing_findings(file) as entries:
        for finding in findings:
            cited_claim = (finding.citation, finding.claim)
            entry = next((each for each in entries.values() if (each.citation, each.claim) == cited_claim), None)
            if entry is None:
                numbered_ids = (f"{finding.id}-{number}" for number in count(1))
                unused_id = next(entry_id for entry_id in numbered_ids if entry_id not in entries)
                entry = finding.model_copy(update={"id": unused_id})
            # An entry names every benchmark of its claim, since a rubric tested on one of them must not use the claim.
            benchmarks = tuple(dict.fromkeys((*entry.benchmarks, *finding.benchmarks)))
            entries[entry.id] = added[entry.id] = entry.model_copy(update={"benchmarks": benchmarks})
    return tuple(added.values())


@dataclass(frozen=True)
class StoredFinding:
    file: Path
    finding: Finding


@dataclass(frozen=True, repr=False)
class FindingList(Displayed):
    """Findings under a heading; if `detailed`, each is shown with its quotation."""

    heading: str
    findings: tuple[StoredFinding, ...]
    detailed: bool = False

    def to_row(self) -> dict[str, Any]:
        rows = [{"task": each.file.stem, "file": str(each.file), **each.finding.to_row()} for each in self.findings]
        return {"findings": rows}


def list_findings(options: LiteratureShowOptions, ids: Sequence[str] = ()) -> FindingList:
    """Return the user's own findings or the included ones; with `ids`, only the named ones, in detail."""
    if options.included and options.folder:
        raise SettingsError("`included` means the findings of rubriclab;", "leave `folder` out.")
    path = content_path("literature") if options.included else literature_path(options.folder)
    if options.folder and not path.exists():
        raise LiteratureError(f"There is no findings file or folder {path}.", "Give one that exists.")
    findings = [each for each in stored_findings(path, options.task) if each.finding.bears_on(options.aspect)]
    known_ids = [each.finding.id for each in findings]
    for id_ in ids:
        if id_ not in known_ids:
            raise LiteratureError(f"There is no finding {id_!r} in {path}.", did_you_mean(id_, known_ids).strip())
    if ids:
        findings = [each for each in findings if each.finding.id in ids]
    return FindingList(f"Findings in {path}: {len(findings)}", tuple(findings), detailed=bool(ids))


def literature_path(folder: Path | None) -> Path:
    return folder or platformdirs.user_data_path("rubriclab", appauthor=False) / "literature"


def stored_findings(path: Path, task: str | None = None) -> list[StoredFinding]:
    """Return the findings of a file or folder, or only those of the file that is named after `task`."""
    files = [path] if path.is_file() else sorted(path.glob("*.json"))
    tasks = [file.stem for file in files]
    if files and task and task not in tasks:
        hint = f"{did_you_mean(task, tasks)}There are findings for: {', '.join(tasks)}."
        raise LiteratureError(f"There are no findings for the task {task!r} in {path}.", hint)
    chosen_files = [file for file in files if task in (None, file.stem)]
    return [StoredFinding(file, finding) for file in chosen_files for finding in read_findings(file)]


def chosen_findings(aspect: str, options: LearnOptions, notify: Notify) -> tuple[Finding, ...]:
    """Return the findings that the options select; SettingsError if an excluded benchmark looks misspelled."""
    if options.no_literature:
        return ()
    findings = load_findings(options.task, path=options.literature)
    if options.literature and options.literature_included:
        findings = (*load_findings(options.task), *findings)
    known_benchmarks = sorted({name for finding in findings for name in finding.benchmarks})
    excluded_names = excluded_benchmarks(options)
    for name in excluded_names:
        if name not in known_benchmarks:
            others = f"; there are some about {', '.join(known_benchmarks)}" if known_benchmarks else ""
            problem = f"no finding for {options.task} is about the raters of {name}{others}"
            message = f"`literature_without={name}` leaves nothing out: {problem}"
            # With a misspelled name, the findings would be used for learning after all.
            if similar := close_match(name, known_benchmarks):
                raise SettingsError(f"{message}.", f"Did you mean {similar!r}? If not, leave out the name {name!r}.")
            notify(message)
    return tuple(each for each in findings if each.bears_on(aspect) and set(excluded_names).isdisjoint(each.benchmarks))


def benchmark_notes(file_names: str, examples: Sequence[Example], findings: Sequence[Finding]) -> list[str]:
    """Return a warning for each benchmark that the labels seem to be from, if there are findings about its raters."""
    # The name of a benchmark may be part of a file's name, or of the ids of the texts in the file.
    names = [file_names, *(f"{example.id}\n{example.group}\n{example.system or ''}" for example in examples)]
    searched_text = "\n".join(names).casefold()
    finding_counts = Counter(name for finding in findings for name in finding.benchmarks)
    notes = []
    for name, n_findings in finding_counts.items():
        pattern = name.replace("_", r"[\W_]*")
        if re.search(rf"(?<![^\W\d_]){pattern}(?![^\W\d_])", searched_text):
            guess = f"the labels seem to be from {name}, and findings about its raters are used ({n_findings})"
            notes.append(f"{guess}; if the rubric is tested on {name}, leave them out: `literature_without={name}`")
    return notes


def excluded_benchmarks(options: LearnOptions) -> tuple[str, ...]:
    """Return the benchmarks whose findings are left out, spelled as in the user's or the included findings."""
    if options.no_literature or not options.literature_without:
        return ()
    findings = (*load_findings(options.task), *load_findings(options.task, path=options.literature))
    known_benchmarks = {name for finding in findings for name in finding.benchmarks}
    return tuple(dict.fromkeys(benchmark_name(name, known_benchmarks) for name in options.literature_without))
