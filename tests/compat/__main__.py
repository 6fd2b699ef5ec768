"""`python -m tests.compat FOLDER`: prints which of a folder's manifests both doors of a hub take.

FOLDER has one folder of `*.yaml` files per project. The last line is JSON
{"documents", "rest", "kubectl"}. It judges nothing: what is refused is for people to look at.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from tests.compat.measure import TAKEN, measure, table


def main() -> int:
    """Measure the folder that is named."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print("python -m tests.compat FOLDER", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="compat-") as scratch:
        rows = asyncio.run(measure(Path(sys.argv[1]), Path(scratch)))
    for line in table(rows):
        print(line)
    counts = {
        "documents": len(rows),
        "rest": sum(each.rest == TAKEN for each in rows),
        "kubectl": sum(each.hub_cluster == TAKEN for each in rows),
    }
    print(json.dumps(counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
