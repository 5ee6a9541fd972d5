"""What a study is: a question, the arms that are compared, on which texts, and the figures that a paper gives for it.

A study is a folder with `study.toml`, `README.md` and `results/`. The file holds all that a result hangs on; nothing of
it stands in code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from experiments import STUDIES
from experiments.runner.compact import CompactModel
from rubriclab import SettingsError
from rubriclab.research import (
    DEFAULT_METHODS,
    FrozenModel,
    Unreadable,
    Words,
    digest,
    first_fault,
    has_settings,
    read_toml,
    settings_names,
)
from rubriclab.stats import ConstantRule, Level

FILE = "study.toml"
RESULTS = "results"

# Evaluators that never read a text; they take part in every study.
BASELINES = ("baseline: word count", "baseline: best text feature")

Settings = Mapping[str, Mapping[str, Any]]

# What `--small` learns from, and about how many texts it tests on.
SMALL_LABELS, SMALL_TEXTS = 12, 24
# Hyperparameters of a small run, where an arm does not say otherwise: every step of a method is taken, few times.
SMALL_SETTINGS: Settings = {
    "hypoeval": {
        "initial_examples": 3,
        "initial_hypotheses": 3,
        "k": 3,
        "wrong_bank": 4,
        "new_hypotheses": 3,
        "refine_rounds": 1,
        "bank_size": 6,
        "selected": 3,
    },
    "checkeval": {"diversified": 1, "elaborated_fewest": 1, "elaborated_most": 1, "most_questions": 8},
    "seeval": {"explanations": 2, "shown": 2},
    "seal": {"proposed": 1, "shown": 2},
    "joint": {"calibration": "linear", "folds": 3, "repeats": 1},
}


def _known(method: str) -> str:
    if not has_settings(method):
        raise ValueError(f"expected one of {', '.join(settings_names())}, got {method!r}")
    return method


class Arm(CompactModel):
    """One way to evaluate that takes part in a study.

    Attributes:
        name: unique in its study; as published figures and comparisons call it.
        method: what learns, or `joint` for the training of several methods as one.
        methods: who takes part in a joint training.
        settings: hyperparameters by owner, as in `{"hypoeval": {"k": 5}}`; a joint training's own go by `joint`.
        labels: whether it sees labelled texts; those methods that need some cannot do without.
        literature: whether it sees findings.
    """

    added: ClassVar[frozenset[str]] = frozenset({"methods", "labels", "literature"})

    name: Words
    method: Annotated[str, AfterValidator(_known)]
    methods: tuple[Annotated[str, AfterValidator(_known)], ...] = Field(DEFAULT_METHODS, min_length=1)
    settings: Settings = Field(default_factory=dict)
    labels: bool = True
    literature: bool = True

    @property
    def parts(self) -> tuple[str, ...]:
        """The methods that learn."""
        return self.methods if self.method == "joint" else (self.method,)

    @property
    def owners(self) -> tuple[str, ...]:
        """Whose hyperparameters it has."""
        return (*self.parts, "joint") if self.method == "joint" else self.parts

    @model_validator(mode="after")
    def _owned(self) -> Self:
        if foreign := sorted(set(self.settings) - set(self.owners)):
            raise ValueError(f"{self.name!r} has settings for {foreign[0]!r}; it has none but {', '.join(self.owners)}")
        return self

    def under(self, settings: Settings) -> Arm:
        """Return the arm with what `settings` say of its owners, where it does not say otherwise itself."""
        return self._with({owner: {**settings.get(owner, {}), **self.settings.get(owner, {})} for owner in self.owners})

    def over(self, settings: Settings) -> Arm:
        """Return the arm with what `settings` say of its owners, whatever it says itself."""
        return self._with({owner: {**self.settings.get(owner, {}), **settings.get(owner, {})} for owner in self.owners})

    def _with(self, settings: Settings) -> Arm:
        return self.model_copy(update={"settings": {owner: values for owner, values in settings.items() if values}})


def _listed(given: Any) -> Any:
    return (given,) if isinstance(given, str) else given


class Published(CompactModel):
    """Figures that a paper gives.

    Attributes:
        source: the table or section, as in `table 1`.
        judge: the model that judged, as the paper calls it.
        arm: which of the study's arms they are held against, one or several.
        measures: what is measured: the coefficients, or whatever the study's design reports.
        figures: for each set and aspect one number a measure.
        labels: the number of labels, where the study varies it.
        variant: what else differs, where the study's design varies it.
    """

    added: ClassVar[frozenset[str]] = frozenset({"labels", "variant"})

    source: Words
    judge: Words
    arm: Annotated[tuple[Words, ...], BeforeValidator(_listed)]
    measures: tuple[Words, ...] = Field(min_length=1)
    figures: Mapping[str, Mapping[str, tuple[float, ...]]]
    labels: int | None = None
    variant: str = ""

    @model_validator(mode="after")
    def _one_a_measure(self) -> Self:
        for name, by_aspect in self.figures.items():
            for aspect, values in by_aspect.items():
                if len(values) != len(self.measures):
                    raise ValueError(
                        f"{self.source}, {', '.join(self.arm)}: {name} {aspect} has {len(values)} figures for "
                        f"{len(self.measures)} measures ({', '.join(self.measures)})"
                    )
        return self

    def figure(self, name: str, aspect: str, measure: str) -> float | None:
        """Return the paper's figure; `None` where it gives none."""
        values = self.figures.get(name, {}).get(aspect)
        return values[self.measures.index(measure)] if values and measure in self.measures else None


