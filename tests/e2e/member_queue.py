"""Stories of a member whose own queue manager starts what it is given, told from outside.

Told of a simulated member (test_member_queue.py) and of a real control plane with Kueue itself
(tests/realkube/test_kueue.py): the queue manager of the one is held to the other.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from roadstead import Client
from shared.labels import NO_QUEUE
from tests.e2e.recorder import Recorder
from tests.e2e.running import REPOSITORY, until

MEMBER: Final = "north"
NAMESPACE: Final = "compute-jobs"
LOCAL_QUEUE: Final = "local-queue"
CLUSTER_QUEUE: Final = "cluster-queue"
FLAVOR: Final = "default-flavor"
NODE_LABELS: Final = {
    "kubernetes.io/arch": "amd64"
}  # of the nodes of the flavor, injected on admission
INDEXES: Final = 2
PATIENCE_S: Final = 60
Json = dict[str, Any]
Kubectl = Callable[..., str]  # arguments and `stdin`; what it prints. Raises where it is refused

# Every way in which a placement can say how it applies. `ReportDiff` applies nothing and is told apart.
STRATEGIES: Final[dict[str, Json]] = {
    "unset": {},
    "server-always": {"type": "ServerSideApply", "whenToApply": "Always"},
    "server-if-not-drifted": {"type": "ServerSideApply", "whenToApply": "IfNotDrifted"},
    "server-forced": {
        "type": "ServerSideApply",
        "whenToApply": "Always",
        "serverSideApplyConfig": {"force": True},
    },
    "client-always": {"type": "ClientSideApply", "whenToApply": "Always"},
    "client-if-not-drifted": {"type": "ClientSideApply", "whenToApply": "IfNotDrifted"},
    "compare-all": {"whenToApply": "Always", "comparisonOption": "FullComparison"},
}


@dataclass(frozen=True)
class Version:
    """What a member's Job was at some time."""

    uid: str
    suspended: bool
    queue: str
    node_selector: tuple[tuple[str, str], ...]


class Watching(Recorder):
    """The recorder, which also keeps how each Job of the member changed."""

    def __init__(self, kubeconfig: Path) -> None:
        self.versions: dict[str, list[Version]] = {}
        super().__init__({MEMBER: kubeconfig}, NAMESPACE)

    def _see(self, member: str, kind: str, item: Json) -> None:
        super()._see(member, kind, item)
        if kind != "jobs":
            return
        meta, spec = item["metadata"], item["spec"]
        selector = spec["template"]["spec"].get("nodeSelector") or {}
        queue = (meta.get("labels") or {}).get("kueue.x-k8s.io/queue-name", "")
        seen = Version(
            meta["uid"], bool(spec.get("suspend")), queue, tuple(sorted(selector.items()))
        )
        kept = self.versions.setdefault(meta["name"], [])
        if not kept or kept[-1] != seen:
            kept.append(seen)


@dataclass(frozen=True)
class Scene:
    """A hub, its cluster, and one member with a queue manager."""

    hub: Client
    hub_cluster: Kubectl
    member: Kubectl
    watching: Watching

    def apply(self, *objects: Json) -> None:
        """`kubectl apply` on the hub cluster."""
        listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.hub_cluster("apply", "-f", "-", stdin=json.dumps(listed))

    def there(self, *what: str) -> Json:
        """An object of the member; {} where there is none."""
        return _read(self.member, *what)

    def job_there(self, name: str) -> Json:
        return self.there("job", name, "-n", NAMESPACE)

    def on_the_hub(self, *what: str) -> Json:
        """An object of the hub cluster; {} where there is none."""
        return _read(self.hub_cluster, *what)


def _read(kubectl: Kubectl, *what: str) -> Json:
    shown = kubectl("get", *what, "--ignore-not-found", "-o", "json")
    found: Json = json.loads(shown) if shown else {}
    return found


def condition(found: Json, kind: str) -> Json:
    """A condition of an object; {} where it has none of this type."""
    listed = found.get("status", {}).get("conditions") or ()
    return next((each for each in listed if each["type"] == kind), {})


# --- what is applied -----------------------------------------------------------------------------


def queues_of_the_guide() -> list[Json]:
    """Flavor, ClusterQueue, namespace, LocalQueue and their placements, as the guide has them."""
    made: list[Json] = []
    for path in sorted((REPOSITORY / "examples" / "guide").glob("guide-*.yaml")):
        made += [each for each in yaml.safe_load_all(path.read_text()) if each]
    return [
        each
        for each in made
        if each["kind"] != "Job" and not each["metadata"]["name"].startswith("job")
    ]


