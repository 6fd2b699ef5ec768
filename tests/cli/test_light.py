"""The command stays light: what it loads before it answers (timed by bench/cli.py)."""

import json
import subprocess
import sys

import pytest

from tests.cli.commands import REPOSITORY, environment_without_ours
from tests.cli.scripted import answering, items

SERVERS = {
    "asyncio", "uvloop", "uvicorn", "structlog", "numpy", "yaml", "jinja2",
    "fastapi", "starlette", "sqlalchemy", "alembic", "kubernetes_asyncio", "aiohttp", "pydantic",
    "hub", "agent", "shared",
}  # fmt: skip
OF_REQUESTS = {"httpx", "tenacity"}
OF_TERMINALS = {"rich"}
HEAVY = SERVERS | OF_REQUESTS | OF_TERMINALS
REPORT = """
import json, sys
from roadstead.cli.root import main
try:
    main(sys.argv[1:])
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(*arguments: str) -> set[str]:
    """The modules that a run of the command has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=REPOSITORY,
        env=environment_without_ours(),
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("jobs", "--help"), ("up", "--help"), ("demo", "--help")],
    ids=" ".join,
)
def test_help_loads_no_servers(arguments):
    """Help loads neither HTTP, tables and colours, nor asyncio, nor any of the hub's libraries."""
    assert loaded(*arguments) & HEAVY == set()


def test_help_of_the_command_loads_no_http():
    """`roadstead --help` loads no verb, and nothing that speaks HTTP."""
    found = loaded("--help")
    assert found & {"http.client", "ssl", "roadstead.client", "roadstead.cli.jobs"} == set()


@pytest.mark.parametrize(
    "arguments", [("jobs", "ls"), ("jobs", "ls", "-o", "json"), ("events",)], ids=" ".join
)
def test_a_request_loads_no_servers(arguments):
    """A request loads what speaks HTTP and nothing heavier; in a pipe no tables and colours either."""
    with answering(items()) as script:
        assert loaded("--server", script.address, *arguments) & HEAVY == OF_REQUESTS


def test_the_sdk_is_as_light():
    """Importing Client loads no HTTP yet: the first client that is made does."""
    code = "import sys, roadstead; roadstead.Client; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert set(done.stdout.split()) & HEAVY == set()
