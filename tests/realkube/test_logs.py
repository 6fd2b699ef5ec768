"""Logs and pods as the agent reads them through a real API server, with the rights that its chart gives.

No container runs: a small server stands where a node's kubelet gives logs (log_server.py), and the test
writes the statuses that a kubelet would.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from agent.member.held_jobs import HeldJobs
from agent.member.job_logs import Batch, JobLogs
from agent.member.job_pods import tell_last, tell_pods
from shared import labels
from shared.clock import SystemClock
from shared.kube.client import KubeClient
from shared.wire.streams_v1 import LogLine, StreamEnd, StreamRequest
from tests import waiting
from tests.charts import helm
from tests.charts.helm import AGENT, Release
from tests.realkube.log_server import LogServer, serving
from tests.realkube.plane import Plane, await_true

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(300), pytest.mark.anyio]
SPACE: Final = "team-logs"
NODE: Final = "with-logs"
HUB_ID: Final = "hub-logs"
AT: Final = "2026-01-01T00:00:0"
LINES: Final = [
    (f"{AT}1.5Z", "one"),
    (f"{AT}2Z", "two"),
    (f"{AT}2Z", "2nd"),
    (f"{AT}3.1Z", "three"),
]


def a_job(name: str, **spec: Any) -> dict[str, Any]:
    """A Job of the agent, whose pods carry its labels."""
    marks = {labels.JOB_UID: f"uid-{name}", labels.EPOCH: "1"}
    container = {"name": "main", "image": "busybox:1.36"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": SPACE,
            "labels": {**marks, labels.MANAGED_BY: HUB_ID},
        },
        "spec": {
            "template": {
                "metadata": {"labels": marks},
                "spec": {"restartPolicy": "Never", "containers": [container], **spec},
            },
        },
    }


def create(plane: Plane, *jobs: dict[str, Any]) -> None:
    """Create Jobs as the agent does: the managed fields name it."""
    for job in jobs:
        manager = f"--field-manager={labels.FIELD_MANAGER}"
        plane.kubectl("create", manager, "-f", "-", stdin=json.dumps(job))


def a_node(port: int) -> dict[str, Any]:
    """No fake kubelet looks after it, and the API server reaches its logs at `port`."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": NODE},
        "spec": {"taints": [{"key": "logs-alone", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": room,
            "capacity": room,
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        },
    }


def asked(job: str, what: str = "logs", **more: Any) -> StreamRequest:
    """A question as the hub asks it."""
    return StreamRequest.model_validate(
        {"id": "s", "what": what, "uid": f"uid-{job}", "namespace": SPACE, "name": job, **more}
    )


def pod_of(plane: Plane, job: str) -> str:
    """The name of a Job's pod, once its controller has made one."""
    one = (
        "-n",
        SPACE,
        "get",
        "pods",
        "-l",
        f"job-name={job}",
        "-o",
        "jsonpath={.items[*].metadata.name}",
    )
    await_true(lambda: plane.kubectl(*one), what=f"a pod of {job}")
    return plane.kubectl(*one).split()[-1]


def tell(plane: Plane, pod: str, phase: str, **state: Any) -> None:
    """Write a pod's status, as its kubelet would."""
    restarts = state.pop("restarts", 0)
    last = state.pop("last", {})
    status = {
        "name": "main",
        "image": "busybox:1.36",
        "imageID": "",
        "ready": phase == "Running",
        "restartCount": restarts,
        "state": state,
        "lastState": last,
    }
    patch = json.dumps({"status": {"phase": phase, "containerStatuses": [status]}})
    patched = ("--subresource=status", "--type=merge", "-p", patch)
    plane.kubectl("-n", SPACE, "patch", "pod", pod, *patched)


async def read(kube: KubeClient, question: StreamRequest) -> tuple[list[LogLine], StreamEnd]:
    """All that is told, and how it ends."""
    out: asyncio.Queue[Batch] = asyncio.Queue()
    async with asyncio.timeout(60):
        end = await JobLogs(kube, HeldJobs(HUB_ID), question, SystemClock(), out).read()
    return [line for _ in range(out.qsize()) for line in out.get_nowait()], end


def grant(plane: Plane, *, logs: bool) -> Path:
    """The agent's account with the rights that its chart gives it, once they hold; a kubeconfig of it."""
    values = {"hub": {"url": "https://192.0.2.1"}, "logs": {"enabled": logs}}
    kinds = {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding"}
    objects = [
        each
        for each in helm.objects(Release(AGENT, values, "log-reader", namespace=SPACE))
        if each["kind"] in kinds
    ]
    if not logs:
        plane.refusal("delete", "clusterrole", "log-reader-logs")
    for each in objects:
        plane.kubectl("apply", "-f", "-", stdin=json.dumps(each))
    (account,) = (each for each in objects if each["kind"] == "ServiceAccount")
    name = account["metadata"]["name"]

    def may(verb: str, what: str, *more: str) -> bool:
        asks = (verb, what, *more, "-n", SPACE, f"--as=system:serviceaccount:{SPACE}:{name}")
        return not plane.refusal("auth", "can-i", *asks)

    # Aggregated roles are filled by a controller, a moment later.
    await_true(lambda: may("list", "pods"), what="rights of the agent")
    await_true(lambda: may("get", "pods", "--subresource=log") == logs, what="rights to logs")
    return plane.kubeconfig_of(name, namespace=SPACE)


@asynccontextmanager
async def reader(path: Path) -> AsyncIterator[KubeClient]:
    kube = await KubeClient.connect(path, clock=SystemClock())
    try:
        yield kube
    finally:
        await kube.close()


@pytest.fixture(scope="module")
def logs(
    real_control_plane: Plane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Plane, LogServer]]:
    """A node whose logs are served here, in the shared plane; it goes with all that was made."""
    plane = real_control_plane
    with serving(tmp_path_factory.mktemp("kubelet")) as server:
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
        plane.create(space, a_node(server.port))
        try:
            yield plane, server
        finally:
            server.over.set()
            plane.kubectl("delete", "node", NODE)
            plane.kubectl("delete", "namespace", SPACE, "--wait=false")
            roles = (
                "clusterrole,clusterrolebinding",
                "-l",
                "app.kubernetes.io/instance=log-reader",
            )
            plane.kubectl("delete", *roles)


async def test_an_agent_reads_logs_with_the_rights_of_its_chart(
    logs: tuple[Plane, LogServer],
) -> None:
    """Refused until the member's administrator opts in; then lines come in order, whatever breaks off."""
    plane, server = logs
    create(plane, a_job("talk", nodeName=NODE))
    pod = pod_of(plane, "talk")
    path = f"/containerLogs/{SPACE}/{pod}/main"
    server.lines[path] = list(LINES)
    async with reader(grant(plane, logs=False)) as kube:
        tell(
            plane,
            pod,
            "Pending",
            waiting={"reason": "ImagePullBackOff", "message": "Back-off pulling"},
        )
        _, end = await read(kube, asked("talk"))
        assert (end.code, "ImagePullBackOff: Back-off pulling" in end.message) == (
            "NotBegun",
            True,
        )
        tell(plane, pod, "Running", running={"startedAt": f"{AT}0Z"})
        _, end = await read(kube, asked("talk"))
        assert (end.code, server.asked) == ("RefusedByMember", [])
        part = await tell_pods(kube, HeldJobs(HUB_ID), asked("talk", "pods"), logs=True)
        assert (part.pods[0].phase, part.unread.partition(":")[0]) == (
            "Running",
            "RefusedByMember",
        )

        grant(plane, logs=True)
        lines, end = await read(kube, asked("talk"))
        assert [(line.pod, line.at, line.line) for line in lines] == [
            (pod, *each) for each in LINES
        ]
        assert end.code == "Ended"
        lines, _ = await read(kube, asked("talk", tail=1))
        assert [line.line for line in lines] == ["three"]
        lines, _ = await read(kube, asked("talk", after={f"{pod}/main": f"{AT}2Z"}))
        assert [line.line for line in lines] == ["two", "2nd", "three"]

        server.cuts = [2, 3]  # the kubelet's connection breaks, within an instant and after it
        following = asyncio.create_task(read(kube, asked("talk", follow=True)))
        await waiting.eventually(lambda: len(server.asked) >= 6, within_s=60)
        tell(plane, pod, "Succeeded", terminated={"exitCode": 0, "reason": "Completed"})
        server.over.set()
        lines, end = await following
        assert ([line.line for line in lines], end.code) == ([line for _, line in LINES], "Ended")


async def test_how_pods_are_is_told_in_the_clusters_words(logs: tuple[Plane, LogServer]) -> None:
    """Unschedulable in the scheduler's words, with its event; killed for memory, started anew, failed."""
    plane, server = logs
    create(plane, a_job("nowhere", nodeSelector={"no": "node"}), a_job("oom", nodeName=NODE))
    pod = pod_of(plane, "oom")
    async with reader(grant(plane, logs=True)) as kube:
        killed = {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": f"{AT}2Z"}}
        tell(plane, pod, "Running", running={"startedAt": f"{AT}3Z"}, restarts=2, last=killed)
        (told,) = (await tell_pods(kube, HeldJobs(HUB_ID), asked("oom", "pods"), logs=True)).pods
        (main,) = told.containers
        assert (told.node, main.restarts, main.last_reason, main.last_exit_code) == (
            NODE,
            2,
            "OOMKilled",
            137,
        )
        server.lines[f"/containerLogs/{SPACE}/{pod}/main"] = list(LINES)
        tell(plane, pod, "Failed", restarts=2, **killed)
        last = await tell_last(kube, HeldJobs(HUB_ID), asked("oom", "last"), logs=True)
        assert [(each.name, each.reason) for each in last.pods] == [(pod, "OOMKilled")]
        assert [line.line for line in last.lines] == [line for _, line in LINES]

        async def unschedulable() -> bool:
            part = await tell_pods(kube, HeldJobs(HUB_ID), asked("nowhere", "pods"), logs=True)
            found = [each for each in part.pods if each.reason == "Unschedulable"]
            reasons = {each.reason for each in part.events}
            return bool(
                found
                and "nodes are available" in found[0].message
                and "FailedScheduling" in reasons
            )

        for _ in range(100):
            if await unschedulable():
                break
            await asyncio.to_thread(
                waiting.pause, 0.2, why="the scheduler and its recorder take a moment"
            )
        assert await unschedulable()
