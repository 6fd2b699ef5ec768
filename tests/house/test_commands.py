"""What the documentation tells people to type works."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.running import RunningFleet, running_fleet
from tests.house import commands, sources

BLOCKS = commands.blocks()


def _marked(mark: str) -> list[commands.Block]:
    return [block for block in BLOCKS if block.mark == mark]


def _run(script: str, **environment: str) -> None:
    for name in commands.programs(script):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not on PATH")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=sources.REPOSITORY,
        env={
            **os.environ,
            "PATH": f"{sources.REPOSITORY / '.venv/bin'}:{os.environ['PATH']}",
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"


def _pages() -> list[Path]:
    """The tutorial first, as readers do; then from the last to the first: none needs one before it."""
    pages = sorted({block.page for block in _marked("run: fleet")}, reverse=True)
    return sorted(pages, key=lambda page: "tutorial" not in page.parts)


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


def test_a_python_block_runs_as_a_program() -> None:
    """A Python block becomes a program of its own within the page's shell."""
    (block,) = commands.blocks_of(Path("page.md"), "<!-- run -->\n```python\nprint(1)\n```\n")
    assert block.script == "python - <<'PYTHON'\nprint(1)\nPYTHON\n"


def test_every_block_says_whether_it_is_run() -> None:
    """Each block of commands in the documentation is run by a test or says why not."""
    known = ("run", "run: fleet")
    unmarked = [
        str(b) for b in BLOCKS if b.mark not in known and not b.mark.startswith("not run: ")
    ]
    assert unmarked == []


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("block", _marked("run"), ids=str)
def test_a_command_block_runs(block: commands.Block, tmp_path: Path) -> None:
    """A block marked `run` ends with success from a fresh checkout."""
    _run(block.script, HOME=str(tmp_path))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", _pages(), ids=str)
def test_the_blocks_of_a_page_run_beside_a_fleet(page: Path, fleet: RunningFleet) -> None:
    """The blocks marked `run: fleet` of a page end with success, in order, in one shell."""
    blocks = [block for block in _marked("run: fleet") if block.page == page]
    _run(
        commands.session(blocks),
        ROADSTEAD_DATA=str(fleet.folder),
        KUBECONFIG=str(fleet.kubeconfig("hub")),
        HOME=str(fleet.folder),
    )
