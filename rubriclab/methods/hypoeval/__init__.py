"""HypoEval: a text is rated by hypotheses about what raters reward, learned from a few labels and literature."""
