"""The studies and measurements of rubriclab, run from a checkout: `python -m experiments`.

`studies/` holds one folder per study with its question, settings and results; `runner/` runs them; `datasets/` reads
the public data sets as their authors publish them. The other folders are measurements, which the runner runs too.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent
STUDIES = ROOT / "studies"
SETS = ROOT / "sets.toml"
