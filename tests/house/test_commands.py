"""What the documentation tells people to type works."""

import contextlib
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import stem
from tests.cli.commands import environment_without_ours
from tests.e2e.running import RunningFleet, running_fleet
from tests.house import commands, ends, sources
from tests.realkube.plane import NO_COLLECTION

BLOCKS = commands.blocks()
_WITHIN_S = 500  # of a page: `timeout` ends it with 124


def _marked(mark: str) -> list[commands.Block]:
    return [block for block in BLOCKS if block.mark == mark]


def _run(script: str, *first: Path, **environment: str) -> None:
    """`first`: folders of programs that come before those of the checkout."""
    for name in commands.programs(script):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not on PATH")
    path = ":".join(map(str, (*first, sources.REPOSITORY / ".venv/bin", os.environ["PATH"])))
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run(
            ["timeout", f"{_WITHIN_S}", "bash", "-euo", "pipefail", "-c", script],
            cwd=sources.REPOSITORY,
            env={**environment_without_ours(), **NO_COLLECTION, "PATH": path, **environment},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            check=False,
        )
        said.seek(0)
        assert done.returncode == 0, f"{script}\nexit code {done.returncode}\n{said.read()}"


def _forked(folder: Path) -> None:
    """Put programs into `folder` that run as forks; `python` too, where it is typed for a part."""
    stem.put_on_path(folder, "roadstead", "roadstead.cli.root")
    cases = []
    for part, module in (
        ("agent", "agent.__main__"),
        ("shared.kubesim", "shared.kubesim.__main__"),
    ):
        stem.put_on_path(folder, part, module)
        cases.append(f'"-m {part}") shift 2; exec {folder / part} "$@" ;;')
    lines = ["#!/bin/sh", 'case "$1 $2" in', *cases, "esac", f'exec {sys.executable} "$@"']
    program = folder / "python"
    program.write_text("\n".join(lines) + "\n")
    program.chmod(0o755)


def _pages() -> list[Path]:
    """The pages with blocks for a fleet, as the documentation's index lists them."""
    index = Path("docs/index.md")
    listed = [
        Path(os.path.normpath(index.parent / link))
        for link in re.findall(r"\]\(([^)#]+\.md)", sources.text_of(index))
    ]
    wanted = {block.page for block in _marked("run: fleet")}
    return [page for page in dict.fromkeys(listed) if page in wanted]


def _ways() -> list[object]:
    """Each page in each order; a worker gets an order whole (`tests.dealing`). `make soak` goes backwards."""
    forwards, backwards = _pages(), _pages()[::-1]
    return [
        *(pytest.param("forwards", page, id=f"forwards-{page}") for page in forwards),
        *(
            pytest.param("backwards", page, id=f"backwards-{page}", marks=pytest.mark.soak)
            for page in backwards
        ),
    ]


@pytest.fixture(scope="module")
def fleets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], RunningFleet]]:
    """One embedded fleet of three members for each way through the pages."""
    with contextlib.ExitStack() as stack:

        @functools.cache
        def started(way: str) -> RunningFleet:
            return stack.enter_context(running_fleet(tmp_path_factory.mktemp(way), 3))

        yield started


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
    known = ("run", "run: fleet", "run: clusters")
    unmarked = [
        str(b) for b in BLOCKS if b.mark not in known and not b.mark.startswith("not run: ")
    ]
    assert unmarked == []


def test_pages_for_real_clusters_are_typed_there() -> None:
    """No other page has blocks that only `tests/realkube/test_install.py` types."""
    assert {str(block.page) for block in _marked("run: clusters")} == {"docs/howto/install.md"}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("block", _marked("run"), ids=str)
def test_a_command_block_runs(block: commands.Block, tmp_path: Path) -> None:
    """A block marked `run` ends with success from a fresh checkout."""
    _forked(tmp_path)
    # `make demo` starts the program on the path, too.
    _run(block.script, tmp_path, HOME=str(tmp_path), MAKEFLAGS=f"BIN={tmp_path}")


def test_every_page_is_listed_and_has_an_end() -> None:
    """Each page that runs beside a fleet stands in the index and says where it leaves the fleet."""
    assert {str(block.page) for block in _marked("run: fleet")} == {str(p) for p in _pages()}
    assert set(ends.ENDS) == {str(page) for page in _pages()}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("way", "page"), _ways())
def test_the_blocks_of_a_page_run_beside_a_fleet(
    way: str, page: Path, fleets: Callable[[str], RunningFleet], tmp_path: Path
) -> None:
    """The blocks marked `run: fleet` of a page end with success and leave the fleet as it says.

    All pages one after the other on one fleet: as they are listed, and from the last to the first.
    """
    fleet = fleets(way)
    blocks = [block for block in _marked("run: fleet") if block.page == page]
    _forked(tmp_path)
    _run(
        commands.session(blocks),
        tmp_path,
        ROADSTEAD_DATA=str(fleet.folder),
        KUBECONFIG=str(fleet.kubeconfig("hub")),
        HOME=str(fleet.folder),
    )
    with ends.Reader(fleet) as reader:
        ends.ENDS[str(page)](reader)
        reader.tidy()
