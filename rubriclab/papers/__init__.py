"""Papers about raters: read page by page, taken apart into findings, each checked against the passage it quotes.

HypoEval proposes criteria from labelled texts and from summaries of published work; this package makes the second from
the papers themselves.
"""
