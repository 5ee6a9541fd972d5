"""Agreement of the offline judge's default rubric, before and after its text features were reduced.

    python -m experiments measure agreement --data FOLDER --set variants=joint --set splits=4 --set test_groups=12 \
        --set sets=summeval,newsroom,hanna -o experiments/agreement/results/offline_36.json
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from experiments.runner.measurement import Row, stored_rows

RESULTS = Path(__file__).parent / "results"
STORED = {"75 text features": RESULTS / "offline_75.json", "36 text features": RESULTS / "offline_36.json"}


def readme_figures() -> dict[str, str]:
    """Return the table of mean correlations by aspect."""
    stored = {name: [row for row in stored_rows(file) if row["evaluator"] == "joint"] for name, file in STORED.items()}
    means = {name: _means(rows) for name, rows in stored.items()}
    first = next(iter(means.values()))
    lines = [f"| set | aspect | {' | '.join(means)} |", f"|---|---|{'---|' * len(means)}"]
    lines += [
        f"| {key[0]} | {key[1]} | {' | '.join(f'{table[key]:.3f}' for table in means.values())} |" for key in first
    ]
    overall = " | ".join(f"{fmean(row['spearman'] for row in rows):.3f}" for rows in stored.values())
    lines.append(f"| all | {len(next(iter(stored.values())))} cases | {overall} |")
    return {"offline judge": "\n".join(lines)}


def _means(rows: Sequence[Row]) -> dict[tuple[str, str], float]:
    values: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        values[row["set"], row["aspect"]].append(row["spearman"])
    return {key: fmean(numbers) for key, numbers in sorted(values.items())}
