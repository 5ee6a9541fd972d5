"""The offline judge: deterministic, in-process, and not a language model.

It measures texts. Asked for hypotheses, it names the measures that the labels follow; asked to rate, it maps the
criterion's words to measures; asked to rewrite, it puts in sentences that stand in what it is shown. It understands
nothing, and says so in every reason it gives.
"""

from rubriclab.judges.embedded.judge import EmbeddedJudge

__all__ = ["EmbeddedJudge"]
