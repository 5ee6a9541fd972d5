"""BibTeX as doi.org and citation managers write it becomes the flat entries that findings refer to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from paper_samples import BIB

from rubriclab.errors import LiteratureError
from rubriclab.literature import load_references
from rubriclab.papers.bibliography import entry_of, is_same_work, new_key, read_abstract, read_reference, reference_of


def write(folder: Path, text: str) -> Path:
    (folder / "entry.bib").write_text(text, "utf-8")
    return folder / "entry.bib"


def test_markup_bare_values_and_nested_braces_are_read(tmp_path: Path) -> None:
    reference = read_reference(write(tmp_path, BIB))
    assert reference.key == "Lind_2021"
    assert reference.citation == "Lind and Kryściński (2021), What Raters Reward, Transactions of the ACL"


def test_an_entry_survives_being_written_and_read_by_the_strict_reader(tmp_path: Path) -> None:
    reference = reference_of("a1", ["Lind, {Anna}", "{Food and Drink Office}"], "On {X}", 2020, "ACL")
    file = write(tmp_path, f"% a comment\n\n{entry_of(reference)}")
    assert load_references(file) == {"a1": reference}
    assert reference.authors == ("Lind, Anna", "Food & Drink Office")


def test_a_preprint_without_a_journal_appeared_on_arxiv(tmp_path: Path) -> None:
    text = "@misc{x, author = {Tan, Chenhao}, title = {{T}}, year = {2025}, eprint = {2504.07174}}"
    assert read_reference(write(tmp_path, text)).venue == "arXiv"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no entry"),
        ("@article{x, title = {{T}}", "is not BibTeX"),
        ("@article{x, title = {{T}}, year = {2020}, journal = {J}}", "entry 'x': authors:"),
        ("@article{x, author = {A}, title = {{T}}, year = {2020}}", "entry 'x': venue:"),
        ("@article{x, author = {A}, title = {{T}}, journal = {J}}", "entry 'x': year:"),
        ("@article{x, author = {A}, title = {T}, journal = {J}, year = {}}", "entry 'x': year:"),
        (
            "@article{x, author = {A}, title = {T}, journal = {J}, year = {in press}}",
            "entry 'x': year: expected a whole number, got the text 'in press'. It needs author, title, year,",
        ),
        ("@article{x, author = {A}, title = {T}, journal = {J}, year = {c. 20201}}", "entry 'x': year: expected"),
    ],
)
def test_what_cannot_be_used_is_said(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(LiteratureError) as caught:
        read_reference(write(tmp_path, text))
    assert said in str(caught.value)


def test_flat_entries_need_no_library_and_others_name_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pybtex.database", None)
    flat = "@book{x, author = {Lin, C.}, title = {T}, year = {2020}, publisher = {P}}"
    assert read_reference(write(tmp_path, flat)).citation == "Lin (2020), T, P"
    other = flat.replace("{x,", "{y,").replace("{T}", r"{T \& U}")
    assert read_reference(write(tmp_path, f"{flat}\n{other}"), "x").title == "T"
    with pytest.raises(LiteratureError, match=r"needs pybtex; install it with: pip install 'rubriclab\[literature\]'"):
        read_reference(write(tmp_path, BIB))


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("title", [r"Raters \& Texts", "Raters &amp; Texts"])
def test_markup_is_read_in_entries_with_and_without_nested_braces(title: str, nested: bool, tmp_path: Path) -> None:
    authors = r"M\"uller, A. and Kry\'sci\'nski, B."
    written = f"{{{title}}}" if nested else title
    text = f"@article{{x, author = {{{authors}}}, title = {{{written}}}, year = {{2020}}, journal = {{J~K}}}}"
    assert read_reference(write(tmp_path, text)).citation == "Müller and Kryściński (2020), Raters & Texts, J K"


def test_entries_are_told_apart_by_their_keys_as_written(tmp_path: Path) -> None:
    one = "@book{a, title = {One}, author = {{L}}, publisher = {P}, year = {2020}}"
    file = write(tmp_path, f"{one}\n{one.replace('{a,', '{-a-,').replace('One', 'Two')}")
    assert [read_reference(file, key).title for key in ("a", "-a-")] == ["One", "Two"]


def test_faults_of_other_entries_do_not_matter(tmp_path: Path) -> None:
    good = (
        "@article{good, title = {On Raters}, author = {Lin, A.}, journal = {ACL}, year = {2020}, abstract = {Short.}}"
    )
    file = write(tmp_path, f"{good}\n@misc{{bad, title = {{Notes}}}}\n")
    assert read_reference(file, "good").citation == "Lin (2020), On Raters, ACL"
    assert read_abstract(file, "good") == "Short."
    with pytest.raises(LiteratureError, match="entry 'bad': authors:"):
        read_reference(file, "bad")
    for read in (read_reference, read_abstract):
        with pytest.raises(LiteratureError, match=r"has 2 entries\. Name the paper's: "):
            read(file)
        with pytest.raises(LiteratureError, match="has no entry 'god'; it has good, bad"):
            read(file, "god")


def test_keys_are_made_of_family_year_and_title_and_are_new() -> None:
    assert new_key(["Lin, Chin-Yew"], "A ROUGE Package", 2004) == "lin2004rouge"
    assert new_key(["Kryściński, W."], "On it", 2020, {"kryscinski2020paper"}) == "kryscinski2020paperb"
    assert new_key(["김, 민수"], "요약 평가", 2024) == "김2024요약"
    assert new_key(["Иванов, И."], "Оценка текстов", 2024) == "иванов2024оценка"
    assert new_key(["陈, 梅"], "读者喜欢什么" * 20, 2024) == f"陈2024{'读者喜欢什么' * 5}"
    assert new_key([], "¿?", 2024) == "anonymous2024paper"


def test_keys_do_not_run_out_and_are_read_by_the_strict_reader(tmp_path: Path) -> None:
    keys: list[str] = []
    for _ in range(60):
        keys.append(new_key(["陈, 梅"], "读者喜欢什么", 2024, keys))
    assert len(set(keys)) == 60
    assert keys[1].endswith("b")
    entries = "\n".join(entry_of(reference_of(key, ["陈, 梅"], "读者喜欢什么", 2024, "计算语言学")) for key in keys)
    assert list(load_references(write(tmp_path, entries))) == keys


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("读者喜欢什么", "读者讨厌什么"),
        ("Оценка текстов", "Перевод текстов"),
        ("요약 평가", "대화 평가"),
        ("की", "का"),
        ("?", "!"),
    ],
)
def test_different_titles_in_any_script_are_different_works(one: str, other: str) -> None:
    assert is_same_work(reference_of("a", ["A"], one, 2021, "J"), reference_of("b", ["A"], one, 2021, "K"))
    assert not is_same_work(reference_of("a", ["A"], one, 2021, "J"), reference_of("b", ["A"], other, 2021, "J"))


def test_the_same_work_has_the_same_title_and_year() -> None:
    one = reference_of("a", ["A"], "What Raters Reward", 2021, "J")
    assert is_same_work(one, reference_of("b", ["A"], "{What} raters  reward", 2021, "arXiv"))
    assert not is_same_work(one, reference_of("a", ["A"], "Another", 2021, "J"))
