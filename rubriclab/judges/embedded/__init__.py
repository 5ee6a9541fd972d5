"""The offline judge: deterministic, in-process, and not a language model.

It measures texts. Asked for criteria, it names the text features that the labels follow; asked to rate or to answer, it
maps the words of a criterion to text features; asked to rewrite, it inserts sentences of what it is shown. It
understands nothing, and says so in every reason it gives.
"""

from rubriclab.judges.embedded.judge import EmbeddedJudge

__all__ = ["EmbeddedJudge"]
