"""A fleet of an earlier release becomes one of this release, part by part, while its jobs run on."""

from pathlib import Path

import pytest

from tests.e2e.releases import Parts, lacks, tree_of
from tests.e2e.running import RunningFleet, equal_members, running_fleet, until
from tests.e2e.upgrading import all_are, end_now, started, submit, works_on

EARLIER = "4fc5d17"  # the release of which the data is
SCHEMA = "2026_11_21_evictions"  # that it needs
LONG_S = 1200  # longer than the whole upgrade takes
LONG = 6

pytestmark = [
    pytest.mark.slow,
    pytest.mark.kubectl,
    pytest.mark.timeout(500),
    pytest.mark.skipif(lacks(EARLIER), reason=f"no commit {EARLIER} in this clone"),
]


def is_held_back(fleet: RunningFleet, member: str) -> bool:
    return "upgrade it" in fleet.cli("clusters", "show", member, "-o", "json").stdout


def why_it_waits(fleet: RunningFleet, name: str) -> str:
    return fleet.cli("explain", f"team-a/{name}").stdout


def test_a_fleet_is_upgraded_while_its_jobs_run(tmp_path: Path) -> None:
    """Hub, then agents, one by one; the earlier hub refuses what it can not read; no job starts anew."""
    long = [f"long-{number}" for number in range(LONG)]
    with (
        tree_of(EARLIER, tmp_path) as earlier,
        running_fleet(tmp_path / "fleet", equal_members(2), source=earlier) as fleet,
    ):
        submit(fleet, long, LONG_S)
        all_are(fleet, long, "Running")
        before = {name: started(fleet)[name] for name in long}
        with Parts(fleet) as parts:
            parts.replace("hub")
            all_are(fleet, long, "Running")
            until(lambda: is_held_back(fleet, "m1"), 60, "m1 is held back")
            until(lambda: is_held_back(fleet, "m2"), 60, "m2 is held back")
            submit(fleet, ["waits"], 0.5)
            all_are(fleet, ["waits"], "Pending")
            until(lambda: "upgrade it" in why_it_waits(fleet, "waits"), 30, "it is told why")
            assert {name: started(fleet)[name] for name in long} == before
            # Namespaces that agents of that release created carry no id: in mode Report they go on.
            parts.replace("agent-m1", ROADSTEAD_AGENT_CONSENT="Report")
            works_on(fleet, "mixed-agents", long, before)
            all_are(fleet, ["waits"], "Succeeded")
            parts.replace("agent-m2", ROADSTEAD_AGENT_CONSENT="Report")
            works_on(fleet, "new-agents", long, before)
            parts.stop("hub")
            code, why = parts.refusal("hub", earlier)
            assert code != 0
            assert "revision" in why, why
            parts.start("hub")
            works_on(fleet, "again", long, before)
            end_now(fleet)
            all_are(fleet, long, "Succeeded")
            assert {name: started(fleet)[name] for name in long} == before
