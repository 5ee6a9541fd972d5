"""Model Context Protocol (`pip install 'rubriclab[mcp]'`): rubrics as tools for an assistant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from rubriclab import __version__
from rubriclab.errors import BudgetReached, RubriclabError, SettingsError, UserError
from rubriclab.integrations.evaluator import imported_from
from rubriclab.judges.judge import Ledger
from rubriclab.judges.limits import LocalBudget
from rubriclab.models.characters import escape_controls
from rubriclab.ops import explain as explaining, score as scoring
from rubriclab.ops.inputs import FieldMissing, repeated_id
from rubriclab.ops.options import ExplainOptions, ScoreOptions
from rubriclab.ops.versions import list_versions
from rubriclab.ops.workspace import Workspace
from rubriclab.running import ShieldedTasks, no_progress
from rubriclab.web.api_models import TextToScore, describe_rubric

with imported_from("The SDK of the Model Context Protocol", "mcp"):
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import ToolAnnotations

GRACE_SECONDS = 10  # for calls under way when the assistant closes the connection
MAX_TEXTS = 100
LISTED_FIELDS = ("rubric", "task", "aspect", "scale", "judge", "verdict")
INSTRUCTIONS = """Rubrics that were learned from texts scored by people. Each scores a text on its scale, with an \
interval where it has one, and gives the contribution and the reason of each criterion. A text without a score has the \
reason instead: never make up a number. Scores of different rubrics are not comparable. The verdict of a rubric says \
whether it agreed better with people, on texts that it was not learned from, than the same judge asked directly: \
unless it is "better", tell the user so beside the scores."""
NO_CALLS_REMARK = " Only answers that the store has, and the offline judge, are used: no language model is asked."


class ToolText(TextToScore):
    """A text to score."""

    model_config = ConfigDict(extra="forbid")


Rubric = Annotated[str, Field(description="NAME (the newest version), NAME@NUMBER or NAME@TAG.")]
Texts = Annotated[list[ToolText], Field(min_length=1, max_length=MAX_TEXTS, description="The texts.")]


class RubricTools:
    """The tools: list, show, score and explain. None of them changes a version, a tag or a label.

    Each call gets a copy of the workspace `template`. With `allow_calls`, a language model may be asked up to the caps
    of `template`, which must have at least one. `judge` replaces the judges that rubrics were learned with.
    """

    def __init__(self, template: Workspace, judge: str | None = None, *, allow_calls: bool = False) -> None:
        self._template = template
        self._judge = judge
        self.allow_calls = allow_calls
        has_cap = template.options.max_calls is not None or template.options.max_cost is not None
        if allow_calls and not has_cap:
            hint = "give `max_cost=DOLLARS` or `max_calls=N`, too."
            raise SettingsError("`allow_calls`: an assistant would decide how much is spent;", hint)
        if template.options.batch:
            raise SettingsError("`batch`: batches take hours;", "leave `batch` out.")
        self._budget = template.budget if allow_calls else LocalBudget(max_calls=0)
        self.under_way = ShieldedTasks()  # calls of tools that are not answered yet

    async def list_rubrics(self) -> dict[str, Any]:
        """List the rubrics of the store, each by its newest version: what it judges, its scale, judge and verdict."""
        with self._workspace() as workspace:
            store = workspace.open_store(access="read")
            rubrics = []
            for version in list_versions(store, workspace.notify):
                shown = describe_rubric(version.rubric, version.ref, version.provenance.judge, version)
                row = shown.model_dump(mode="json", include=set(LISTED_FIELDS))
                rubrics.append({**row, "tags": list(version.tags), "criteria": len(shown.criteria)})
            return {"rubrics": rubrics}

    async def show_rubric(self, rubric: Rubric) -> dict[str, Any]:
        """Show a rubric: what it judges, its scale, judge and verdict, and its criteria with levels and weights."""
        with self._workspace() as workspace:
            version = workspace.open_store(access="read").load(rubric)
            judge = self._judge or version.provenance.judge
            return describe_rubric(version.rubric, version.ref, judge, version).model_dump(mode="json")

    async def score_texts(self, rubric: Rubric, texts: Texts) -> dict[str, Any]:
        """Score texts by a rubric. Each score has its interval, and the contribution and reason of each criterion."""
        if repeated := repeated_id(text.id for text in texts):
            first, second = repeated
            raise ToolError(f"texts[{second}] and texts[{first}] have the same id; give each its own.")
        rows = [text.model_dump(exclude_none=True) for text in texts]

        async def run() -> dict[str, Any]:
            with self._workspace() as workspace:
                scores = await scoring.score(workspace, rows, rubric, ScoreOptions(judge=self._judge))
                return {"scores": [score.to_row() for score in scores], "warnings": list(scores.warnings)}

        return await self.under_way.run(run())

    async def explain_score(
        self,
        rubric: Rubric,
        text: Annotated[ToolText | None, Field(description="The text; or else give labelled_id.")] = None,
        labelled_id: Annotated[
            str | None, Field(description="The id of a text that the rubric was learned from.")
        ] = None,
        nearest: Annotated[int, Field(ge=0, le=20, description="How many similarly rated labelled texts.")] = 5,
    ) -> dict[str, Any]:
        """Explain a text's score: what each criterion adds to the score of an average text, and similar texts."""
        if (text is None) == (labelled_id is None):
            raise ToolError("Give either text or labelled_id.")
        data = None if text is None else [text.model_dump(exclude_none=True)]
        options = ExplainOptions(judge=self._judge, id=labelled_id, nearest=nearest)

        async def run() -> dict[str, Any]:
            with self._workspace() as workspace:
                return (await workspace.run(explaining.explain, data, rubric, options)).to_row()

        return await self.under_way.run(run())

    @contextmanager
    def _workspace(self) -> Iterator[Workspace]:
        """Open a workspace for one call; errors are raised as ToolError, which the assistant gets."""
        try:
            with replace(self._template, progress=no_progress, budget=self._budget, ledger=Ledger()) as workspace:
                yield workspace
        except FieldMissing as error:
            # The hint of the error names columns of a file, and a tool gets no file.
            raise ToolError(f"{escape_controls(error.message)} Give it in each text.") from error
        except BudgetReached as error:
            if self.allow_calls:
                restart = "The user can start rubriclab mcp with a higher --max-cost or --max-calls"
                explanation = UserError(error.message, f"{restart}; answers so far are kept.")
            else:
                explanation = UserError(
                    "The store has no answer about a text, and no language model may be asked.",
                    "To score the texts that have answers, leave out the others. "
                    "The user can allow calls: rubriclab mcp --allow-calls with --max-cost DOLLARS.",
                )
            raise ToolError(escape_controls(str(explanation))) from error
        except RubriclabError as error:
            raise ToolError(escape_controls(error.text)) from error


async def serve_mcp(workspace: Workspace, judge: str | None = None, *, allow_calls: bool = False) -> None:
    """Offer the tools on standard input and output until the input ends."""
    server = MCPServer[Any](
        "rubriclab", title="rubriclab", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING"
    )
    for_reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for_asking = ToolAnnotations(
        read_only_hint=not allow_calls, destructive_hint=False, idempotent_hint=True, open_world_hint=allow_calls
    )
    with workspace:
        tools = RubricTools(workspace, judge, allow_calls=allow_calls)
        server.add_tool(tools.list_rubrics, annotations=for_reading)
        server.add_tool(tools.show_rubric, annotations=for_reading)
        for tool in (tools.score_texts, tools.explain_score):
            description = f"{tool.__doc__}{'' if allow_calls else NO_CALLS_REMARK}"
            server.add_tool(tool, description=description, annotations=for_asking)
        await server.run_stdio_async()
        await tools.under_way.finish(GRACE_SECONDS)
