"""What the agent makes of a hub's answers."""

import math

import pytest

from agent.hub.client import HubError, asked_wait


@pytest.mark.parametrize(
    ("asked_s", "waits_s"),
    [
        (7.0, 7.0),
        (0.2, 0.2),
        (86_400.0, 60.0),
        (math.inf, 60.0),
        (math.nan, None),
        (0.0, None),
        (-5.0, None),
        (None, None),
    ],
)
def test_a_wait_that_is_asked_for_is_kept_within_reason(asked_s, waits_s):
    """Neither a tight loop nor an agent that sleeps for a day: otherwise the wait is drawn."""
    assert asked_wait(HubError(503, "", "busy", asked_s)) == waits_s
