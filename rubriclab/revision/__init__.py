"""Revision: texts rewritten for the faults that a judge finds (DCR's reason-assisted improver, section 3)."""

from rubriclab.revision.faults import TextFault, require_reasons, text_faults
from rubriclab.revision.improve import ImproveSettings, improve_stream
from rubriclab.revision.record import (
    Improvement,
    RevisionMetrics,
    RevisionOutcome,
    RevisionRound,
    RevisionSummary,
    ScoreGain,
    revision_metrics,
    summarize_revisions,
)
from rubriclab.revision.rewrite import SentenceEdit, typical_rewrite_prompt

__all__ = [
    "ImproveSettings",
    "Improvement",
    "RevisionMetrics",
    "RevisionOutcome",
    "RevisionRound",
    "RevisionSummary",
    "ScoreGain",
    "SentenceEdit",
    "TextFault",
    "improve_stream",
    "require_reasons",
    "revision_metrics",
    "summarize_revisions",
    "text_faults",
    "typical_rewrite_prompt",
]
