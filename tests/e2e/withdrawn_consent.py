"""The story of a Job that waits in the member's own queue while its namespace withdraws consent.

It runs on a simulated member (test_member_queue.py) and with Kueue itself (tests/realkube/test_kueue.py).
"""

import json
from functools import partial
from typing import Final

from shared.labels import ACCEPT
from tests.e2e.member_queue import (
    CLUSTER_QUEUE,
    MEMBER,
    PATIENCE_S,
    Json,
    Scene,
    a_job,
    condition,
    its_placement,
)
from tests.e2e.running import until

SPACE: Final = "theirs"  # a namespace that the member's people made
QUEUE: Final = "held"
NAME: Final = "reconsidered"


def a_waiting_job_is_taken_back(scene: Scene) -> None:
    """Rule 22: the agent takes back what never ran, and its next epoch is placed once consent is there again.

    The member's people make namespace and LocalQueue, and consent by the command that the waiting job names.
    """
    _make_queues(scene)
    job = a_job(NAME, run_s=1)
    job["metadata"] |= {
        "namespace": SPACE,
        "annotations": {},
        "labels": {"kueue.x-k8s.io/queue-name": QUEUE},
    }
    placement = its_placement(NAME, {"whenToApply": "Always"})
    placement["metadata"]["namespace"] = SPACE
    scene.apply(job, placement)
    until(partial(_says, scene, "NoClusterMatches"), PATIENCE_S, "without consent it waits")
    _consent(scene)
    until(
        partial(_says, scene, "WaitsInMemberQueue"), PATIENCE_S, "it waits in the member's queue"
    )
    first = _there(scene)
    assert (
        first["spec"]["suspend"],
        first["metadata"]["labels"]["kueue.x-k8s.io/queue-name"],
    ) == (
        True,
        QUEUE,
    )
    scene.member("label", "namespace", SPACE, f"{ACCEPT}-")
    until(lambda: _there(scene) == {}, PATIENCE_S, "the agent has deleted it")
    until(partial(_says, scene, "NoClusterMatches"), PATIENCE_S, "it waits on the hub again")
    until(lambda: not _items(scene, "workloads"), PATIENCE_S, "the queue manager forgot it")
    assert _items(scene, "pods") == []
    _hold(scene, "None")
    _consent(scene)
    place = f"{SPACE}/{NAME}"
    until(lambda: scene.hub.job(place).state == "Succeeded", 2 * PATIENCE_S, "it has run")
    ended = scene.hub.job(place)
    assert (ended.cluster, ended.epoch, ended.counts.failed) == (MEMBER, 2, 0)
    second = _there(scene)
    assert second == {} or second["metadata"]["uid"] != first["metadata"]["uid"]


def _make_queues(scene: Scene) -> None:
    """One LocalQueue in the hub and one in the member, where its people stop it."""
    space: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
    queue: Json = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "LocalQueue",
        "metadata": {"name": QUEUE, "namespace": SPACE},
        "spec": {"clusterQueue": CLUSTER_QUEUE},
    }
    scene.apply(space, queue)
    listed = {"apiVersion": "v1", "kind": "List", "items": [space, queue]}
    scene.member("apply", "-f", "-", stdin=json.dumps(listed))
    until(partial(_is_active, scene, "True"), PATIENCE_S, "the member's LocalQueue is Active")
    _hold(scene, "Hold")
    until(partial(_is_active, scene, "False"), PATIENCE_S, "it says that it is stopped")


def _hold(scene: Scene, policy: str) -> None:
    patch = json.dumps({"spec": {"stopPolicy": policy}})
    scene.member("patch", "localqueue", QUEUE, "-n", SPACE, "--type=merge", "-p", patch)


def _is_active(scene: Scene, status: str) -> bool:
    found = scene.there("localqueue", QUEUE, "-n", SPACE)
    return condition(found, "Active").get("status") == status


def _consent(scene: Scene) -> None:
    """The member's people enter what the job's reason tells them."""
    command = f"kubectl label namespace {SPACE}"

    def told() -> str:
        _, found, rest = scene.hub.job(f"{SPACE}/{NAME}").message.partition(command)
        return rest if found else ""

    mark = until(told, PATIENCE_S, "its reason names the command").split(";")[0].split(",")[0]
    scene.member("label", "namespace", SPACE, mark.split()[0])


def _says(scene: Scene, reason: str) -> bool:
    found = [each.reason for each in scene.hub.jobs() if each.full_name == f"{SPACE}/{NAME}"]
    return found == [reason]


def _there(scene: Scene) -> Json:
    return scene.there("job", NAME, "-n", SPACE)


def _items(scene: Scene, kinds: str) -> list[Json]:
    found: list[Json] = scene.there(kinds, "-n", SPACE).get("items", [])
    return found
