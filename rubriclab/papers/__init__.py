"""Papers about raters: read page by page, taken apart into findings, each checked against the passage it quotes."""
