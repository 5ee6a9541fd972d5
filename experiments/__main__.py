"""`python -m experiments`: the studies, their data and their results."""

from __future__ import annotations

from experiments.commands import experiment
from rubriclab.cli.main import main

if __name__ == "__main__":
    main(command=experiment, name="python -m experiments")
