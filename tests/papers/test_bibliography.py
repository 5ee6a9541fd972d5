"""BibTeX as doi.org and citation managers write it becomes the flat entries that findings refer to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from paper_samples import BIB

from rubriclab.errors import LiteratureError
from rubriclab.literature import load_references
from rubriclab.papers.bibliography import entry_of, is_same_work, new_key, read_bibliography, reference_of


def write(folder: Path, text: str) -> Path:
    (folder / "entry.bib").write_text(text, "utf-8")
    return folder / "entry.bib"


def test_markup_bare_values_and_nested_braces_are_read(tmp_path: Path) -> None:
    (reference,) = read_bibliography(write(tmp_path, BIB)).values()
    assert reference.key == "Lind_2021"
    assert reference.citation == "Lind and Kryściński (2021), What Raters Reward, Transactions of the ACL"


def test_an_entry_survives_being_written_and_read_by_the_strict_reader(tmp_path: Path) -> None:
    reference = reference_of("a1", ["Lind, {Anna}", "{Food and Drink Office}"], "On {X}", 2020, "ACL")
    file = write(tmp_path, f"% a comment\n\n{entry_of(reference)}")
    assert load_references(file) == {"a1": reference}
    assert reference.authors == ("Lind, Anna", "Food & Drink Office")


def test_a_preprint_without_a_journal_appeared_on_arxiv(tmp_path: Path) -> None:
    text = "@misc{x, author = {Tan, Chenhao}, title = {{T}}, year = {2025}, eprint = {2504.07174}}"
    assert read_bibliography(write(tmp_path, text))["x"].venue == "arXiv"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no entry"),
        ("@article{x, title = {{T}}", "is not BibTeX"),
        ("@article{x, title = {{T}}, year = {2020}, journal = {J}}", "entry 'x': authors:"),
        ("@article{x, author = {A}, title = {{T}}, year = {2020}}", "entry 'x': venue:"),
    ],
)
def test_what_cannot_be_used_is_said(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(LiteratureError) as caught:
        read_bibliography(write(tmp_path, text))
    assert said in str(caught.value)


def test_flat_entries_need_no_library_and_others_name_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pybtex.database", None)
    flat = "@book{x, author = {Lin, C.}, title = {T}, year = {2020}, publisher = {P}}"
    assert read_bibliography(write(tmp_path, flat))["x"].citation == "Lin (2020), T, P"
    with pytest.raises(LiteratureError, match=r"needs pybtex; install it with: pip install 'rubriclab\[literature\]'"):
        read_bibliography(write(tmp_path, BIB))


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
