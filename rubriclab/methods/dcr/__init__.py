"""DCR: a text's sentences are compared with a reference (`score`), and those that fail are rewritten (`rewrite`)."""
