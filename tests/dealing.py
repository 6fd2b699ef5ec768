"""How tests are dealt out to workers by `--alone`: for suites that mostly wait.

Every test goes alone to the next worker that is free, those that may take longest first, so that no
worker ends up alone with one. Tests that share a fleet which is dear to start stay together, in order.
"""

from typing import Any

import pytest

# Beginnings of node ids; what begins alike goes to one worker.
TOGETHER = (
    "tests/cli/test_up.py::",
    "tests/e2e/test_member_queue.py::",
    "tests/e2e/test_accepted_changes.py::",
    "tests/e2e/test_accepted_objects.py::",
    "tests/e2e/test_accepted_picks.py::",
    "tests/e2e/test_evictions.py::",
    "tests/e2e/test_joining.py::",
    "tests/e2e/test_verbs.py::",
    "tests/house/test_commands.py::test_the_blocks_of_a_page_run_beside_a_fleet[backwards",
    "tests/house/test_commands.py::test_the_blocks_of_a_page_run_beside_a_fleet[forwards",
    "tests/realkube/test_consent.py::",
    "tests/realkube/test_consent_reported.py::",
    "tests/realkube/test_gates.py::",
    "tests/realkube/test_hub_jobs.py::",
    "tests/realkube/test_kueue.py::",
    "tests/realkube/test_member_gate.py::",
    "tests/realkube/test_ownership.py::",
    "tests/realkube/test_plane.py::",
)


def group_of(item: pytest.Item) -> str:
    """The name of the group that one worker gets.

    It is a beginning in `TOGETHER`, else the name of the marker, else the file of a test that uses a fixture
    of its module, else the test itself.
    """
    if together := next((each for each in TOGETHER if item.nodeid.startswith(each)), None):
        return together
    if marker := item.get_closest_marker("together"):
        return str(marker.args[0])
    fixtures: Any = getattr(item, "_fixtureinfo", None)
    found = fixtures.name2fixturedefs.values() if fixtures else ()
    shares = any(each[-1].scope in {"class", "module", "package"} for each in found)
    return str(item.path) if shares else item.nodeid


def longest_first(items: list[pytest.Item]) -> None:
    """Sort by what each may take at most; those that may take as long stay in their order."""
    items.sort(key=_limit_s, reverse=True)


def _limit_s(item: pytest.Item) -> float:
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0]) if marker else 0.0
