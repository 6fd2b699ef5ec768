"""How tests are dealt out to workers under `-n N --dist loadgroup`: for suites that mostly wait.

Every test goes alone to the next worker that is free, those that may take longest first, so that no
worker ends up alone with one. Tests that share a fleet which is dear to start stay together, in order.
"""

import pytest
from xdist.scheduler import LoadScopeScheduling

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


class Dealing(LoadScopeScheduling):  # type: ignore[misc]  # xdist's base is untyped
    """One test at a time, save those that stay together: by their beginning, or by `xdist_group`."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.rfind("@") > nodeid.rfind("]"):  # as xdist writes the group of a marker
            return nodeid.rpartition("@")[2]
        return next((group for group in TOGETHER if nodeid.startswith(group)), nodeid)


def longest_first(items: list[pytest.Item]) -> None:
    """Sort by what each may take at most; those that may take as long stay in their order."""
    items.sort(key=_limit_s, reverse=True)


def _limit_s(item: pytest.Item) -> float:
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0]) if marker else 0.0
