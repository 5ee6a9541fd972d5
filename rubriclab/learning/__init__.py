"""Learning of rubrics from labelled texts, their validation, and scoring by them; see docs/architecture.md."""
