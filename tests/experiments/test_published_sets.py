"""What each public set becomes: ids, groups, systems, texts, and scores as papers report on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from published_files import FILES, json_lines, judged

from experiments.datasets import read_published
from rubriclab.data import Example


@pytest.fixture
def published(tmp_path: Path):
    def read(name: str, content: str | None = None) -> dict[str, Example]:
        file, made = FILES[name]
        (tmp_path / file).write_text(made() if content is None else content, encoding="utf-8")
        return {example.id: example for example in read_published(name, tmp_path / file)}

    return read


def test_summeval_keeps_the_experts_and_leaves_crowd_workers_out(published) -> None:
    texts = published("summeval")
    assert texts["dm-test-0a::M0"] == Example(
        id="dm-test-0a::M0",
        output="the ferry left late .",
        group="dm-test-0a",
        source="The morning ferry left an hour late because of fog.",
        reference="The ferry was late.",
        system="M0",
        scores={"coherence": 13 / 3, "consistency": 5.0, "fluency": 13 / 3, "relevance": 10 / 3},
        annotations={"coherence": (5, 4, 4), "consistency": (5, 5, 5), "fluency": (4, 4, 5), "relevance": (3, 4, 3)},
    )
    assert texts["dm-test-0a::M11"].output == "fog fog ."
    assert texts["dm-test-0a::M11"].annotations["consistency"] == (3, 3, 1)


def test_hanna_groups_stories_by_prompt_and_keeps_each_worker(published) -> None:
    texts = published("hanna")
    assert list(texts) == ["hanna-0000", "hanna-0097", "hanna-0096"]
    assert [text.group for text in texts.values()] == ["P00", "P01", "P00"]
    human = texts["hanna-0000"]
    assert (human.system, human.output, human.reference) == ("Human", "A person's own tale.", "A person's own tale.")
    assert human.source == "A tower\nwithout doors, they say."
    assert human.annotations["relevance"] == (5, 4, 5)
    assert human.scores == {
        "relevance": 14 / 3,
        "coherence": 11 / 3,
        "empathy": 8 / 3,
        "surprise": 2.0,
        "engagement": 4 / 3,
        "complexity": 4.0,
    }
    assert human.raters == dict.fromkeys(human.scores, ("W7", "W8", "W9"))


def test_newsroom_gathers_the_ratings_of_a_summary_and_reads_its_markup(published) -> None:
    texts = published("newsroom")
    assert texts["31059::lede3"] == Example(
        id="31059::lede3",
        output="Rain & wind closed the fair .",
        group="31059",
        source="Rain & wind closed the fair.\n\nIt opens again on Monday.",
        system="lede3",
        scores={"coherence": 13 / 3, "fluency": 14 / 3, "informativeness": 11 / 3, "relevance": 14 / 3},
        annotations={
            "coherence": (4, 5, 4),
            "fluency": (5, 5, 4),
            "informativeness": (3, 4, 4),
            "relevance": (4, 5, 5),
        },
    )
    assert texts["31059::textrank"].output == 'The fair , it said " closed " .'
    assert texts["31059::textrank"].annotations["fluency"] == (2, 3)


def test_topical_chat_takes_facts_as_context_and_the_original_turn_as_reference(published) -> None:
    texts = published("topical_chat")
    response = texts["tc00::Argmax Decoding"]
    assert (response.group, response.output) == ("tc00", "yes .")
    assert response.source == "do you like birds ?\ni love owls ."
    assert response.context == "an owl turns its head by 270 degrees ."
    assert response.reference == texts["tc00::Original Ground Truth"].output
    assert response.scores == {
        "understandability": 2 / 3,
        "naturalness": 8 / 3,
        "coherence": 4 / 3,
        "engagingness": 1.0,
        "groundedness": 1 / 3,
        "overall": 5 / 3,
    }
    assert response.raters["groundedness"] == ("ann", "bo", "cy")


@pytest.mark.parametrize(("name", "system"), [("qags_cnndm", "Bottom-Up"), ("qags_xsum", "BART")])
def test_qags_scores_the_share_of_sentences_that_most_workers_support(published, name: str, system: str) -> None:
    texts = published(name)
    assert texts[f"{name}-000"] == Example(
        id=f"{name}-000",
        output="The mill closed in May. Forty people worked there. It made paper.",
        group=f"{name}-000",
        source="The paper mill shut its gates in May.",
        system=system,
        scores={"consistency": 2 / 3},
        annotations={"consistency": (2 / 3, 1 / 3, 1.0)},
        raters={"consistency": ("0", "3", "25")},
    )


def test_qags_has_no_number_of_a_worker_who_judged_some_sentences_only(published) -> None:
    text = published("qags_xsum")["qags_xsum-001"]
    assert text.scores == {"consistency": 1 / 2}
    assert text.raters == {"consistency": ("1",)}
    apart = [judged("One.", w1="yes"), judged("Two.", w2="yes")]
    alone = published("qags_xsum", json_lines({"article": "One. Two.", "summary_sentences": apart}))["qags_xsum-000"]
    assert (alone.scores, alone.annotations, alone.raters) == ({"consistency": 1.0}, {}, {})


def test_writingprompts_groups_stories_by_prompt_and_tells_people_from_gpt2(published) -> None:
    texts = published("writingprompts_a")
    assert texts["writingprompts_a-002"] == Example(
        id="writingprompts_a-002",
        output="Noon came at night.",
        group="P000",
        source="A lamp that burns backwards.",
        system="GPT-2",
        scores={"grammaticality": 4.0, "cohesiveness": 4.0, "likability": 14 / 3, "relevance": 5.0},
        annotations={
            "grammaticality": (4, 4, 4),
            "cohesiveness": (4, 4, 4),
            "likability": (4, 5, 5),
            "relevance": (5, 5, 5),
        },
    )
    assert (texts["writingprompts_a-000"].group, texts["writingprompts_a-000"].system) == ("P000", "Human")


def test_writingprompts_puts_lost_prompts_into_groups_of_their_own(published) -> None:
    texts = published("writingprompts_a")
    lost = [text for text in texts.values() if text.source == "#NAME?"]
    assert [text.group for text in lost] == ["P001", "P003"]
    assert lost[1].system is None


@pytest.mark.parametrize("name", ["qqp", "paws_qqp"])
def test_a_pair_of_questions_is_a_text_beside_its_reference(published, name):
    texts = published(name)
    prefix = name.replace("_", "-")
    assert texts[f"{prefix}-7"] == Example(
        id=f"{prefix}-7",
        output="Who was the first to say no?",
        group=f"{prefix}-7",
        reference='Who said "no" first?',
        scores={"equivalence": 1.0},
    )
    assert texts[f"{prefix}-8"].scores == {"equivalence": 0.0}


def test_the_first_5000_pairs_of_qqp_are_read(published):
    """DCR, appendix C.1."""
    lines = [f"{number}\tq\tr\t{number % 2}" for number in range(5003)]
    texts = published("qqp", "\n".join(["id\tquestion1\tquestion2\tis_duplicate", *lines]))
    assert len(texts) == 5000
    assert list(texts)[-1] == "qqp-4999"
