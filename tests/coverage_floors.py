"""What the last measured run of the tests covered, and the floors that it must not fall below.

`make coverage` measures all parts (pyproject, `tool.coverage`). `make test-domain` measures the domain by its
own tests and then calls this with `--own`. It prints a line for each part, with the share of its lines and
of its branches that were taken, and every module of the domain that is below the average. Ends with 1
where a share is below its floor. A floor is what was reached, rounded down: raise it when tests are
added, and lower it only with a reason.

`.ci/run` measures the domain alone, by its own tests: that adds half a minute of CPU time. Measuring doubles
what a test costs, and the tests of services, store, bridge and agent take two thirds of the CPU time of
all tests. They reach 3 % of the domain's branches that its own do not: `make coverage` holds those.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

# Part: floor of lines, floor of branches, in per cent.
FLOORS = {
    "hub/domain": (98.0, 98.0),
    "hub/services": (90.0, 80.0),
    "hub/bridge": (90.0, 80.0),
    "agent": (90.0, 80.0),
}
# The same of parts that are measured by their own tests alone.
OWN_FLOORS = {"hub/domain": (98.0, 95.0)}
COUNTS = ("covered_lines", "num_statements", "covered_branches", "num_branches")


def measured() -> dict[str, Counter[str]]:
    """Counts of lines and branches by source file, from the data that the run left."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "coverage.json")
        command = [sys.executable, "-m", "coverage", "json", "--quiet", "-o", str(report)]
        subprocess.run(command, check=True)
        files = json.loads(report.read_text())["files"]
    return {
        path: Counter({name: each["summary"][name] for name in COUNTS})
        for path, each in files.items()
    }


def shares(counts: Counter[str]) -> tuple[float, float]:
    """Per cent of lines and of branches; of nothing all is covered."""
    lines, covered_lines = counts["num_statements"], counts["covered_lines"]
    branches, covered_branches = counts["num_branches"], counts["covered_branches"]
    return (
        100 * covered_lines / lines if lines else 100.0,
        100 * covered_branches / branches if branches else 100.0,
    )


def main() -> int:
    """Print the table; 1 where a part is below its floor."""
    wanted = OWN_FLOORS if sys.argv[1:] == ["--own"] else FLOORS
    files = measured()
    below = []
    print(f"{'covered':<46} {'lines':>7} {'floor':>6} {'branches':>9} {'floor':>6}")
    for part, floors in wanted.items():
        inside = {path: each for path, each in files.items() if path.startswith(part + "/")}
        lines, branches = shares(sum(inside.values(), Counter()))
        print(f"{part:<46} {lines:>6.1f}% {floors[0]:>5.1f}% {branches:>8.1f}% {floors[1]:>5.1f}%")
        if lines < floors[0] or branches < floors[1]:
            below.append(part)
        if part == "hub/domain":
            for path, each in sorted(inside.items()):
                if shares(each)[1] < branches:
                    print(f"  {path:<44} {shares(each)[0]:>6.1f}% {shares(each)[1]:>15.1f}%")
    if below:
        print(f"below its floor: {', '.join(below)}", file=sys.stderr)
    return min(len(below), 1)


if __name__ == "__main__":
    sys.exit(main())
