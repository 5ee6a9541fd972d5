"""The options of all operations, for the command line, the configuration file, the environment and Python.

Each class is the only definition of its options: name, type, bounds, default and help text. `CliForm` adds what the
command line needs. Heavy imports are avoided here, so that `--help` is fast.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from rubriclab.base_options import JUDGING, LIMITS, CliForm, ConfigMaySet, Options, Texts
from rubriclab.data.cells import GRADE_RANGE
from rubriclab.data.reading_options import ReadingOptions
from rubriclab.errors import SettingsError
from rubriclab.methods.catalogue import METHOD_NAMES, settings_names
from rubriclab.models.base import CriteriaBounds, RecallGoalText
from rubriclab.models.characters import describe
from rubriclab.models.text import Scale


def _to_scale_text(scale: Any) -> Any:
    if isinstance(scale, Scale):
        return f"{scale.low!r}:{scale.high!r}:{'whole' if scale.whole else 'any'}"
    if isinstance(scale, Sequence) and not isinstance(scale, str) and len(scale) == 2:
        return ":".join(map(str, scale))
    return scale


def parse_settings(pairs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return settings by method and name from METHOD.NAME=VALUE texts; a later VALUE replaces an earlier one."""
    tables: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        setting, equals, value_text = pair.partition("=")
        method, dot, name = setting.strip().partition(".")
        if not equals or not dot or method not in settings_names():
            hint = f"write METHOD.NAME=VALUE, as in hypoeval.k=10. Methods are: {', '.join(settings_names())}."
            raise SettingsError(f"`settings` {pair!r} is not understood;", hint)
        value: Any = value_text.strip()
        with suppress(orjson.JSONDecodeError):  # a VALUE that is not JSON stays a text
            value = orjson.loads(value_text)
        tables.setdefault(method, {})[name] = value
    return tables


def to_settings_tables(settings: Any) -> Any:
    """Return `settings`, a mapping by method and name; a tuple of METHOD.NAME=VALUE is parsed first."""
    if isinstance(settings, tuple):
        return parse_settings(settings)
    if not isinstance(settings, Mapping):
        return settings
    for method, values in settings.items():
        if not isinstance(values, Mapping):
            got = f"{describe(values)} for '{method}'"
            example = f"{method}={values}" if "." in str(method) else f"{method}.NAME=VALUE"
            problem = f"`settings`: expected the settings of each method by name, got {got}."
            raise SettingsError(problem, f"Write `settings={example}`.")
    return settings


# A scale as `parse_scale` reads it; `(1, 5)` and a `Scale` are converted to this form.
ScaleText = Annotated[str, BeforeValidator(_to_scale_text)]
ScaleOption = Annotated[ScaleText | None, CliForm(metavar="LOW:HIGH")]
# Hyperparameters by method and name: `{"hypoeval": {"k": 10}}`.
SettingsTables = Mapping[str, Mapping[str, Any]]
SettingsOption = Annotated[
    SettingsTables, BeforeValidator(to_settings_tables), CliForm("--set", metavar="METHOD.NAME=VALUE", multiple=True)
]
JudgeName = Annotated[str | None, CliForm(metavar="JUDGE", path_kind="judge")]
InputFile = Annotated[Path | None, CliForm(metavar="PATH", path_kind="input")]
CountOption = Annotated[int | None, CliForm(metavar="N")]


