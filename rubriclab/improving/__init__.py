"""Texts rewritten on the grounds of what a judge found wrong with them (DCR's reason-assisted improver, section 3)."""

from rubriclab.improving.faults import TextFault, require_reasons, text_faults
from rubriclab.improving.gain import Figures, Gain, Summary, figures, summary
from rubriclab.improving.improve import ImproveSettings, improve_stream, improve_text
from rubriclab.improving.record import Improvement, Outcome, Round
from rubriclab.improving.rewrite import Change, rewriting_at_most

__all__ = [
    "Change",
    "Figures",
    "Gain",
    "ImproveSettings",
    "Improvement",
    "Outcome",
    "Round",
    "Summary",
    "TextFault",
    "figures",
    "improve_stream",
    "improve_text",
    "require_reasons",
    "rewriting_at_most",
    "summary",
    "text_faults",
]
