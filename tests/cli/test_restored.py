"""`roadstead restored`: what has happened, and an exit code that a script can go by."""

import pytest

from tests.cli.commands import run
from tests.cli.scripted import Answer, answering

STOPPED = {"type": "HubRolledBack", "status": "True", "message": "this hub's store is older"}
LEFT = {"type": "LeftoversFound", "status": "True", "message": "north holds 1 Job"}


@pytest.mark.parametrize(
    ("conditions", "code", "said"),
    [
        ([], 0, "The store is as the hub left it.\n"),
        ([LEFT], 0, "The store is as the hub left it.\n"),
        ([STOPPED, LEFT], 1, "this hub's store is older\n"),
    ],
)
def test_while_the_hub_stands_still_the_exit_code_says_so(conditions, code, said):
    """0 once nothing hinders dispatch any more."""
    with answering(Answer({"conditions": conditions})) as script:
        done = run("--server", script.address, "restored")
    assert (done.code, done.out) == (code, said)
