"""Agreement of the offline judge's default rubric, before and after its text features were reduced.

    python -m experiments.agreement.offline_judge --data FOLDER --name "36 text features"

Learns from 30 labels of each of the 14 aspects on the official ids and four other draws, tests on 12 other groups, and
stores the Spearman correlations under the given name. Takes about 4 minutes on one core.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.agreement.agreement import cases, run

STORED = Path(__file__).parent / "results" / "offline_judge.json"
SETS = "summeval,newsroom,hanna"
DRAWS = 4
TEST_GROUPS = 12


def main() -> None:
    """Measure, and store the rows under a name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, metavar="FOLDER")
    parser.add_argument("--name", required=True, metavar="NAME")
    arguments = parser.parse_args()
    rows = [
        {"set": case.name, "aspect": case.aspect, "split": case.split, "spearman": row["spearman"]}
        for case in cases(arguments.data, SETS, DRAWS, variants=("joint",), test_groups=TEST_GROUPS)
        for row in run(case)
        if row["evaluator"] == "joint"
    ]
    stored = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    STORED.write_text(json.dumps({**stored, arguments.name: rows}, indent=1) + "\n", "utf-8")


def readme_figures() -> dict[str, str]:
    """Return the table of mean correlations by aspect."""
    stored: dict[str, list[dict[str, Any]]] = json.loads(STORED.read_text("utf-8"))
    means = {name: _means(rows) for name, rows in stored.items()}
    first = next(iter(means.values()))
    lines = [f"| set | aspect | {' | '.join(means)} |", f"|---|---|{'---|' * len(means)}"]
    lines += [
        f"| {key[0]} | {key[1]} | {' | '.join(f'{table[key]:.3f}' for table in means.values())} |" for key in first
    ]
    overall = " | ".join(f"{fmean(row['spearman'] for row in rows):.3f}" for rows in stored.values())
    lines.append(f"| all | {len(next(iter(stored.values())))} cases | {overall} |")
    return {"offline judge": "\n".join(lines)}


def _means(rows: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    values = defaultdict(list)
    for row in rows:
        values[row["set"], row["aspect"]].append(row["spearman"])
    return {key: fmean(numbers) for key, numbers in sorted(values.items())}


if __name__ == "__main__":
    main()
