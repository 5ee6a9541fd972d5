"""SEAL: a text is decomposed into units, each verified by yes/no questions, and scored from the verdicts by rule."""

from rubriclab.methods.method import Method
from rubriclab.methods.seal.learn import learn, learning_calls
from rubriclab.methods.seal.score import PRESETS, SealSettings, score

SEAL = Method(
    name="seal",
    note="questions about each sentence, pair of sentences or fact",
    settings=SealSettings,
    presets=PRESETS,
    prompts=("seal/propose", "seal/split", "seal/facts", "seal/verify", "seal/support", "seal/rate"),
    learn=learn,
    score=score,
    learning_calls=learning_calls,
    criterion_kind="question",
    needs_labels=False,
    checklists="units",
)

__all__ = ["SEAL", "SealSettings"]
