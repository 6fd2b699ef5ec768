"""The tutorial typed from its first line to its last, on a fleet that it starts itself."""

import os
from pathlib import Path
from typing import Final

import pytest

from tests.cli.commands import environment_without_ours
from tests.e2e.running import REPOSITORY, until
from tests.house import commands, sources
from tests.realkube.shell import Shell

PAGE: Final = Path("docs/tutorial/first-fleet.md")
UP: Final = ".venv/bin/roadstead up --data /tmp/fleet"
# Lines that are not typed, and why.
NOT_TYPED: Final = {"make setup": "what runs the tests was made by it"}

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(400)]


def test_the_tutorial_is_typed_from_nothing_to_its_end(tmp_path: Path) -> None:
    """Every line ends well as it is printed; only the folder and the port are the test's own."""
    begins, *others = [each.script for each in commands.blocks_of(PAGE, sources.text_of(PAGE))]
    assert begins.splitlines() == [*NOT_TYPED, UP]
    fleet = tmp_path / "fleet"
    env = {**environment_without_ours(), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    with Shell(REPOSITORY, env, tmp_path) as first:
        log = tmp_path / "up.log"
        up = UP.replace("/tmp/fleet", str(fleet))
        first.type(f"{up} --listen 127.0.0.1:0 > {log} 2>&1 &\nUP=$!")
        until(lambda: "ready http://" in log.read_text(), 120, "it prints that it is ready")
        with Shell(REPOSITORY, env, tmp_path / "second") as second:
            for script in others:
                second.type(script.replace("/tmp/fleet", str(fleet)))
        first.type("kill -INT $UP\nwait $UP")
