"""A training run: the rubric, its provenance, and how well it is said to agree."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypoeval_scripts import ASPECT, Scripted, assignment, drawn_rating, examples, findings, of_kind, rating, scripted
from scipy.stats import kendalltau, pearsonr, spearmanr

import rubriclab
from rubriclab.data import training_examples
from rubriclab.data.readers import read
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.judge import FakeJudge
from rubriclab.learning.baselines import best_feature
from rubriclab.learning.train import Trained, train_method
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.hypoeval import HYPOEVAL
from rubriclab.methods.hypoeval.learn import predictions, reselected, select
from rubriclab.methods.hypoeval.score import HypoEvalSettings
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.sources import load_findings
from rubriclab.models.text import (
    Assignment,
    Scale,
    data_digest,
    find_aspect,
    task_words,
    text_digest,
)
from rubriclab.prompts.render import prompts_digest

TEXTS = examples(14)
FINDINGS = findings()
# The package's function `render` hides the module of the same name.
RENDER = sys.modules["rubriclab.prompts.render"]
SETTINGS = HypoEvalSettings(
    initial_examples=3,
    initial_hypotheses=3,
    k=4,
    wrong_bank=3,
    new_hypotheses=2,
    refine_rounds=1,
    bank_size=8,
    selected=2,
)
SAMPLE = Path(__file__).resolve().parents[2] / "experiments" / "sample" / "labelled.jsonl"


async def run(texts=TEXTS, *, judge=None, generator=None, found=FINDINGS, settings=SETTINGS, **given) -> Trained:
    return await train_method(
        HYPOEVAL,
        TrainingInput(tuple(texts), assignment(), tuple(found)),
        settings,
        judge=judge or scripted(),
        generator=generator or scripted(),
        **{"seed": 1, **given},
    )


class Named(FakeJudge):
    """A fake judge by another name."""

    def __init__(self, name: str, script) -> None:
        super().__init__(script)
        self.name = name


async def test_the_provenance_holds_what_the_version_was_made_of():
    judge, generator = Named("a-judge", Scripted()), Named("a-generator", Scripted())
    trained = await run(judge=judge, generator=generator, seed=114514, model_versions=lambda: ["model-2", "model-1"])
    given = trained.provenance
    assert (given.judge, given.generator) == ("a-judge", "a-generator")
    assert given.model_versions == ("model-1", "model-2")
    assert given.settings == {"hypoeval": SETTINGS.model_dump(mode="json")}
    assert given.prompts == prompts_digest(HYPOEVAL.prompts)
    assert given.data == data_digest(TEXTS, ASPECT)
    assert given.examples == tuple(sorted(text.id for text in TEXTS))
    assert given.groups == tuple(f"g{i}" for i in range(6))
    assert given.texts == tuple(sorted(text_digest(text) for text in TEXTS))
    assert (given.judge_address, given.generator_address) == (None, None)
    assert given.seed == 114514
    assert given.baseline == best_feature(TEXTS, ASPECT)
    assert given.version == rubriclab.__version__


async def test_the_servers_asked_are_named_where_they_are_not_the_provider_s_own():
    judge = scripted()
    judge.identity = {"model": "fake", "address": "http://localhost:8000"}
    given = (await run(judge=judge)).provenance
    assert (given.judge_address, given.generator_address) == ("http://localhost:8000", None)


async def test_two_runs_have_the_same_digests():
    first, again = await run(), await run(TEXTS[::-1])
    assert first.rubric.digest == again.rubric.digest
    assert first.provenance.digest == again.provenance.digest


async def test_what_a_version_hangs_on_shows_in_the_digest_of_its_provenance():
    first = (await run()).provenance
    relabelled = [replace(TEXTS[0], scores={ASPECT: TEXTS[0].scores[ASPECT] % 5 + 1}), *TEXTS[1:]]
    others = [
        await run(seed=2),
        await run(settings=SETTINGS.model_copy(update={"alpha": 0.25})),
        await run(relabelled),
        await run(judge=Named("somebody else", Scripted())),
    ]
    assert len({first.digest, *(trained.provenance.digest for trained in others)}) == 5


@pytest.mark.parametrize("name", HYPOEVAL.prompts)
def test_a_changed_template_changes_the_digest_of_the_prompts(name: str, tmp_path, monkeypatch):
    names = HYPOEVAL.prompts
    before = prompts_digest(names)
    shutil.copytree(RENDER.FOLDER, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(RENDER, "FOLDER", tmp_path)
    assert prompts_digest(names) == before
    with (tmp_path / f"{name}.md").open("a") as file:
        file.write("\nOne more word.")
    assert prompts_digest(names) != before
    assert prompts_digest(reversed(names)) == prompts_digest(names)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_template_of_a_method_counts(method):
    own = {f"{method.name}/{path.stem}" for path in (RENDER.FOLDER / method.name).glob("*.md")}
    shared = {"seeval": {"geval/steps"}, "hypoeval": {"deduplication/group"}, "checkeval": {"deduplication/group"}}
    assert set(method.prompts) == own | shared.get(method.name, set())


# Agreement


def rated_by(judge, criterion, texts):
    by_output = {
        p.fields["output"]: drawn_rating(p, criterion.trait)
        for p in of_kind(judge, "rate")
        if p.fields["criteria"][0]["statement"] == criterion.statement
    }
    return np.array([by_output[text.output] for text in texts])


async def test_the_training_agreement_is_scipy_s_between_the_rubric_s_scores_and_the_labels():
    judge = scripted()
    trained = await run(judge=judge)
    scores = np.mean([rated_by(judge, criterion, TEXTS) for criterion in trained.rubric.criteria], axis=0)
    labels = [text.scores[ASPECT] for text in TEXTS]
    told = trained.provenance.agreement
    assert told is not None
    assert told.n == 14
    assert told.spearman.value == pytest.approx(spearmanr(scores, labels).statistic, abs=1e-6)
    assert told.pearson.value == pytest.approx(pearsonr(scores, labels).statistic, abs=1e-6)
    assert told.kendall.value == pytest.approx(kendalltau(scores, labels).statistic, abs=1e-6)
    for interval in (told.spearman, told.pearson, told.kendall):
        assert interval.low <= interval.value <= interval.high


async def test_texts_without_a_score_are_not_counted_in_the_agreement():
    def script(prompt):
        return "no" if prompt.fields["output"] == TEXTS[3].output else rating(drawn_rating(prompt, "x"))

    told = (await run(judge=scripted(rate=script))).provenance.agreement
    assert told is not None
    assert told.n == 13


@pytest.fixture
def table():
    rng = np.random.default_rng(7)
    labels = rng.integers(1, 6, 24).astype(float)
    noise = rng.normal(size=(24, 8)) * np.linspace(0.5, 6, 8)
    groups = [f"g{i % 4}" for i in range(24)]
    return labels[:, np.newaxis] + noise, labels, groups


def test_cross_validation_chooses_for_each_group_by_the_labels_of_the_others(table):
    matrix, labels, groups = table
    predicted = reselected(matrix, labels, groups, SETTINGS)
    for group in set(groups):
        inside = np.array(groups) == group
        columns = select(matrix[~inside], labels[~inside], SETTINGS)
        np.testing.assert_array_equal(predicted[inside], predictions(matrix[inside], columns))


@pytest.mark.parametrize("group", ["g0", "g1", "g2", "g3"])
def test_no_label_of_the_left_out_group_is_used_for_it(table, group):
    matrix, labels, groups = table
    inside = np.array(groups) == group
    before = reselected(matrix, labels, groups, SETTINGS)
    everywhere_else = False
    for seed in range(5):
        perturbed = labels.copy()
        perturbed[inside] = np.random.default_rng(seed).integers(-50, 50, inside.sum())
        after = reselected(matrix, perturbed, groups, SETTINGS)
        np.testing.assert_array_equal(after[inside], before[inside])
        everywhere_else = everywhere_else or not np.array_equal(after, before)
    assert everywhere_else


async def test_with_a_single_group_nothing_can_be_left_out_and_no_figure_is_made_up():
    trained = await run([replace(text, group="one") for text in TEXTS])
    told = trained.provenance.agreement
    assert told is not None
    assert told.reselected.value is None
    assert told.spearman.value is not None


# The offline judge on the shipped sample


@pytest.fixture(scope="module")
def sample():
    return list(read(SAMPLE))


async def learned_offline(sample, aspect: str, **chosen) -> Trained:
    found = find_aspect("summarization", aspect)
    given = training_examples(sample, aspect, Scale(low=1, high=5, whole=True))
    judge = EmbeddedJudge()
    return await train_method(
        HYPOEVAL,
        TrainingInput(
            given.examples,
            Assignment(task_words("summarization"), found, given.scale),
            load_findings("summarization", aspect),
        ),
        HypoEvalSettings(**chosen),
        judge=judge,
        generator=judge,
        seed=42,
    )


async def test_the_offline_judge_learns_what_the_sample_s_labels_follow(sample):
    trained = await learned_offline(sample, "fluency")
    told = trained.provenance.agreement
    assert told is not None
    assert told.spearman.value > 0.4
    assert (trained.provenance.judge, trained.provenance.generator) == ("embedded", "embedded")
    assert all(c.evidence.pearson > 0 for c in trained.rubric.criteria)
    assert all(d.reason for d in trained.rubric.parts[0].dropped)
