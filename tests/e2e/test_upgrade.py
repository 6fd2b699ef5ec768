"""A fleet of an earlier release becomes one of this release, part by part, while its jobs run on."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.releases import Parts, lacks, tree_of
from tests.e2e.running import RunningFleet, a_job, equal_members, running_fleet, until

EARLIER = "4fc5d17"  # the release of which the data is
SCHEMA = "2026_11_21_evictions"  # that it needs
LONG_S = 150  # longer than the whole upgrade takes
LONG, SHORT = 6, 4

pytestmark = [
    pytest.mark.slow,
    pytest.mark.kubectl,
    pytest.mark.timeout(500),
    pytest.mark.skipif(lacks(EARLIER), reason=f"no commit {EARLIER} in this clone"),
]


def started(fleet: RunningFleet) -> dict[str, list[tuple[str, str, Any]]]:
    """By name, each Job that a member holds: (member, its uid there, when it started)."""
    found: dict[str, list[tuple[str, str, Any]]] = {}
    for member in ("m1", "m2"):
        done = fleet.kubectl("get", "jobs", "-n", "team-a", "-o", "json", cluster=member)
        for job in json.loads(done.stdout)["items"]:
            at = job.get("status", {}).get("startTime")
            found.setdefault(job["metadata"]["name"], []).append(
                (member, job["metadata"]["uid"], at)
            )
    return found


def states(fleet: RunningFleet) -> dict[str, str]:
    """What the hub says of each job, "" while it does not answer."""
    done = fleet.cli("jobs", "ls", "-n", "team-a", "-o", "json")
    if done.returncode:
        return {}
    return {job["name"]: job["state"] for job in json.loads(done.stdout)["items"]}


def is_held_back(fleet: RunningFleet, member: str) -> bool:
    return "upgrade it" in fleet.cli("clusters", "show", member, "-o", "json").stdout


def why_it_waits(fleet: RunningFleet, name: str) -> str:
    return fleet.cli("explain", f"team-a/{name}").stdout


def submit(fleet: RunningFleet, names: list[str], run_s: float) -> None:
    manifests = "\n---\n".join(json.dumps(a_job(name, run_s=run_s)) for name in names)
    done = fleet.cli("apply", "-f", "-", stdin=manifests)
    assert done.returncode == 0, done.stderr


def all_are(fleet: RunningFleet, names: list[str], state: str, within_s: float = 90) -> None:
    try:
        until(lambda: {states(fleet).get(name) for name in names} == {state}, within_s, state)
    except AssertionError as late:
        told = [fleet.cli("clusters", "show", member).stdout for member in ("m1", "m2")]
        told += [fleet.cli("explain", f"team-a/{names[0]}").stdout]
        raise AssertionError("\n".join([str(states(fleet)), *told, fleet.logs()])) from late


def works_on(fleet: RunningFleet, stage: str, long: list[str], before: Any) -> None:
    """New jobs run to their end, and what ran before runs on as the same Jobs."""
    short = [f"{stage}-{number}" for number in range(SHORT)]
    all_are(fleet, long, "Running")
    submit(fleet, short, 0.5)
    all_are(fleet, short, "Succeeded")
    now = started(fleet)
    assert {name: now[name] for name in long} == before, stage
    assert all(len(now[name]) == 1 for name in short), stage


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
            parts.replace("agent-m1")
            works_on(fleet, "mixed-agents", long, before)
            all_are(fleet, ["waits"], "Succeeded")
            parts.replace("agent-m2")
            works_on(fleet, "new-agents", long, before)
            parts.stop("hub")
            code, why = parts.refusal("hub", earlier)
            assert code != 0
            assert "revision" in why, why
            parts.start("hub")
            works_on(fleet, "again", long, before)
            all_are(fleet, long, "Succeeded", LONG_S + 60)
            assert {name: started(fleet)[name] for name in long} == before