class RatingOptions(ReadingOptions):  # for reading texts that must have ratings
    @model_validator(mode="before")
    @classmethod
    def _complete_scale(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Add the scale 1:6 if `level_scores`, a text or mapping, is `6:1`; turn the scale `fail:pass` into 0:1."""
        scale, levels = values.get("scale"), values.get("level_scores") or ""
        possible_range = next(iter(levels)) if isinstance(levels, Mapping) and levels else levels
        grades = GRADE_RANGE.fullmatch(str(possible_range))
        if grades and not scale:
            return {**values, "scale": f"{grades[2]}:{grades[1]}"}
        words = re.fullmatch(r"\s*([^\W\d_]+)\s*:\s*([^\W\d_]+)\s*", str(_to_scale_text(scale)))
        if words and words[1] != words[2] and not levels:
            return {**values, "scale": "0:1", "level_scores": {words[1]: 0.0, words[2]: 1.0}}
        return values


class TextOptions(ReadingOptions):  # for reading texts that may lack ratings
    needs_ratings: ClassVar[bool] = False


class JudgeOption(Options):
    judge: Annotated[str | None, CliForm(metavar="JUDGE", path_kind="judge", section=JUDGING)] = None
    """A litellm model string, `embedded` (offline, no language model) or `recorded:PATH`."""


class RivalOptions(Options):
    section: ClassVar[str] = JUDGING

    rivals: Literal["apart", "together"] | None = None
    """Rate the texts of a group (rivals) each in its own call (apart), or together in one call. Default: as learned."""


class LearnOptions(RatingOptions, JudgeOption):
    task: str
    """The kind of text: summarization, story, dialogue, or your own word."""

    aspect: str = ""
    """The aspect to learn, for which rows need scores. Without this option, an error lists the aspects with scores."""

    methods: Annotated[Texts, CliForm("--method", metavar="METHOD")] = Field(
        default=(),
        description=f"Learn with this method only; give several to combine them: {', '.join(METHOD_NAMES)}, or one "
        "that an installed package offers. Default: four of them together.",
    )

    name: Annotated[str | None, CliForm(config_may_set="never")] = None
    """The rubric's name in the store. Default: TASK-ASPECT, or TASK-ASPECT-METHOD for one method."""

    definition: str | None = None
    """What the aspect means; included for the aspects of well-known data sets."""

    scale: ScaleOption = None
    """The raters' scale, as in `1:5`, or fail:pass, the worse word first. Default: taken from the labels."""

    seed: int = Field(default=42, ge=0)
    """Seed of the texts that `few_shot` and HypoEval's `paper` and `published` procedures draw."""

    generator: JudgeName = None
    """The model that proposes and refines criteria. Default: the judge."""

    literature: InputFile = None
    """Your own findings on what raters reward, a file or a folder. Default: the included ones."""

    literature_included: bool = False
    """Use the included findings too, beside those of `literature`."""

    literature_without: Annotated[Texts, CliForm(metavar="SET")] = ()
    """Leave out findings about the raters of this public data set, if you test on it; may be given several times."""

    no_literature: bool = False
    """Learn without published findings."""

    checklist: InputFile = None
    """Your own questions, for checkeval, seal and dcr. Default: the included ones."""

    criteria: Annotated[CountOption, CriteriaBounds] = None
    """The maximum number of criteria in a rubric of several methods. Default: 8."""

    prefer_recall_of: Annotated[RecallGoalText | None, CliForm(metavar="LEVEL=SHARE")] = None
    """For labels of two levels: find at least this share of the texts at one level, as in `fail=0.95`. Default: the
    best balanced accuracy."""

    text_features: Literal["include", "exclude"] = "exclude"
    """Whether text features, which take no calls, may enter the rubric."""

    settings: SettingsOption = Field(default_factory=dict)
    """A hyperparameter of the method, as in `hypoeval.k=10`; may be given several times."""

    @property
    def single_method(self) -> str | None:  # the rubric's only method, without text features beside it
        return self.methods[0] if len(set(self.methods)) == 1 and self.text_features == "exclude" else None

    @property
    def joint_options(self) -> dict[str, Any]:
        """The given options that exist only for a rubric of several methods."""
        options = {"criteria": self.criteria, "prefer_recall_of": self.prefer_recall_of}
        return {name: value for name, value in options.items() if value is not None}


class ScoreOptions(TextOptions, RivalOptions, JudgeOption):
    task: str | None = None
    """Without a rubric: the kind of text: summarization, story, dialogue, or your own word."""

    aspect: str | None = None
    """Without a rubric: the aspect to score; the agreement with people is unknown."""

    definition: str | None = None
    """Without a rubric: what the aspect means; included for the aspects of well-known data sets."""

    scale: ScaleOption = None
    """Without a rubric: the scale of the scores. Default: 1:5."""

    workers: Annotated[int, CliForm(metavar="N")] = Field(default=1, ge=1, le=256)
    """The number of Ray workers that score; they share the store, the caps and the limits. Default: this process."""

    ray_address: Annotated[str | None, CliForm(metavar="ADDRESS")] = None
    """A running Ray cluster, such as `auto` or `ray://host:10001`. Default: start workers on this machine."""

    labels_in: Annotated[str | None, CliForm(metavar="COLUMN")] = None
    """The column with human scores of some of the texts, drawn at random; these scores correct the mean of all texts.
    Default: the training labels."""

    by: Annotated[str | None, CliForm(metavar="COLUMN")] = None
    """Estimate the mean human score for each value of this column too."""

    max_unscored: Annotated[float | None, CliForm(metavar="SHARE")] = Field(default=None, ge=0, le=1)
    """Fail, with exit code 1, if more than this share of the texts, from 0 to 1, has no score."""


class EvaluateOptions(ReadingOptions, RivalOptions, JudgeOption):
    include_training: bool = False
    """Also evaluate on groups that a rubric was learned from."""


class AgreeOptions(TextOptions):
    judges: Annotated[Texts, CliForm("--judge", metavar="JUDGE", path_kind="judge")] = ()
    """A litellm model string, `embedded` or `recorded:PATH#JUDGE`; give at least two."""


class ExplainOptions(TextOptions, JudgeOption):
    id: Annotated[str | None, CliForm(metavar="ID")] = None
    """The id of one text, if TEXT holds several; without TEXT, the id of a labelled text."""

    source: Annotated[str | None, CliForm(metavar="PATH", path_kind="input")] = None
    """The file with the source of a plain text."""

    context: Annotated[str | None, CliForm(metavar="PATH", path_kind="input")] = None
    """The file with the context of a plain text, such as the question that it answers."""

    nearest: Annotated[int, CliForm(metavar="N", config_may_set="always")] = Field(default=5, ge=0)
    """The number of labelled texts that are shown, the most similarly rated first."""


class CompareOptions(TextOptions, JudgeOption):
    max_drop: Annotated[float | None, CliForm(metavar="POINTS")] = Field(default=None, ge=0)
    """The largest acceptable drop in the mean score."""

    pair_by: Literal["id", "group"] | None = None
    """The field to pair outputs by. Default: id, else group, else unpaired."""


class DriftOptions(TextOptions):
    judges: Annotated[Texts, CliForm("--judge", metavar="JUDGE", path_kind="judge")] = ()
    """The judge of both versions; give two for the judges before and after. Default: the judges that the versions were
    learned with."""

    flip_at: Annotated[float | None, CliForm(metavar="SCORE")] = None
    """The threshold; a text flips if only one of its scores reaches it. Default: the middle of the scale."""

    max_shift: Annotated[float | None, CliForm(metavar="POINTS")] = Field(default=None, ge=0)
    """Fail if the mean score shifts by more than this."""

    max_flips: Annotated[float | None, CliForm(metavar="SHARE")] = Field(default=None, ge=0, le=1)
    """Fail if a larger share of texts flips."""

    min_rank: Annotated[float | None, CliForm(metavar="CORRELATION")] = Field(default=None, ge=-1, le=1)
    """Fail if Spearman's correlation of the two rankings is lower; within groups, if groups have several texts."""

    anchor: Annotated[bool, CliForm(hidden=True)] = False
    """Whether the texts are an anchor: labelled texts that the same version and judge score again on later dates."""


class TransferOptions(RatingOptions, JudgeOption):
    aspect: str | None = None
    """The aspect of the target's labels. Default: the rubric's."""

    definition: str | None = None
    """What that aspect means; included for the aspects of well-known data sets."""

    scale: ScaleOption = None
    """The scale of the target's labels, as in `1:5` or fail:pass. Default: taken from the labels."""

    no_relearn: bool = False
    """Leave out the action `relearn`, which takes the most calls."""

    save: Annotated[bool, CliForm(config_may_set="never")] = False
    """Save the result as a version whose parent is the rubric."""

    action: Annotated[Literal["reuse", "recalibrate", "relearn"] | None, CliForm(config_may_set="never")] = None
    """The action whose result is saved. Default: the recommended action."""

    name: Annotated[str | None, CliForm(config_may_set="never")] = None
    """The name to save under. Default: the rubric's."""


class ImproveOptions(TextOptions, JudgeOption):
    rounds: int = Field(default=2, ge=1, le=20)
    """The maximum number of rewrites of one text."""

    good_from: float = Field(default=0.75, gt=0, le=1)
    """Scores at or above this share of the scale are not faults."""

    take: Literal["better", "every"] = "better"
    """Accept rewrites that score higher, or every rewrite, as in DCR's paper."""

    writer: JudgeName = None
    """The model that rewrites. Default: the judge."""


# In these parsers, `given` is an option's value: texts from the command line or environment, a mapping from Python.
def _parse_pairs(given: Any) -> Any:
    if not isinstance(given, tuple):
        return given
    values: dict[str, str] = {}
    for pair in given:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not (equals and name and value):
            raise ValueError(f"expected ID=VALUE, got {pair!r}")
        if name in values:
            raise ValueError(f"{name}=… is given twice; give one value")
        values[name] = value
    return values


def _parse_merges(given: Any) -> Any:
    if isinstance(given, tuple) and given and isinstance(given[0], str):
        given = _parse_pairs(given)
    if not isinstance(given, Mapping):
        return given
    merges = []
    for names, wording in given.items():
        replaced = names.split(",") if isinstance(names, str) else names
        merges.append((tuple(name.strip() for name in replaced), wording))
    return tuple(merges)


def _parse_bounds(given: Any) -> Any:
    given = _parse_pairs(given)
    if not isinstance(given, Mapping):
        return given
    bounds: dict[str, tuple[float, float] | None] = {}
    for name, limits in given.items():
        bounds[name] = None
        if limits not in ("free", None):
            try:
                low, high = map(float, limits.split(":") if isinstance(limits, str) else limits)
            except (TypeError, ValueError):
                raise ValueError(f"{name}={limits}: expected LOW:HIGH, such as 0:0.2, or free") from None
            bounds[name] = low, high
    return bounds


def _parse_threshold(given: Any) -> Any:
    try:
        return given if given in ("learned", None) else float(given)
    except (TypeError, ValueError):
        raise ValueError(f"{given}: expected a number from 0 to 1, or learned") from None


def _check_rater(name: str) -> str:
    from rubriclab.models.judgment import check_rater_name

    return check_rater_name(name)


def _split_raters(given: Any) -> Any:
    comma_lists = [given] if isinstance(given, str) else given
    return tuple(dict.fromkeys(_check_rater(name) for names in comma_lists for name in names.split(",")))


RaterName = Annotated[str, AfterValidator(_check_rater)]
PassThreshold = float | Literal["learned"]
Share = Annotated[float, Field(allow_inf_nan=False)]  # the weight of a criterion
Bounds = tuple[Share, Share]
# The ids or titles of the criteria that each merge replaces, and the wording of the new criterion.
Merges = tuple[tuple[tuple[str, ...], str], ...]


class Edit(Options):  # the changes that a person makes to a rubric, and to the weights of its criteria
    config_may_set: ClassVar[ConfigMaySet] = "never"

    drop: Annotated[Texts, CliForm(metavar="ID")] = ()
    """Remove a criterion, named by its id or title. This option and the next five may be repeated."""

    reword: Annotated[Mapping[str, str], BeforeValidator(_parse_pairs), CliForm(metavar="ID=TEXT", multiple=True)] = {}
    """Give a criterion another wording. A hypothesis keeps the description of its levels."""

    merge: Annotated[Merges, BeforeValidator(_parse_merges), CliForm(metavar="ID,ID=TEXT", multiple=True)] = ()
    """Replace several criteria by one criterion with this wording."""

    add: Annotated[Texts, CliForm(metavar="TEXT")] = ()
    """Add a statement or a yes/no question; `(better: no)` after it makes `no` the better answer."""

    pin: Annotated[Mapping[str, Share], BeforeValidator(_parse_pairs), CliForm(metavar="ID=WEIGHT", multiple=True)] = {}
    """Fix the weight of a criterion, as a share of all weights: `h02=0.3`."""

    bound: Annotated[
        Mapping[str, Bounds | None], BeforeValidator(_parse_bounds), CliForm(metavar="ID=LOW:HIGH", multiple=True)
    ] = {}
    """Limit the weight of a criterion; `ID=free` lifts limits."""

    threshold: Annotated[PassThreshold | None, BeforeValidator(_parse_threshold), CliForm(metavar="SCORE")] = None
    """For pass and fail: the lowest score that passes; `learned` fits it to the labels again."""

    definition: Annotated[str | None, CliForm(metavar="TEXT")] = None
    """Change the aspect's definition; every criterion is rated anew."""

    @property
    def bounds(self) -> dict[str, tuple[float, float] | None]:
        """The lowest and highest weight of each criterion, equal if it is pinned; `None` lifts its limits."""
        pinned = {name: (weight, weight) for name, weight in self.pin.items()}
        if both := [name for name in pinned if name in self.bound]:
            raise SettingsError(f"The weight of {both[0]} is both pinned and bounded.", "Give either `pin` or `bound`.")
        return {**pinned, **self.bound}


class EditOptions(ReadingOptions, JudgeOption, Edit):
    config_may_set: ClassVar[ConfigMaySet] = "never"

    labels: Annotated[Any, CliForm(metavar="PATH", path_kind="input", config_may_set="confirmed")] = None
    """Labelled texts. Default: those kept with the version."""

    author: Annotated[str | None, CliForm(metavar="NAME")] = None
    """Who makes the changes; recorded with them. Needed unless `preview` is set."""

    because: Annotated[str | None, CliForm(metavar="TEXT")] = None
    """The reason for the changes; recorded with them. Needed unless `preview` is set."""

    preview: bool = False
    """Show the effect and save nothing."""

    name: str | None = None
    """The name to save under. Default: the rubric's."""


class PlanOptions(TextOptions, JudgeOption):
    count: CountOption = Field(default=None, ge=1)
    """The number of texts to choose. Default: 10."""

    sample: Annotated[int, CliForm(metavar="N")] = Field(default=200, ge=1, le=5000)
    """The maximum number of texts to rate; if there are more, this many are drawn with a fixed seed."""


class LabelOptions(TextOptions):
    task: str
    """The kind of text: summarization, story, dialogue, or your own word."""

    aspect: str
    """The aspect to rate."""

    definition: str | None = None
    """What the aspect means, shown to the raters; included for the aspects of well-known data sets."""

    scale: ScaleOption = None
    """The scale; `0:1:any` allows decimals, fail:pass names two levels. Default: taken from the labels, or 1:5."""

    rater: Annotated[RaterName | None, CliForm(metavar="NAME", config_may_set="never")] = None
    """Who rates at this computer. Default: the page asks."""

    share: Annotated[tuple[str, ...], BeforeValidator(_split_raters), CliForm(metavar="NAME,…")] = ()
    """Serve the page to these raters on the network, each with a secret link; may be repeated."""

    port: int | None = Field(default=None, ge=1, le=65535)
    """The port of the page. Default: 8787 if it is free, else any free one."""

    no_browser: Annotated[bool, CliForm(config_may_set="always")] = False
    """Print the address and open no browser."""

    no_page: bool = False
    """Write the labels kept in the store, and end without a page."""


class CheckOptions(RatingOptions):
    task: str | None = None
    """The kind of text, put into the proposed `learn` command."""

    aspect: str | None = None
    """The aspect to learn; the file is then also checked for what learning needs. Default: the only one with scores."""

    scale: ScaleOption = None
    """The raters' scale, as in `1:5`, or fail:pass, the worse word first. Default: taken from the labels."""

    definition: Annotated[str | None, CliForm(metavar="TEXT")] = None
    """What the aspect means, put into the proposed `learn` command."""


class SplitOptions(ReadingOptions):
    by: Annotated[str, CliForm(metavar="COLUMN")] = "group"
    """The field whose groups are never divided: `group`, `system` or a column."""

    train: Annotated[int, CliForm(metavar="N")] = Field(default=30, ge=1)
    """The number of texts to learn from; whole groups are taken until this number is reached."""

    seed: int = Field(default=1, ge=0)
    """Seed of the choice of groups; the order of the rows does not matter."""


class LiteratureOptions(Options):
    task: str | None = None
    """Only findings for this kind of text."""

    folder: InputFile = None
    """The folder of findings files, or one such file. Default: your own literature folder."""


class LiteratureShowOptions(LiteratureOptions):
    aspect: str | None = None
    """Only findings that bear on this aspect."""

    included: bool = False
    """Use the findings included in rubriclab instead of your own."""


class LiteratureAddOptions(LiteratureOptions, JudgeOption):
    task: str
    """The kind of text that findings are wanted about: summarization, story, dialogue, or your own word."""

    aspect: Annotated[Texts, CliForm(metavar="TEXT")] = ()
    """Find claims on this aspect; may be given several times. Default: all."""

    definition: str | None = None
    """What the aspect means, if rubriclab has no definition of it."""

    citation: Annotated[str | None, CliForm(metavar="TEXT")] = None
    """How the paper is cited. Default: the name of the file."""

    benchmark: Annotated[Texts, CliForm(metavar="SET")] = ()
    """A public data set; all findings of the paper are about its raters."""


class ServeOptions(JudgeOption):
    section: ClassVar[str] = LIMITS

    host: Annotated[str, CliForm(metavar="ADDRESS", section="")] = "127.0.0.1"
    """The address to listen at; any but a loopback address needs a token. `0.0.0.0` is every address."""

    port: Annotated[int, CliForm(section="")] = Field(default=8600, ge=0, le=65535)
    """The port; 0 for any free one."""

    token_file: Annotated[str | None, CliForm(metavar="FILE", path_kind="input", section="")] = None
    """A file with TOKEN or NAME TOKEN on each line. Default: RUBRICLAB_SERVE_TOKEN, or no token."""

    max_body_bytes: int = Field(default=1_000_000, ge=1_000, le=64_000_000)
    """The largest body of a request."""

    max_texts: int = Field(default=100, ge=1, le=10_000)
    """The most texts in a request."""

    at_once: int = Field(default=64, ge=1, le=10_000)
    """The most requests that are scored at the same time."""

    request_timeout: float = Field(default=120.0, gt=0, le=3600)
    """Time limit in seconds for a request to the service; answers that arrive later are kept in the store."""

    grace: int = Field(default=30, ge=0, le=3600)
    """Seconds for requests under way to finish at shutdown."""
