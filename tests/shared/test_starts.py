"""Programs load their modules with the cycle collector off: walking them is a third of a start."""

import subprocess
import sys

import pytest

from tests.house.sources import REPOSITORY


@pytest.mark.parametrize("program", ["hub", "agent", "shared.kubesim"])
def test_the_collector_runs_once_the_modules_are_loaded(program):
    """No full collection runs while a program loads its modules; the collector is on afterwards."""
    asked = (
        f"import gc, {program}.__main__; print(gc.isenabled(), gc.get_stats()[2]['collections'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert done.stdout.split() == ["True", "0"]
