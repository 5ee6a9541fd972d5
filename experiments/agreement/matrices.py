"""Ratings of learning and test texts by every candidate, kept so that weighings can be compared without a judge.

    python -m experiments.agreement.matrices --data FOLDER --splits 10 --output CACHE_FOLDER

One .npz file per aspect and split: `train` and `test` ratings, labels and groups, and what the candidates are. The
files hold no texts, but labels of sets that may not be shared, so they belong outside the repository.
"""

from __future__ import annotations

import argparse
import asyncio
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from experiments.agreement.agreement import SEED, SHOTS, Case, cases, plans, rated, split
from rubriclab.judges import JudgeOptions, Ledger, connect
from rubriclab.learning.baselines import SURFACE, measure_values
from rubriclab.learning.candidates import find_candidates
from rubriclab.text_features.prior import usual_directions


def main() -> None:
    """Write one file per aspect and split; files that exist are kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with the sets of sets.toml")
    parser.add_argument("--sets", default="summeval,newsroom,hanna,topical_chat")
    parser.add_argument("--splits", type=int, default=10, help="random splits by group beside the official ids")
    parser.add_argument("--test-groups", type=int, default=12)
    parser.add_argument("--shots", type=int, default=SHOTS, help="texts to learn from, where there are so many")
    parser.add_argument("--judge", default="embedded")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    more = {"test_groups": given.test_groups, "together": True, "shots": given.shots}
    every = sorted(cases(given.data, given.sets, given.splits, given.judge, **more), key=lambda case: case.split)
    with ProcessPoolExecutor(given.processes) as pool:
        for done in pool.map(write, [(case, str(given.output)) for case in every]):
            print(done, flush=True)


def write(job: tuple[Case, str]) -> str:
    """Write the file of one aspect and split, and return its name."""
    case, folder = job
    path = Path(folder) / f"{case.name} {case.aspect} {case.split}.npz".replace(" ", "_")
    if not path.exists():
        asyncio.run(_write(case, path))
    return path.name


async def _write(case: Case, path: Path) -> None:
    learned_from, test = split(case)
    judge = connect(case.judge, options=JudgeOptions(), ledger=Ledger())
    chosen, _ = plans(case, (), learned_from)
    assignment = chosen[0].training_input.assignment
    found = await find_candidates(chosen, judge=judge, generator=judge, seed=SEED)
    table = found.table(assignment, "by method")
    parts = found.parts_with(found.ids)
    rows = [await rated(text, parts, assignment, judge) for text in test]
    usual = usual_directions(case.aspect, assignment.aspect.definition, case.task)
    kept = {criterion.id for part in found.parts for criterion in part.criteria}
    np.savez_compressed(
        path,
        train=table.values,
        test=np.array([[row[name] for name in found.ids] for row in rows], dtype=float),
        train_labels=table.labels,
        test_labels=np.array([text.scores[case.aspect] for text in test], dtype=float),
        train_groups=np.array(table.groups),
        test_groups=np.array([text.group for text in test]),
        methods=np.array(table.methods),
        kinds=np.array([each.criterion.kind for each in found.candidates]),
        kept=np.array([name in kept for name in found.ids]),
        bundles=np.array(table.bundles),
        seen=table.seen,
        scale=np.array([assignment.scale.low, assignment.scale.high]),
        train_surface=measure_values(found.examples, SURFACE),
        test_surface=measure_values(test, SURFACE),
        directions=np.array([usual[name] for name in SURFACE]),
    )


if __name__ == "__main__":
    main()