def a_job(name: str, run_s: int) -> Json:
    """An Indexed Job in the queue; each pod of it runs `run_s` seconds."""
    container = {
        "name": "main",
        "image": "example.test/job",
        "resources": {"requests": {"cpu": "1", "memory": "64Mi"}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "annotations": {"kueue.x-k8s.io/queue-name": LOCAL_QUEUE},
        },
        "spec": {
            "completionMode": "Indexed",
            "parallelism": INDEXES,
            "completions": INDEXES,
            "suspend": True,
            "template": {
                "metadata": {"annotations": {"sim.roadstead.dev/run-seconds": str(run_s)}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }


def its_placement(name: str, strategy: Json) -> Json:
    """The placement of one Job, applied by `strategy`."""
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ResourcePlacement",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "resourceSelectors": [
                {"group": "batch", "version": "v1", "kind": "Job", "name": name}
            ],
            "policy": {"placementType": "PickN", "numberOfClusters": 1},
            "strategy": {"type": "RollingUpdate", "applyStrategy": strategy},
        },
    }


# --- the stories ---------------------------------------------------------------------------------


def queues_are_placed(scene: Scene) -> None:
    """What the hub places is served by the member's queue manager: the hub may offer Jobs to its queue.

    The member's administrator says which nodes the flavor is of, so that the queue manager writes into a Job
    what nobody has placed.
    """
    scene.apply(*queues_of_the_guide())
    queue = ("localqueue", LOCAL_QUEUE, "-n", NAMESPACE)
    until(lambda: is_active(scene, *queue), PATIENCE_S, "the member's LocalQueue is Active")
    until(lambda: is_placed(scene), PATIENCE_S, "the hub knows that its queues are there")
    patch = json.dumps({"spec": {"nodeLabels": NODE_LABELS}})
    scene.member("patch", "resourceflavor", FLAVOR, "--type=merge", "-p", patch)
    assert list(scene.hub.drift()) == [], "what a queue manager writes into queues is no drift"


def is_active(scene: Scene, *what: str) -> bool:
    return condition(scene.there(*what), "Active").get("status") == "True"


def is_placed(scene: Scene) -> bool:
    found = scene.hub.placement(f"{NAMESPACE}/queue-placement")
    told = {each.type: each.status for each in found.conditions}
    return told.get("ResourcePlacementAvailable") == "True"


def jobs_are_admitted_there(scene: Scene) -> None:
    """One Job per applyStrategy: given suspended with the queue's label, started there once, and run once.

    Each is changed on the hub while it runs, so that the member's is written once more. It is not suspended
    again, and none of it is drift.
    """
    names = {f"job-{key}": strategy for key, strategy in STRATEGIES.items()}
    for name, strategy in names.items():
        scene.apply(a_job(name, run_s=25), its_placement(name, strategy))
    _await_state(scene, names, "Running")
    for name in names:
        scene.hub_cluster("label", "job", name, "-n", NAMESPACE, "team=changed")
    until(
        lambda: all(scene.job_there(n)["metadata"]["labels"].get("team") for n in names),
        PATIENCE_S,
        "the members' Jobs are written once more",
    )
    assert list(scene.hub.drift()) == []
    _await_state(scene, names, "Succeeded")
    until(lambda: not scene.watching.violations({*names}, INDEXES), 20, "each ran once")
    for name in names:
        job = scene.hub.job(f"{NAMESPACE}/{name}")
        assert (job.cluster, job.epoch, job.evictions) == (MEMBER, 1, {}), name
        _was_started_once(scene.watching.versions[name])
        _nothing_has_drifted(scene, name)
        until(
            partial(_is_complete, scene, name), PATIENCE_S, "the hub cluster shows its completion"
        )
    assert list(scene.hub.drift()) == []


def _is_complete(scene: Scene, name: str) -> bool:
    shown = scene.on_the_hub("job", name, "-n", NAMESPACE)
    return condition(shown, "Complete").get("status") == "True"


def _nothing_has_drifted(scene: Scene, name: str) -> None:
    (there,) = scene.hub.placement(f"{NAMESPACE}/{name}").placement_statuses
    assert there.drifted_placements == there.failed_placements == (), name


def _was_started_once(versions: list[Version]) -> None:
    assert len({each.uid for each in versions}) == 1
    suspended = [each.suspended for each in versions]
    assert suspended == sorted(suspended, reverse=True), f"suspended again: {versions}"
    waiting, running = versions[0], versions[-1]
    assert waiting.suspended, "it was given suspended"
    assert not waiting.node_selector, "nobody has asked for nodes"
    assert waiting.queue in {NO_QUEUE, LOCAL_QUEUE}
    assert not running.suspended
    assert running.queue == LOCAL_QUEUE
    assert dict(running.node_selector) == NODE_LABELS, "what the queue manager injected stays"
    unsuspended = next(each for each in versions if not each.suspended)
    assert unsuspended.queue == LOCAL_QUEUE, "nothing started it but its queue"


