"""What the documentation tells people to type works."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.running import RunningFleet, running_fleet
from tests.house import commands, sources

BLOCKS = commands.blocks()


def _marked(mark: str) -> list[object]:
    return [pytest.param(block, id=str(block)) for block in BLOCKS if block.mark == mark]


def _run(block: commands.Block, **environment: str) -> None:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.script],
        cwd=sources.REPOSITORY,
        env={
            **os.environ,
            "PATH": f"{sources.REPOSITORY / '.venv/bin'}:{os.environ['PATH']}",
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, f"{block}\n{block.script}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningFleet]:
    """One embedded fleet of three members for all blocks."""
    with running_fleet(tmp_path_factory.mktemp("fleet"), 3) as running:
        yield running


def test_blocks_are_found_with_their_marks() -> None:
    """A block's mark stands before its fence; a prompt marks the lines that are typed."""
    page = "text\n<!-- run: fleet -->\n```sh\n$ roadstead jobs ls\nNAME\n```\n\n```sh\nls\n```\n"
    one, two = commands.blocks_of(Path("page.md"), page)
    assert (one.mark, one.script, one.line) == ("run: fleet", "roadstead jobs ls\n", 2)
    assert (two.mark, two.script) == ("", "ls\n")


def test_every_block_says_whether_it_is_run() -> None:
    """Each shell block in the documentation is run by a test or says why not."""
    known = ("run", "run: fleet")
    unmarked = [
        str(b) for b in BLOCKS if b.mark not in known and not b.mark.startswith("not run: ")
    ]
    assert unmarked == []


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("block", _marked("run"))
def test_a_command_block_runs(block: commands.Block, tmp_path: Path) -> None:
    """A block marked `run` ends with success from a fresh checkout."""
    _run(block, HOME=str(tmp_path))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("block", _marked("run: fleet"))
def test_a_command_block_runs_beside_a_fleet(block: commands.Block, fleet: RunningFleet) -> None:
    """A block marked `run: fleet` ends with success against the embedded fleet."""
    _run(
        block,
        ROADSTEAD_DATA=str(fleet.folder),
        KUBECONFIG=str(fleet.kubeconfig("hub")),
        HOME=str(fleet.folder),
    )
