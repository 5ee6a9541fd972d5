"""HypoEval: hypotheses about what raters reward, learned from a few labels and literature; each rates a text."""
