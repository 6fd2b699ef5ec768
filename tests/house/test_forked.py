"""Tests in forks of the process that has collected them."""

import subprocess
import sys
from pathlib import Path

from tests.house import sources

TESTS = """
import os
import pytest

@pytest.fixture(scope="session")
def shared():
    yield os.getpid()
    print("taken down", file=open("taken-down", "a"))

def test_passes(shared): assert shared == os.getpid()
def test_fails(shared): print("what it said"); assert 1 == 2
def test_skips(): pytest.skip("for a reason")
def test_ends_its_worker(): os._exit(3)
def test_follows(shared): assert shared == os.getpid()
"""


def ran(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """Those tests by two workers."""
    (folder / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:schemathesis", "-p", "tests.conftest"]
    return subprocess.run(
        [*command, f"--rootdir={folder}", "--forks=2", *options, str(folder / "test_some.py")],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
        env={"PYTHONPATH": str(sources.REPOSITORY)},
    )  # fmt: skip


def test_every_test_has_one_outcome_though_a_worker_ends(tmp_path: Path) -> None:
    """The test that ended its worker has failed; another worker runs the tests after it."""
    done = ran(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 failed, 2 passed, 1 skipped" in done.stdout
    assert "what it said" in done.stdout
    assert "ended with 3 in " in done.stdout


def test_fixtures_of_the_session_are_taken_down(tmp_path: Path) -> None:
    """Each worker has its own, and takes it down at the end, where another has failed too."""
    done = ran(tmp_path, "--alone", "-k", "passes or fails or follows")
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert 1 <= len((tmp_path / "taken-down").read_text().splitlines()) <= 2
