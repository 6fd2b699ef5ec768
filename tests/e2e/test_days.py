"""A day at work of four people, as they would type it, on one fleet of real processes.

The scientist, who may submit in her namespace and nothing else; the batch administrator, who has the queues;
the platform engineer, who has the clusters; and whoever is on call when something breaks.
"""

import json
import os
import signal
import urllib.request
from collections.abc import Iterator

import pytest

from tests.e2e.people import NewMember, Person, lasting, logged_in
from tests.e2e.recorder import Recorder
from tests.e2e.running import RunningFleet, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(300)]
# So that whoever is on call sees a silent cluster after seconds, not after a minute.
IMPATIENT = {
    "ROADSTEAD_SCHEDULING_SUSPECT_AFTER_S": "6",
    "ROADSTEAD_SCHEDULING_UNREACHABLE_AFTER_S": "7",
}
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
"""
QUEUE = """
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: NAME}
spec:
  cohortName: science
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: plain
      resources:
      - {name: cpu, nominalQuota: 4}
      - {name: memory, nominalQuota: 64Gi}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: day, namespace: NAME}
spec: {clusterQueue: NAME}
"""
URGENT = """
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: urgent}
value: 1000
"""
SHOP = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {colour: blue}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy: {placementType: PickFixed, clusterNames: [m1]}
  strategy: {applyStrategy: {whenToApply: IfNotDrifted}}
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningFleet]:
    """Two members of two nodes with 16 cores each, every part a process of its own."""
    folder = tmp_path_factory.mktemp("days")
    with running_fleet(folder, equal_members(2, nodes=2), env=IMPATIENT) as running:
        yield running


@pytest.fixture(scope="module")
def pia(fleet: RunningFleet) -> Person:
    """The platform engineer: a cluster administrator."""
    with fleet.client() as first:
        first.bind_role("platform", "cluster-administrator", users=["pia"])
        return logged_in(fleet, "pia", first.issue_token("pia", "user").token, "default")


def employed(fleet: RunningFleet, pia: Person, name: str, *, group: str = "") -> Person:
    """Somebody new, with a token that the platform engineer has issued."""
    token, *_hints = pia.types(
        f"tokens issue {name} --role user {group and f'--group {group}'}"
    ).split()
    return logged_in(fleet, name, token, "physics")


@pytest.fixture(scope="module")
def iris(fleet: RunningFleet, pia: Person) -> Person:
    """The scientist: a submitter in namespace physics, as all of her group."""
    pia.types("access bind physics --role submitter --group physics -n physics")
    return employed(fleet, pia, "iris", group="physics")


@pytest.fixture(scope="module")
def noor(fleet: RunningFleet, pia: Person) -> Person:
    """Her colleague."""
    return employed(fleet, pia, "noor", group="physics")


@pytest.fixture(scope="module")
def bea(fleet: RunningFleet, pia: Person) -> Person:
    """The batch administrator of all namespaces."""
    pia.types("access bind batch --role batch-administrator --user bea")
    return employed(fleet, pia, "bea")


def test_a_scientists_day(iris: Person, fleet: RunningFleet) -> None:
    """She submits, sees, reads, mends and submits again, and never asks where a job ran."""
    iris.sees("whoami", "iris (user)", "groups  physics", "submitter in physics")
    iris.sees("jobs ls", "No jobs.")
    # She asks for more than any machine has: told at once, and again with numbers whenever she asks.
    iris.sees("run --name train --cpu 40 -- python train.py", "no member could ever hold it")
    iris.comes_to_see("jobs ls", "train", "Pending", "NoClusterFits")
    iris.sees("explain train", "train is Pending (NoClusterFits)", "misses 24 cpu on one node")
    iris.sees("jobs delete train", "its name is free")
    # Where it would go with less is told beforehand, of the very Job that she would submit.
    file = fleet.folder.parent / "train.yaml"
    file.write_text(iris.types("run --dry-run --name train --cpu 2 -- python train.py"))
    iris.sees(f"plan {file}", "physics/train", "m1", "m2")
    # With what there is it runs, wherever there is room.
    writing = lasting(300, log="epoch 1\nepoch 2")
    iris.types(f"run --name train --cpu 2 {writing} -- python train.py")
    iris.types("jobs wait train --for running --timeout 60s")
    iris.sees("explain train", "train is Running on m", "submitted by iris")
    iris.sees("jobs ls --mine", "train", "Running", "iris")
    iris.comes_to_see("logs train", "epoch 1")
    iris.sees("jobs pods train --events", "train-", "Running", "main")
    # It was the wrong one.
    iris.sees("jobs cancel train", "train Withdrawing")
    iris.types("jobs wait train --for ended --timeout 60s")


def test_a_scientists_afternoon(iris: Person, noor: Person) -> None:
    """What failed is looked into and done again; a sweep is run, and one that was a mistake stopped."""
    # A job fails: how, and its last words, are kept with it.
    failing = lasting(0.2, code=137, log="loading the data\nkilled")
    iris.types(f"run --name fit --cpu 2 {failing} -- python fit.py")
    iris.sees("jobs wait fit", "Failed", "roadstead explain physics/fit", "roadstead logs", code=1)
    iris.comes_to_see("jobs show fit", "PodFailed", "exited with code 137", "| killed")
    iris.sees("logs fit --tail 1", "killed")
    iris.sees("explain fit", "is Failed on m", "exited with code 137", "| killed")
    iris.sees("jobs ls --state failed", "fit", "BackoffLimitExceeded")
    # The same again fails the same way; with more memory it does not.
    iris.sees("jobs resubmit fit", "physics/fit-r2 submitted")
    iris.types("jobs wait fit-r2", code=1)
    more = lasting(1, log="loading the data\nfitted")
    iris.types(f"run --name fit-8 --memory 8Gi {more} -- python fit.py")
    iris.comes_to_see("logs fit-8 -f", "loading the data", "fitted")
    iris.types("jobs wait fit-8 --timeout 60s")
    # A sweep of eight, four at a time.
    iris.types(f"run --wait --name sweep --array 0-7%4 --cpu 1 {lasting(0.2)} -- python sweep.py")
    assert iris.types("jobs show sweep -o jsonpath='{.counts.succeeded}'").strip() == "8"
    # One job after another: the second waits for the first, and says so; the third has nothing to wait for.
    iris.types(f"run --name fetch --cpu 1 {lasting(300)} -- python fetch.py")
    iris.types(f"run --name learn --cpu 1 --after fetch {lasting(0.2)} -- python learn.py")
    iris.types(f"run --name tidy --cpu 1 --after fetch:any {lasting(0.2)} -- python tidy.py")
    iris.sees("jobs show learn", "Held", "WaitsForJobs", "fetch")
    iris.types("jobs cancel fetch")
    iris.types("jobs wait tidy --timeout 60s")
    iris.comes_to_see("explain learn", "DependencyNeverSatisfied")
    iris.types("jobs cancel learn")
    # What fails by chance is tried again by itself.
    chance = lasting(0.2, code=137)
    iris.types(f"run --name luck --cpu 1 --retry 2 --retry-on 137 {chance} -- python luck.py")
    iris.types("jobs wait luck --timeout 90s", code=1)
    iris.sees("jobs show luck", "Retrying", "exited with code 137")
    # A study that was a mistake: hers is stopped by its label, her colleague's of the same name is not.
    for who, name in ((iris, "a"), (iris, "b"), (noor, "c")):
        who.types(f"run --name study-{name} --label study=7 {lasting(300)} -- python study.py")
    iris.sees("jobs cancel -l study=7 --mine --dry-run", "study-a", "study-b", "2 jobs")
    iris.types("jobs cancel -l study=7 --mine --yes")
    iris.types("jobs wait study-a study-b --for ended --timeout 60s")
    iris.sees("jobs cancel study-c", "study-c is another's", code=4)
    assert "study-c" not in iris.types("jobs ls --mine")
    noor.sees("jobs ls --mine --state placed,offered,applied,running", "study-c")
    noor.types("jobs cancel study-c")
    # In the evening: what came of today, and what is on now.
    done = iris.types("jobs ls --mine --since 1h --state succeeded -o name").split()
    assert done == ["physics/tidy", "physics/sweep", "physics/fit-8"]
    iris.sees("top --once", "queues", "Nothing waits in namespace physics.")


def test_a_batch_administrators_day(iris: Person, bea: Person, fleet: RunningFleet) -> None:
    """She declares queues that lend to each other, sees who waits and why, and keeps things moving."""
    file = fleet.folder.parent / "queues.yaml"
    kinds = (QUEUES, QUEUE.replace("NAME", "physics"), QUEUE.replace("NAME", "chem"), URGENT)
    file.write_text("".join(kinds))
    bea.sees(f"diff -f {file}", "+  cohortName: science", code=1)
    bea.sees(f"apply -f {file}", "ClusterQueue physics created", "LocalQueue chem/day created")
    bea.types(f"diff -f {file}")
    # Physics fills its four cores and the four that chemistry does not use; the third job waits.
    for name in ("one", "two", "three"):
        iris.types(f"run -q day --name {name} --cpu 4 {lasting(300)} -- python q.py")
    iris.types("jobs wait one two --for running --timeout 60s")
    bea.sees("queues show physics", "cpu       plain   8     4         4")
    bea.comes_to_see("queues pending physics", "1         physics/three")
    bea.sees("explain three", "WaitingForQuota", "8 of 8 used in cohort science")
    iris.sees("explain three", "position 1 of 1 in queue physics", "4 more needed")
    iris.sees("queues pending physics/day", "physics/three")
    # Something urgent goes before it; and there is room once she gives the queue more.
    iris.types(f"run -q day --name now --cpu 4 --priority urgent {lasting(300)} -- python q.py")
    bea.comes_to_see("queues pending physics", "1         physics/now", "2         physics/three")
    bea.sees("jobs priority now -", "physics/now")
    bea.comes_to_see("queues pending physics", "1         physics/three", "2         physics/now")
    bea.sees("jobs priority now urgent", "physics/now")
    bea.comes_to_see("queues pending physics", "1         physics/now", "2         physics/three")
    bea.sees("queues set physics --nominal cpu=8", "is set")
    iris.types("jobs wait now --for running --timeout 60s")
    # What holds up the others is held, and goes on later.
    bea.types("jobs hold one")
    iris.comes_to_see("jobs show one", "Held", "held by bea")
    iris.types("jobs wait three --for running --timeout 60s")
    # Maintenance: nothing more is let in, and what is in is taken back; then all goes on.
    bea.sees("queues stop --drain physics", "is stopped")
    iris.comes_to_see("jobs ls -q day --state pending -o name", "two", "three", "now")
    iris.sees("explain three", "(QueueStopped)", "roadstead queues resume physics")
    bea.sees("queues ls", "physics", "False")
    bea.sees("queues resume physics", "admits again")
    iris.types("jobs wait two now three --for running --timeout 60s")
    bea.types("jobs release one")
    bea.comes_to_see("queues show physics", "physics/day  1        3")
    # Who has what, at the end of the day; and everything is cleared away.
    bea.sees("jobs ls -n physics --user iris --state running --sort name", "now", "three", "two")
    bea.sees("jobs cancel -n physics -q day --yes", "physics/one", "physics/now")
    bea.types("jobs wait one two three now --for ended --timeout 60s")
    # The clusters are not hers, and who is told which role it takes.
    bea.sees("clusters cordon m1", "it takes the role cluster-administrator", code=4)


def test_a_platform_engineers_day(fleet: RunningFleet, pia: Person) -> None:
    """A cluster comes, gets work, is emptied and goes; the job that ran there goes on elsewhere."""
    west = NewMember(fleet.folder.parent / "west", "west")
    try:
        west.join(fleet.server, pia.sees("clusters add west --label zone=w", "joins one agent"))
        pia.comes_to_see("clusters show west", "west  Ready")
        # The first job goes there, for nothing else takes any.
        pia.sees("clusters cordon m1 m2", "m1 cordoned", "m2 cordoned")
        pia.types(f"run --name pilot {lasting(300)} -- true")
        pia.types("jobs wait pilot --for running --timeout 60s")
        pia.sees("explain pilot", "Running on west")
        pia.types("clusters uncordon m1 m2")
        # And starts elsewhere when it is emptied, which its dry run told.
        pia.sees("clusters drain west --dry-run", "1 job(s) would leave")
        pia.sees("clusters rm west", "ClusterNotEmpty", code=3)
        pia.types("clusters drain west")
        pia.comes_to_see("explain pilot", "Running on m", "ClusterDrained")
        pia.types("clusters rm west")
        assert west.agents_end() == 1
        assert "west" not in pia.types("clusters ls")
        pia.sees("audit ls --user pia --verb delete", "MemberCluster/west")
        pia.types("jobs cancel pilot")
    finally:
        west.close()


def test_a_platform_engineers_afternoon(fleet: RunningFleet, pia: Person) -> None:
    """What was changed by hand in a member is seen, kept and replaced; people come and go."""
    # A ConfigMap that she placed is changed: she sees it with both values, and keeps it.
    file = fleet.folder.parent / "shop.yaml"
    file.write_text(SHOP)
    pia.types(f"apply -f {file}")
    pia.comes_to_see("placements show shop", "Available")
    patch = json.dumps({"data": {"colour": "red"}})
    edit = ("-n", "shop", "patch", "cm/settings", "-p", patch)
    until(lambda: fleet.kubectl(*edit, cluster="m1").returncode == 0, 60, "it is there to edit")
    pia.comes_to_see("drift ls", "/data/colour", '"blue"', '"red"')
    pia.types("drift accept m1 ConfigMap/settings -n shop")
    pia.comes_to_see("get configmap settings -n shop -o yaml", "colour: red")
    pia.comes_to_see("drift ls", "No drift")
    # Then upgrades it, having seen what would change.
    file.write_text(SHOP.replace("blue", "green"))
    pia.sees(f"diff -f {file}", "-  colour: red", "+  colour: green", code=1)
    pia.types(f"apply -f {file}")
    pia.comes_to_see("placements history shop", "2")
    # Somebody comes, gets a role in one namespace, and leaves.
    vera = employed(fleet, pia, "vera")
    vera.sees("jobs ls", "it takes the role viewer", code=4)
    pia.sees("access bind vera --role viewer --user vera -n physics", "vera is viewer in physics")
    vera.comes_to_see("auth can-i get jobs -n physics", "yes: as viewer")
    vera.sees("auth can-i submit jobs -n physics", "no", code=1)
    pia.types("access unbind vera")
    pia.types("tokens revoke vera --role user")
    vera.comes_to_see("whoami", "error:", within_s=30)
    # All of it can be read by whoever asks later.
    for verb, what in (
        *(("bind", "vera"), ("unbind", "vera"), ("issue-token", "vera")),
        ("revoke-token", "vera"),
    ):
        pia.sees(f"audit ls --user pia --verb {verb}", what)


def test_a_night_on_call(fleet: RunningFleet, pia: Person) -> None:
    """An agent hangs and is killed, the hub is killed: it is seen where, jobs wait, and each ran once."""
    names = {f"batch-{i}" for i in range(6)}
    kubeconfigs = {m: fleet.kubeconfig(m) for m in ("m1", "m2")}
    with Recorder(kubeconfigs, "night") as recorder:
        for name in sorted(names):
            pia.types(f"run -n night --array 0-1 --cpu 1 --name {name} {lasting(9)} -- true")
        on_m1 = "--annotation roadstead.dev/clusters=m1"
        pia.types(f"run --name here {on_m1} {lasting(300)} -- true")
        pia.types("jobs wait here --for running --timeout 60s")
        pia.comes_to_see("admin doctor" + database(fleet), "ok  hub")
        os.kill(fleet.pid("agent-m1"), signal.SIGSTOP)
        # Which cluster, since when, which jobs, and what may be done about them.
        pia.comes_to_see("top --once", "1 of 2 clusters ready", "m1", "Suspect", "Unknown")
        pia.sees("clusters ls", "m1", "Suspect", "m2", "Ready")
        pia.sees("clusters show m1", "no contact with its agent", "start nowhere else")
        pia.comes_to_see("jobs ls --state unknown", "here", "ClusterUnreachable")
        pia.sees("explain here", "m1 has been silent since", "clusters fence m1 --destroyed")
        pia.sees("logs here", "whose agent is silent", code=5)
        pia.sees("admin doctor" + database(fleet), "1 clusters Suspect", "jobs Unknown", code=1)
        pia.sees("events --limit 20", "ClusterUnreachable")
        assert answers(fleet, "/readyz"), "the hub itself is well"
        fleet.kill("agent-m1")
        pia.comes_to_see("explain here", "here is Running on m1")
        # The hub goes in the middle of it; whoever asks is told, and need do nothing.
        os.kill(fleet.pid("hub"), signal.SIGKILL)
        pia.sees("jobs ls", "no hub answers", code=5)
        until(lambda: answers(fleet, "/readyz"), 60, "it is started again")
        pia.comes_to_see("clusters ls", "m1    Ready", "m2    Ready")
        pia.types(f"jobs wait {' '.join(f'night/{n}' for n in sorted(names))} --timeout 90s")
        until(lambda: recorder.completed() == len(names), 60, "the members have said so too")
        assert recorder.violations(names, 2) == []
    # What it was, the morning after: in the job's history, in the hub's log, and nothing that anybody did.
    pia.sees("jobs show here", "ClusterUnreachable", "Running")
    log = (fleet.folder / "logs" / "hub.log").read_text()
    assert "event=ClusterUnreachable" in log
    audit = pia.types("audit ls --limit 100 -n night -o json")
    assert {each["verb"] for each in json.loads(audit)["items"]} == {"submit"}
    pia.comes_to_see("admin doctor" + database(fleet), "ok  hub")
    pia.types("jobs cancel here")


def database(fleet: RunningFleet) -> str:
    return f" --database sqlite:///{fleet.folder}/hub/hub.db"


def answers(fleet: RunningFleet, path: str) -> bool:
    try:
        with urllib.request.urlopen(fleet.server + path, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False
