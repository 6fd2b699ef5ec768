"""One story for every fault: 150 jobs, something breaks in mid-run, each job runs exactly once.

namesakes of some jobs, not ours, are in the members
submit 150 ──► a tenth has ended ──► FAULT ──► all 150 end
recorder: watches the members' API servers from before the first job until after the last
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from roadstead import RoadsteadError
from tests.e2e.recorder import Recorder
from tests.e2e.running import REPOSITORY, RunningFleet, a_job, equal_members, running_fleet, until

JOBS = 150  # the members hold 96 at a time: the fault meets running, offered and waiting jobs
INDEXES = 2
NAMESAKES = 10
MEMBERS = ("m1", "m2", "m3")
# A member that says nothing for 3 s gets no more work; one that says nothing for 4 s is unreachable.
IMPATIENT = {
    "ROADSTEAD_SCHEDULING_SUSPECT_AFTER_S": "3",
    "ROADSTEAD_SCHEDULING_UNREACHABLE_AFTER_S": "4",
}
Fault = Callable[[RunningFleet], None]
_LATE = "not within"  # how a sentence begins that says that something took too long


def run(
    folder: Path,
    fault: Fault,
    *,
    source: Path = REPOSITORY,
    within_s: float = 150,
    more: Sequence[str] = (),
):
    """Tell the story; every way in which a job did not run exactly once, as sentences."""
    names = {f"job-{i:03d}" for i in range(JOBS)}
    with running_fleet(
        folder, equal_members(3), env=_ACCEPTED | IMPATIENT, source=source, more=more
    ) as fleet:
        strangers = _plant_namesakes(fleet, sorted(names)[:NAMESAKES])
        kubeconfigs = {m: fleet.kubeconfig(m) for m in MEMBERS}
        with Recorder(kubeconfigs, "team-a", strangers) as recorder, fleet.client() as hub:
            manifests = [a_job(name, run_s=0.5, indexes=INDEXES) for name in sorted(names)]
            hub.submit_many(manifests)
            until(lambda: recorder.completed() > JOBS / 10, 60, "a tenth has ended")
            fault(fleet)
            late = []
            for done, what in (
                (lambda: recorder.completed() == JOBS, "all have ended on the members"),
                (lambda: _succeeded(fleet) == JOBS, "the hub knows that all have ended"),
            ):
                try:
                    until(done, within_s, what)
                except AssertionError as never:
                    late.append(str(never))
            return late + recorder.violations(names, INDEXES)


def proofs(sentences: list[str]) -> list[str]:
    """Those sentences that hold however long one waits: what is late may be missing for that alone."""
    late = any(each.startswith(_LATE) for each in sentences)
    missing = (_LATE, ": 0 Jobs", ": 0 times", "by index {}")
    return [s for s in sentences if not (late and any(text in s for text in missing))]


# The namesakes' namespace is the members' own.
_ACCEPTED = {"ROADSTEAD_AGENT_ACCEPTED_NAMESPACES": "team-a,default"}


def _plant_namesakes(fleet: RunningFleet, names: list[str]) -> set[str]:
    """Somebody else's suspended Jobs in m1, called as some of ours will be; their keys."""
    made = fleet.kubectl("create", "namespace", "team-a", cluster="m1")
    assert made.returncode == 0, made.stderr
    jobs = [a_job(name) for name in names]
    for job in jobs:
        job["spec"]["suspend"] = True
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": jobs})
    uids = ("-o", r"jsonpath={.metadata.uid}{'\n'}")
    shown = fleet.kubectl("create", "-f", "-", *uids, cluster="m1", stdin=listed)
    assert shown.returncode == 0, shown.stderr
    strangers = {f"m1/{uid}" for uid in shown.stdout.split()}
    assert len(strangers) == len(names)
    return strangers


def _succeeded(fleet: RunningFleet) -> int:
    try:
        with fleet.client() as hub:
            return hub.overview().jobs.get("Succeeded", 0)
    except (RoadsteadError, OSError):
        return 0
