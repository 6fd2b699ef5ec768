"""The measure itself, on the examples of this repository: a folder in, a table out."""

import shutil
from pathlib import Path

import pytest

from tests.compat.measure import Found, measure, table

pytestmark = pytest.mark.anyio
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.kubectl
async def test_our_own_examples_are_taken_by_both_doors(tmp_path: Path):
    """Every document of a file is counted under its folder's name, with nothing against it."""
    folder, scratch = tmp_path / "folder", tmp_path / "scratch"
    (folder / "ours").mkdir(parents=True)
    scratch.mkdir()
    shutil.copy(EXAMPLES / "hello.yaml", folder / "ours")
    rows = await measure(folder, scratch)
    assert {(row.project, row.rest, row.hub_cluster) for row in rows} == {("ours", "", "")}
    kinds = [row.kind for row in rows]
    assert kinds.count("Job") == (EXAMPLES / "hello.yaml").read_text().count("kind: Job")


def test_the_table_counts_by_kind_and_says_why_not():
    """One line per project and kind, equal reasons together, with the door that gave them."""
    rows = [
        Found("theirs", "v1", "Pod", "NoAdapter: of no queue", ""),
        Found("theirs", "v1", "Pod", "NoAdapter: of no queue", ""),
        Found("ours", "v1", "Job", "", ""),
    ]
    assert list(table(rows))[2:] == [
        "| ours | Job | 1 | 1 | 1 |  |",
        "| theirs | Pod | 2 | 0 | 2 | 2 × REST: NoAdapter: of no queue |",
    ]
