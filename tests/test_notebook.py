"""A notebook that learns, scores, evaluates and shows the results, executed by a kernel whose event loop is running."""

from __future__ import annotations

import sys
from typing import Any

import nbformat
import pytest
from commands import HELDOUT, LABELLED
from nbclient import NotebookClient

CELLS = (
    "import rubriclab as rl\nlab = rl.Lab('store.db', 'embedded')",
    "rubric = lab.learn(\n"
    f"    {str(LABELLED)!r}, task='summarization', aspect='coherence', methods='direct', name='news'\n"
    ")\nrubric.ref",
    f"import pandas\nframe = pandas.read_json({str(HELDOUT)!r}, lines=True)\nscores = lab.score(frame, rubric)\nscores",
    f"lab.evaluate({str(HELDOUT)!r}, [rubric]).results[0].agreement.n",
    "(await lab.score_async(frame, 'news')).mean == scores.mean",
    "[score.id for score in lab.score(frame, 'news', stream=True)] == [score.id for score in scores]",
    "print(scores)",
    f"lab.learn({str(LABELLED)!r}, task='summarization', aspect='coherence', methods='direct', scale='5:1')",
)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[list[Any]]:
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    kernels = folder / "kernels" / "python3"
    kernels.mkdir(parents=True)
    command = f'["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]'
    (kernels / "kernel.json").write_text(f'{{"argv": {command}, "display_name": "Python", "language": "python"}}')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        resources = {"metadata": {"path": str(folder)}}
        NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True, resources=resources).execute()
    return [cell["outputs"] for cell in notebook.cells]


def shown(outputs: list[Any]) -> dict[str, str]:
    """Return what the last expression of a cell shows, by MIME type."""
    errors = [output for output in outputs if output["output_type"] == "error"]
    assert not errors or errors[0]["ename"] == "SettingsError", errors
    (result,) = [output for output in outputs if output["output_type"] == "execute_result"] or [{"data": {}}]
    return dict(result["data"])


def test_learning_scoring_and_evaluating_work_in_cells(outputs: list[list[Any]]) -> None:
    plain = [shown(cell).get("text/plain") for cell in outputs]
    assert plain[0] is None
    assert plain[1] == "'news@1'"
    assert (plain[3], plain[4], plain[5]) == ("72", "True", "True")


def test_a_result_is_shown_once_as_html_and_printed_as_lines(outputs: list[list[Any]]) -> None:
    page = shown(outputs[2])["text/html"]
    assert "http" not in page.replace("http://www.w3.org", "")
    tables = [output for output in outputs[2] if "72 texts scored by news@1" in str(output)]
    assert [output["output_type"] for output in tables] == ["execute_result"]
    (printed,) = outputs[6]
    assert printed["text"].startswith("72 texts scored by news@1")
    assert "\n\n\n" not in printed["text"]
    assert printed["text"].splitlines()[0] in shown(outputs[2])["text/plain"]


def test_notes_stand_below_the_cell_and_a_bar_is_gone_when_it_is_done(outputs: list[list[Any]]) -> None:
    streams = "".join(output["text"] for output in outputs[1] if output["output_type"] == "stream")
    assert "embedded; it measures texts offline, by English word lists, and is no language model (name anoth" in streams
    bars = [output["data"]["text/html"] for output in outputs[1] if output["output_type"] == "display_data"]
    assert bars == [""]


def test_an_error_names_options_as_python_does(outputs: list[list[Any]]) -> None:
    (error,) = [output for output in outputs[-1] if output["output_type"] == "error"]
    assert 'write the lowest first: `scale="1:5"`' in error["evalue"]
