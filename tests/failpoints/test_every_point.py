"""Every failpoint in the sources is one that a test kills at."""

import re

from tests.e2e.running import REPOSITORY
from tests.failpoints import points

_NAMED = re.compile(r'"([AH]\d\d)"')


def test_every_failpoint_is_killed_at():
    """One that no test comes to would be a promise that nobody has looked at."""
    found: set[str] = set()
    for folder in ("hub", "agent", "shared"):
        for path in (REPOSITORY / folder).rglob("*.py"):
            for line in path.read_text().splitlines():
                if line.strip().startswith("failpoint(") or ": failpoint(" in line:
                    found |= set(_NAMED.findall(line))
    assert found == points.EVERY
