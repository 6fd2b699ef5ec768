"""A child that ends with its parent."""

import os
import subprocess
import sys

import pytest

from shared.parent import PARENT

CHILD = "from shared.parent import die_with_parent; die_with_parent(); print('lives')"


@pytest.mark.parametrize(("parent", "printed"), [(os.getpid, "lives\n"), (os.getppid, "")])
def test_a_child_whose_parent_has_ended_ends_at_once(parent, printed):
    """However early that was: the parent it was told of is no longer its parent."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        env={**os.environ, PARENT: str(parent())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, printed), done.stderr
