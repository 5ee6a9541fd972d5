"""A study: a question, the arms that are compared, the texts, and the figures that a paper gives.

A study is a folder with `study.toml`, `README.md` and `results/`. The file alone decides what the study does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from experiments import STUDIES
from rubriclab import SettingsError
from rubriclab.base_options import first_fault
from rubriclab.methods.catalogue import DEFAULT_METHODS, settings_names
from rubriclab.models.base import FrozenModel, Unreadable, digest, parse_toml, read_file
from rubriclab.models.text import Words
from rubriclab.stats.score_agreement import ConstantRule, Level

# Evaluators that never read a text; they take part in every study.
BASELINES = ("baseline: word count", "baseline: best text feature")

Settings = Mapping[str, Mapping[str, Any]]

# What `--small` learns from, and about how many texts it tests on.
SMALL_LABELS, SMALL_TEXTS = 12, 24
# Settings of a small run that an arm does not set itself: each step of a method runs, a few times.
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
    "checkeval": {"diversified": 1, "elaborated_most": 1},
    "seeval": {"explanations": 2},
    "seal": {"proposed": 1},
    "joint": {"folds": 3, "repeats": 1},
}


def _known(method: str) -> str:
    if method not in settings_names():
        raise ValueError(f"expected one of {', '.join(settings_names())}, got {method!r}")
    return method


MethodName = Annotated[str, AfterValidator(_known)]


class Arm(FrozenModel):
    """One of the evaluators that a study compares.

    Attributes:
        method: the method that learns, or `joint`.
        methods: the methods of a joint training.
        settings: by method, as in `{"hypoeval": {"k": 5}}`; those of the joint training under `joint`.
        labels: whether it learns from labelled texts.
        literature: whether it gets findings.
    """

    name: Words
    method: MethodName
    methods: tuple[MethodName, ...] = Field(DEFAULT_METHODS, min_length=1)
    settings: Settings = Field(default_factory=dict)
    labels: bool = True
    literature: bool = True

    @property
    def parts(self) -> tuple[str, ...]:
        """The methods that learn."""
        return self.methods if self.method == "joint" else (self.method,)

    @property
    def owners(self) -> tuple[str, ...]:
        """The names whose settings it has."""
        return (*self.parts, "joint") if self.method == "joint" else self.parts

    @model_validator(mode="after")
    def _owned(self) -> Self:
        if foreign := sorted(set(self.settings) - set(self.owners)):
            raise ValueError(f"{self.name!r} has settings of {foreign[0]!r}, expected {', '.join(self.owners)}")
        return self

    def with_settings(self, *layers: Settings) -> Arm:
        """Return the arm with settings, of which the later layers take precedence."""
        merged = {
            owner: {key: value for layer in layers for key, value in layer.get(owner, {}).items()}
            for owner in self.owners
        }
        return self.model_copy(update={"settings": {owner: values for owner, values in merged.items() if values}})


class Published(FrozenModel):
    """Figures that a paper gives.

    Attributes:
        source: the table or section, as in `table 1`.
        judge: the model, as the paper names it.
        arm: the arms that the figures are compared with.
        figures: by set and aspect, one number per measure.
        labels: the number that the figures belong to, if the study has several.
    """

    source: Words
    judge: Words
    arm: Annotated[tuple[Words, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]
    measures: tuple[Words, ...] = Field(min_length=1)
    figures: Mapping[str, Mapping[str, tuple[float, ...]]]
    labels: int | None = None

    @model_validator(mode="after")
    def _one_per_measure(self) -> Self:
        for name, by_aspect in self.figures.items():
            for aspect, values in by_aspect.items():
                if len(values) != len(self.measures):
                    raise ValueError(
                        f"{self.source}, {', '.join(self.arm)}: {name} {aspect} has {len(values)} figures for "
                        f"{len(self.measures)} measures ({', '.join(self.measures)})"
                    )
        return self


class Study(FrozenModel):
    """A study as its file describes it.

    Attributes:
        name: the name of its folder.
        paper: the paper that makes the claim, with tables or sections; empty for a question of our own.
        sets: the public sets and their aspects.
        seeds, labels: seeds of the learning and of the drawn texts, and numbers of labelled texts; each is a case.
        split: `official` to learn from the published training texts where they are known; else texts are drawn.
        level: level of the paper's correlations; by default within groups, or over all texts if there are no rivals.
        levels: the level of single sets.
        constant: how the paper counts a group with constant human scores.
        test_groups: the largest number of groups to test on, by set.
        test_texts: about how many texts to test on; all by default.
        compare: pairs of arms or baselines, for differences and significance tests.
        significance: the test over aspects that the paper uses.
    """

    name: Words
    question: Words
    paper: str = ""
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
    def _consistent(self) -> Self:
        names = [arm.name for arm in self.arms]
        for what, given in (("arm", names), ("seed", self.seeds), ("number of labels", self.labels)):
            if twice := next((each for each in given if list(given).count(each) > 1), None):
                raise ValueError(f"the {what} {twice!r} is given twice")
        compared = (*chain(*self.compare), *chain(*(published.arm for published in self.published)))
        if unknown := next((each for each in compared if each not in (*names, *BASELINES)), None):
            raise ValueError(f"{unknown!r} is compared but is not an arm; arms are {', '.join((*names, *BASELINES))}")
        if unknown := next((name for name in self.levels if name not in self.sets), None):
            raise ValueError(f"there is a level for {unknown!r}, which is not a set of the study")
        return self

    @property
    def digest(self) -> str:
        """Digest of all that a single case depends on: sets, aspects and seeds may be added to results."""
        apart = {"question", "paper", "sets", "seeds", "significance", "published"}
        return digest(self.model_dump(mode="json", exclude=apart, exclude_defaults=True))

    @property
    def qualities(self) -> Iterator[tuple[str, str]]:
        """Every set with each of its aspects."""
        return ((name, aspect) for name, aspects in self.sets.items() for aspect in aspects)

    def small(self) -> Study:
        """Return the study with all its arms, one aspect of each set, and little else."""
        return self.model_copy(
            update={
                "sets": {name: aspects[:1] for name, aspects in self.sets.items()},
                "seeds": self.seeds[:1],
                "labels": (min(*self.labels, SMALL_LABELS),),
                "test_groups": {},
                "test_texts": SMALL_TEXTS,
                "arms": tuple(arm.with_settings(SMALL_SETTINGS, arm.settings) for arm in self.arms),
            }
        )

    def changed(self, settings: Settings) -> Study:
        """Return the study with other settings in all arms that have them."""
        owners = {owner for arm in self.arms for owner in arm.owners}
        if foreign := sorted(set(settings) - owners):
            raise SettingsError(
                f"No arm of {self.name} has settings of {foreign[0]!r}.", f"Give those of {', '.join(sorted(owners))}."
            )
        return self.model_copy(update={"arms": tuple(arm.with_settings(arm.settings, settings) for arm in self.arms)})

    def only(self, wanted: tuple[str, ...]) -> Study:
        """Return the study on the sets in `wanted`, each SET or SET:ASPECT; on all of its sets if there are none."""
        chosen = dict[str, tuple[str, ...]]()
        for each in wanted:
            name, _, aspect = each.partition(":")
            aspects = (aspect,) if aspect else self.sets.get(name, ())
            if not aspects or not set(aspects) <= set(self.sets.get(name, ())):
                sets = "; ".join(f"{name}: {', '.join(aspects)}" for name, aspects in self.sets.items())
                raise SettingsError(f"{self.name} has no {each!r}.", f"It has {sets}.")
            chosen[name] = tuple(dict.fromkeys((*chosen.get(name, ()), *aspects)))
        return self.model_copy(update={"sets": chosen}) if wanted else self


def studies() -> tuple[str, ...]:
    """Return the names of the studies, sorted."""
    return tuple(sorted(file.parent.name for file in STUDIES.glob("*/study.toml")))


def study_folder(name: str) -> Path:
    """Return the folder of a study; `name` may be a path to the folder."""
    for folder in (STUDIES / name, Path(name)):
        if (folder / "study.toml").is_file():
            return folder
    raise SettingsError(f"There is no study {name!r}.", f"There are: {', '.join(studies())}.")


def load_study(name: str) -> Study:
    """Return a study; `name` may be a path to its folder."""
    file = study_folder(name) / "study.toml"
    try:
        return Study.model_validate({**parse_toml(read_file(file)), "name": file.parent.resolve().name})
    except Unreadable as error:
        raise SettingsError(f"{file} cannot be used: {error}.") from None
    except ValidationError as error:
        raise SettingsError(f"{file}: {first_fault(error)}.") from None
