"""Without the packages of an extra: one line that names it, and no traceback."""

import subprocess
import sys

import pytest

from tests.cli.commands import REPOSITORY, environment_without_ours

# What `pip install .` does not bring, as if it were not there.
BLOCKED = """
import importlib.abc, runpy, sys
from types import ModuleType

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {
            "aiohttp", "alembic", "fastapi", "jq", "kubernetes_asyncio", "numpy", "orjson", "pydantic",
            "pydantic_core", "sqlalchemy", "starlette", "structlog", "uvicorn", "uvloop", "yarl",
        }:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
module, *sys.argv[1:] = sys.argv[1:]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def _without_extras(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", BLOCKED, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=REPOSITORY,
        env=environment_without_ours(),
    )


@pytest.mark.parametrize(
    ("arguments", "program", "extra"),
    [
        (("roadstead.cli", "up"), "roadstead up", "all"),
        (("roadstead.cli", "demo", "--exit"), "roadstead demo", "all"),
        (
            ("roadstead.cli", "simulate", "cycle", "README.md", "--now", "2026-01-01T00:00:00Z"),
            "roadstead simulate",
            "hub",
        ),
        (("roadstead.cli", "kinds", "ls"), "roadstead kinds", "hub"),
        (("hub", "--data", "x"), "python -m hub", "hub"),
        (("agent", "--hub", "x"), "python -m agent", "agent"),
        (("agent.release", "--yes"), "python -m agent.release", "agent"),
        (("agent.earlier", "list"), "python -m agent.earlier", "agent"),
        (("shared.kubesim",), "python -m shared.kubesim", "sim"),
    ],
    ids=["up", "demo", "simulate", "kinds", "hub", "agent", "release", "earlier", "sim"],
)
def test_the_extra_is_named(arguments, program, extra):
    """One line says which extra to install, and the exit code is 2."""
    done = _without_extras(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {program} needs packages")
    assert f"pip install 'roadstead[{extra}]'" in line


def test_the_sdk_alone_lists_and_says_that_no_hub_answers():
    """What needs no extra works without: where no hub answers it says how to start one."""
    done = _without_extras("roadstead.cli", "--server", "http://127.0.0.1:9", "jobs", "ls")
    assert done.returncode == 5
    assert "Start a hub: roadstead up" in done.stderr
