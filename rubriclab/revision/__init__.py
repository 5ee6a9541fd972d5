"""Texts rewritten on the grounds of what a judge found wrong with them (DCR's reason-assisted improver, section 3)."""

from rubriclab.revision.gain import RevisionMetrics, RevisionSummary, ScoreGain, figures, summary
from rubriclab.revision.improve import ImproveSettings, improve_stream, improve_text
from rubriclab.revision.record import Improvement, RevisionOutcome, RevisionRound
from rubriclab.revision.rewrite import SentenceEdit, rewriting_at_most
from rubriclab.revision.weaknesses import TextFault, require_reasons, text_faults

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
    "figures",
    "improve_stream",
    "improve_text",
    "require_reasons",
    "rewriting_at_most",
    "summary",
    "text_faults",
]