class Study(FrozenModel):
    """A study as its file describes it.

    Attributes:
        name: of its folder.
        question: what it asks, in one sentence.
        paper: whose claim it is, with the tables or sections; empty where it is nobody's.
        design: who runs a case and what is measured; see `experiments.runner.designs`.
        options: what the design alone understands.
        small_options: which of them are others in a small run.
        sets: the public sets and their aspects.
        arms: what is compared.
        seeds: of the learning, and of the choice of texts where that is drawn; each is a case of its own.
        labels: how many labelled texts are learned from; each number is a case of its own.
        split: whether the texts that were learned from when a set was first used are learned from here too, where they
            are known, or texts are always drawn.
        level: at which the paper takes correlations; `None` for within groups, or over all texts where every text is a
            group of its own.
        levels: the same for single sets, where a paper takes them at different ones.
        constant: what a group with constant human scores counts for in the paper's figures.
        test_groups: the most groups tested on, by set; all where none is given.
        test_texts: about how many texts are tested on; `None` for all.
        compare: pairs of arms or baselines, for differences and tests of significance.
        significance: how the paper tests whether two arms differ over aspects: by signed ranks of the differences, or
            by rank sums, as if the figures did not belong together.
        published: the papers' figures.
    """

    name: Words
    question: Words
    paper: str = ""
    design: Words = "agreement"
    options: Mapping[str, Any] = Field(default_factory=dict)
    small_options: Mapping[str, Any] = Field(default_factory=dict)
    sets: Mapping[str, tuple[Words, ...]] = Field(min_length=1)
    arms: tuple[Arm, ...] = Field(min_length=1)
    seeds: tuple[int, ...] = Field((42,), min_length=1)
    labels: tuple[int, ...] = Field((30,), min_length=1)
    split: Literal["official", "drawn"] = "official"
    level: Level | None = None
    levels: Mapping[str, Level] = Field(default_factory=dict)
    constant: ConstantRule = "skip"
    test_groups: Mapping[str, int] = Field(default_factory=dict)
    test_texts: int | None = Field(None, ge=1)
    compare: tuple[tuple[Words, Words], ...] = ()
    significance: Literal["signed ranks", "rank sums"] = "signed ranks"
    published: tuple[Published, ...] = ()

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        names = [arm.name for arm in self.arms]
        for what, given in (("arm", names), ("seed", self.seeds), ("number of labels", self.labels)):
            if twice := next((each for each in given if list(given).count(each) > 1), None):
                raise ValueError(f"the {what} {twice!r} is given twice")
        told = (*chain(*self.compare), *chain(*(published.arm for published in self.published)))
        if unknown := next((each for each in told if each not in (*names, *BASELINES)), None):
            raise ValueError(f"{unknown!r} is compared, and is no arm; known are {', '.join((*names, *BASELINES))}")
        if beyond := next((name for name in self.levels if name not in self.sets), None):
            raise ValueError(f"there is a level for {beyond!r}, which is no set of the study")
        return self

    def level_of(self, name: str) -> Level | None:
        """Return the level at which the paper takes correlations on a set."""
        return self.levels.get(name, self.level)

    @property
    def configuration(self) -> dict[str, Any]:
        """The study as `parse_study` reads it."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def digest(self) -> str:
        """Digest of all that a single case hangs on: sets, aspects and seeds may be added to results.

        What has its default is not part of it, so that results stay what they are when fields are added here.
        """
        apart = {"question", "paper", "small_options", "sets", "seeds", "significance", "published"}
        return digest(self.model_dump(mode="json", exclude=apart, exclude_defaults=True))

    @property
    def qualities(self) -> Iterator[tuple[str, str]]:
        """Every set with each of its aspects."""
        return ((name, aspect) for name, aspects in self.sets.items() for aspect in aspects)

    def small(self) -> Study:
        """Return the study as it is run to see that everything runs: little of everything, but every arm."""
        return self.model_copy(
            update={
                "sets": {name: aspects[:1] for name, aspects in self.sets.items()},
                "seeds": self.seeds[:1],
                "labels": (min(*self.labels, SMALL_LABELS),),
                "test_groups": {},
                "test_texts": SMALL_TEXTS,
                "arms": tuple(arm.under(SMALL_SETTINGS) for arm in self.arms),
                "options": {**self.options, **self.small_options},
            }
        )

    def changed(self, settings: Settings) -> Study:
        """Return the study with other hyperparameters, in all arms that have them.

        Raises:
            SettingsError: if no arm has them.
        """
        owners = {owner for arm in self.arms for owner in arm.owners}
        if foreign := sorted(set(settings) - owners):
            raise SettingsError(
                f"No arm of {self.name} has settings of {foreign[0]!r};",
                f"there are those of {', '.join(sorted(owners))}.",
            )
        return self.model_copy(update={"arms": tuple(arm.over(settings) for arm in self.arms)})

    def only(self, wanted: tuple[str, ...], own: Mapping[str, Sequence[str]] | None = None) -> Study:
        """Return the study on some of its sets, each written SET or SET:ASPECT; on all if none is named.

        Args:
            own: further sets with their aspects, on which the study can run too.

        Raises:
            SettingsError: if it has no such set or aspect.
        """
        if not wanted:
            return self
        chosen: dict[str, tuple[str, ...]] = {}
        for each in wanted:
            name, _, aspect = each.partition(":")
            aspects = self.sets.get(name) or tuple((own or {}).get(name, ()))
            if not aspects or (aspect and aspect not in aspects):
                known = "; ".join(
                    f"{name}: {', '.join(aspects)}" for name, aspects in {**self.sets, **(own or {})}.items()
                )
                raise SettingsError(f"{self.name} has no {each!r}.", f"It has {known}.")
            added = (aspect,) if aspect else aspects
            chosen[name] = (*chosen.get(name, ()), *(a for a in added if a not in chosen.get(name, ())))
        return self.model_copy(update={"sets": chosen})


def studies() -> tuple[str, ...]:
    """Return the names of the studies that ship, sorted."""
    return tuple(sorted(file.parent.name for file in STUDIES.glob(f"*/{FILE}")))


def study_folder(name: str) -> Path:
    """Return the folder of the study that ships under `name`, or of one's own where `name` is a path to it.

    Raises:
        SettingsError: if there is none.
    """
    if (Path(name) / FILE).is_file():
        return Path(name)
    if name not in studies():
        raise SettingsError(f"There is no study {name!r}.", f"There are: {', '.join(studies())}.")
    return STUDIES / name


def shipped_results(name: str) -> tuple[Path, ...]:
    """Return the files of results that a study has beside it, sorted.

    Raises:
        SettingsError: if there is no such study.
    """
    return tuple(sorted((study_folder(name) / RESULTS).glob("*.json")))


def load_study(name: str) -> Study:
    """Return a study that ships, or one's own where `name` is a path to its folder.

    Raises:
        SettingsError: if there is none, or its file cannot be used.
    """
    file = study_folder(name) / FILE
    try:
        raw = read_toml(file)
    except Unreadable as error:
        raise SettingsError(f"{file} cannot be used: {error}.") from None
    return parse_study({**raw, "name": file.parent.resolve().name}, str(file))


def parse_study(raw: Mapping[str, Any], where: str) -> Study:
    """Return the study in `raw`; `where` is what errors call it.

    Raises:
        SettingsError: for fields that are missing, unknown or wrong; names the first.
    """
    try:
        return Study.model_validate(raw)
    except ValidationError as error:
        raise SettingsError(f"{where}: {first_fault(error)}.") from None
