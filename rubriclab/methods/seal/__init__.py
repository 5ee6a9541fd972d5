"""SEAL: a text is decomposed into units, each verified by yes/no questions, and scored from the verdicts by rule."""