def a_comparison_starts_nothing(scene: Scene) -> None:
    """A placement that only compares is refused for a Job: nothing of it reaches the member."""
    name = "compared"
    scene.apply(a_job(name, run_s=1), its_placement(name, {"type": "ReportDiff"}))
    place = f"{NAMESPACE}/{name}"

    def refused() -> bool:
        listed = [each for each in scene.hub.placements() if each.full_name == place]
        told = [each.reason for placement in listed for each in placement.conditions]
        return "JobsNotCompared" in told

    until(refused, PATIENCE_S, "its placement says why not")
    assert scene.hub.job(place).state == "Pending"
    assert scene.job_there(name) == {}
    scene.hub_cluster("delete", "job", name, "-n", NAMESPACE)


def an_eviction_is_waited_for(scene: Scene, name: str = "evicted") -> None:
    """The member drains its queue: the hub says where the Job waits, and nothing of it runs elsewhere.

    It is given to no other cluster and made no second time; its queue starts the same Job again.
    """
    scene.apply(a_job(name, run_s=20), its_placement(name, {"whenToApply": "Always"}))
    _await_state(scene, [name], "Running")
    _stop(scene, "HoldAndDrain")
    job = ("job", name, "-n", NAMESPACE)
    until(
        lambda: scene.hub.job(f"{NAMESPACE}/{name}").reason == "WaitsInMemberQueue",
        PATIENCE_S,
        "the hub says that it waits in its member's queue",
    )
    told = until(
        lambda: _suspended(scene.on_the_hub(*job)), PATIENCE_S, "the hub cluster says so, too"
    )
    assert (told["reason"], MEMBER in told["message"]) == ("WaitsInMemberQueue", True)
    assert scene.job_there(name)["spec"]["suspend"] is True
    assert list(scene.hub.drift()) == []
    _stop(scene, "None")
    until(lambda: _is_back(scene, name), PATIENCE_S, "its queue has started it again")
    _await_state(scene, [name], "Succeeded")
    ended = scene.hub.job(f"{NAMESPACE}/{name}")
    assert (ended.cluster, ended.epoch, ended.counts.failed) == (MEMBER, 1, 0)
    versions = scene.watching.versions[name]
    assert len({each.uid for each in versions}) == 1
    changes = [versions[0].suspended]
    for each in versions:
        if each.suspended != changes[-1]:
            changes.append(each.suspended)
    assert changes == [True, False, True, False]


def a_stopped_queue_is_respected(scene: Scene, policy: str) -> None:
    """A Job placed while the member's queue is stopped waits there suspended, until it is resumed."""
    name = f"stopped-{policy.lower()}"
    _stop(scene, policy)
    queue = ("get", "localqueue", LOCAL_QUEUE, "-n", NAMESPACE, "-o", "json")

    def inactive() -> bool:
        return condition(json.loads(scene.member(*queue)), "Active").get("status") == "False"

    until(inactive, PATIENCE_S, "the member's LocalQueue says that it is stopped")
    heard = scene.hub.cluster(MEMBER).heartbeat_at
    until(
        lambda: scene.hub.cluster(MEMBER).heartbeat_at != heard,
        PATIENCE_S,
        "its agent has reported",
    )
    scene.apply(a_job(name, run_s=1), its_placement(name, {"whenToApply": "Always"}))

    def waits() -> bool:
        found = [job.reason for job in scene.hub.jobs() if job.name == name]
        return found == ["WaitsInMemberQueue"]

    until(waits, PATIENCE_S, "the hub says that it waits in its member's queue")
    _stop(scene, "None")
    _await_state(scene, [name], "Succeeded")
    versions = scene.watching.versions[name]
    assert versions[0].suspended
    assert {each.queue for each in versions if not each.suspended} == {LOCAL_QUEUE}
    assert len({each.uid for each in versions}) == 1


def _suspended(job: Json) -> Json:
    found = condition(job, "Suspended")
    return found if found.get("status") == "True" else {}


def _is_back(scene: Scene, name: str) -> bool:
    return scene.job_there(name)["spec"]["suspend"] is False and (
        scene.hub.job(f"{NAMESPACE}/{name}").reason != "WaitsInMemberQueue"
    )


def _stop(scene: Scene, policy: str) -> None:
    """What the member's administrator types."""
    patch = json.dumps({"spec": {"stopPolicy": policy}})
    scene.member("patch", "clusterqueue", CLUSTER_QUEUE, "--type=merge", "-p", patch)


def _await_state(scene: Scene, names: Iterable[str], state: str) -> None:
    wanted = {*names}

    def told() -> dict[str, str]:
        found = [each for each in scene.hub.jobs() if each.name in wanted]
        return {each.name: f"{each.state} {each.reason} {each.message}" for each in found}

    def reached() -> bool:
        now = told()
        return now.keys() == wanted and all(each.startswith(state) for each in now.values())

    try:
        until(reached, PATIENCE_S, state)
    except AssertionError as late:
        raise AssertionError(f"{late}: {told()}") from late
