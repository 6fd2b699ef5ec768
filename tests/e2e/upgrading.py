"""A fleet whose parts become another release's: what its jobs are, and that it goes on working."""

import contextlib
import json
from typing import Any

from roadstead import RoadsteadError
from shared import labels
from tests.e2e.running import RunningFleet, a_job, until

SHORT = 4
_TRY_AGAIN = "the store does not answer; try again"  # 503: nothing was kept


def started(fleet: RunningFleet) -> dict[str, list[tuple[str, str, Any]]]:
    """By name, each Job that a member holds: (member, its uid there, when it started)."""
    found: dict[str, list[tuple[str, str, Any]]] = {}
    for member in ("m1", "m2"):
        for job in fleet.read("/apis/batch/v1/namespaces/team-a/jobs", member)["items"]:
            at = job.get("status", {}).get("startTime")
            found.setdefault(job["metadata"]["name"], []).append(
                (member, job["metadata"]["uid"], at)
            )
    return found


def states(fleet: RunningFleet) -> dict[str, str]:
    """What the hub says of each job, "" while it does not answer."""
    with contextlib.suppress(RoadsteadError), fleet.client() as hub:
        return {job.name: job.state for job in hub.jobs(namespace="team-a")}
    return {}


def submit(fleet: RunningFleet, names: list[str], run_s: float) -> None:
    """Apply jobs; an earlier release may say once that a migration has ended its connection."""
    manifests = "\n---\n".join(json.dumps(a_job(name, run_s=run_s)) for name in names)

    def apply() -> bool:
        done = fleet.cli("apply", "-f", "-", stdin=manifests)
        assert not done.returncode or _TRY_AGAIN in done.stderr, done.stderr
        return not done.returncode

    until(apply, 30, f"{names} are applied")


def all_are(fleet: RunningFleet, names: list[str], state: str, within_s: float = 90) -> None:
    try:
        until(lambda: {states(fleet).get(name) for name in names} == {state}, within_s, state)
    except AssertionError as late:
        told = [fleet.cli("clusters", "show", member).stdout for member in ("m1", "m2")]
        told += [fleet.cli("explain", f"team-a/{names[0]}").stdout]
        raise AssertionError("\n".join([str(states(fleet)), *told, fleet.logs()])) from late


def end_now(fleet: RunningFleet) -> None:
    """Let all pods that run end well. A simulated node looks at its pods again when the node changes."""
    for member in ("m1", "m2"):
        for what in (f"pods -n team-a {labels.SIM_RUN_SECONDS}=0", "nodes example.com/looked=yes"):
            told = ("annotate", *what.split(), "--all", "--overwrite")
            done = fleet.kubectl(*told, cluster=member)
            assert done.returncode == 0, done.stderr


def works_on(fleet: RunningFleet, stage: str, long: list[str], before: Any) -> None:
    """New jobs run to their end, and what ran before runs on as the same Jobs."""
    short = [f"{stage}-{number}" for number in range(SHORT)]
    all_are(fleet, long, "Running")
    submit(fleet, short, 0.5)
    all_are(fleet, short, "Succeeded")
    now = started(fleet)
    assert {name: now[name] for name in long} == before, stage
    assert all(len(now[name]) == 1 for name in short), stage
