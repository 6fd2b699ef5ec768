"""A hub with its scheduler and the exchange with agents; JobSets and their kin to hand in."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from hub.services.context import leadership
from hub.services.index.reader import FOLLOWED
from hub.services.kinds import declared_kinds
from hub.services.objects.apply import Applied, apply_documents
from hub.services.reading.draft import Draft, draft
from hub.services.scheduling.turn import Scheduler
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.kinds.registry import parse
from shared.wire.versions import KINDS
from tests.services import hubs
from tests.services.members.hubs import Agent, Running as Exchange, running_hub

QUEUE = "kueue.x-k8s.io/queue-name"
SERVED = (
    "batch/v1/Job",
    "jobset.x-k8s.io/v1alpha2/JobSet",
    "kubeflow.org/v1/PyTorchJob",
    "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet",
    "ray.io/v1/RayCluster",
    "ray.io/v1/RayJob",
    "ray.io/v1/RayService",
    "sparkoperator.k8s.io/v1beta2/SparkApplication",
    "workload.codeflare.dev/v1beta2/AppWrapper",
)


def a_template(image: str = "ex/train:1", **requests: str) -> dict[str, Any]:
    """A pod template of one container."""
    resources = {"requests": requests, "limits": {n: a for n, a in requests.items() if "/" in n}}
    return {
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": image, "resources": resources}],
        }
    }


def _object(api_version: str, kind: str, name: str, queue: str, spec: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "team-a"}
    if queue:
        metadata["labels"] = {QUEUE: queue}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def a_jobset(
    name: str = "sweep", queue: str = "q", workers: int = 2, **spec: Any
) -> dict[str, Any]:
    """A driver of 1 cpu, and workers of 2 cpu each."""
    jobs = [
        {"name": "driver", "template": {"spec": {"template": a_template(cpu="1")}}},
        {
            "name": "workers",
            "template": {
                "spec": {
                    "parallelism": workers,
                    "completions": workers,
                    "template": a_template(cpu="2"),
                }
            },
        },
    ]
    whole = {"replicatedJobs": jobs, **spec}
    return _object("jobset.x-k8s.io/v1alpha2", "JobSet", name, queue, whole)


def a_pytorchjob(name: str = "bert", queue: str = "q", workers: int = 3) -> dict[str, Any]:
    """A master and workers, of 1 cpu each."""
    roles = {
        "Master": {"replicas": 1, "template": a_template(cpu="1")},
        "Worker": {"replicas": workers, "template": a_template(cpu="1")},
    }
    return _object("kubeflow.org/v1", "PyTorchJob", name, queue, {"pytorchReplicaSpecs": roles})


def a_rayjob(name: str = "tune", queue: str = "q", workers: int = 2) -> dict[str, Any]:
    """A head and workers of 1 cpu each; the operator makes the pod that submits."""
    cluster = {
        "headGroupSpec": {"rayStartParams": {}, "template": a_template("ex/ray:2", cpu="1")},
        "workerGroupSpecs": [
            {
                "groupName": "small",
                "replicas": workers,
                "minReplicas": workers,
                "maxReplicas": workers,
                "rayStartParams": {},
                "template": a_template("ex/ray:2", cpu="1"),
            }
        ],
    }
    spec = {
        "entrypoint": "python tune.py",
        "shutdownAfterJobFinishes": True,
        "ttlSecondsAfterFinished": 60,
        "rayClusterSpec": cluster,
    }
    return _object("ray.io/v1", "RayJob", name, queue, spec)


def an_lws(name: str = "llm", queue: str = "q", replicas: int = 2, **spec: Any) -> dict[str, Any]:
    """Groups of a leader of 1 cpu and two workers of 2 cpu each: 5 cpu a group."""
    group = {"size": 3, "leaderTemplate": _serving(cpu="1"), "workerTemplate": _serving(cpu="2")}
    whole = {"replicas": replicas, "leaderWorkerTemplate": group, **spec}
    return _object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", name, queue, whole)


def a_raycluster(name: str = "lab", queue: str = "q", workers: int = 2) -> dict[str, Any]:
    """A head and workers of 1 cpu each, which serve until it is deleted."""
    spec = a_rayjob(workers=workers)["spec"]["rayClusterSpec"]
    return _object("ray.io/v1", "RayCluster", name, queue, spec)


def a_rayservice(name: str = "serve", queue: str = "q", workers: int = 2) -> dict[str, Any]:
    """The same, which a RayService keeps."""
    spec = a_rayjob(workers=workers)["spec"]["rayClusterSpec"]
    whole = {"serveConfigV2": "applications: []", "rayClusterConfig": spec}
    return _object("ray.io/v1", "RayService", name, queue, whole)


def _serving(**requests: str) -> dict[str, Any]:
    made = a_template("ex/serve:1", **requests)
    made["spec"]["restartPolicy"] = "Always"
    return made


def a_sparkapplication(name: str = "etl", queue: str = "q", workers: int = 2) -> dict[str, Any]:
    """A driver of 1 cpu, and executors of 2 cpu each, without pod templates."""
    spec = {
        "type": "Scala",
        "mode": "cluster",
        "image": "ex/spark:3",
        "mainClass": "Etl",
        "mainApplicationFile": "local:///etl.jar",
        "sparkVersion": "3.5.3",
        "driver": {"cores": 1, "memory": "512m"},
        "executor": {"cores": 2, "memory": "512m", "instances": workers},
    }
    return _object("sparkoperator.k8s.io/v1beta2", "SparkApplication", name, queue, spec)


def an_appwrapper(name: str = "both", queue: str = "q", workers: int = 2) -> dict[str, Any]:
    """A Job of 1 cpu, and a PyTorchJob whose workers have 1 cpu each."""
    job = {"template": a_template(cpu="1")}
    inner = [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": f"{name}-job"},
            "spec": job,
        },
        a_pytorchjob(f"{name}-train", "", workers),
    ]
    del inner[1]["metadata"]["namespace"]
    spec = {"components": [{"template": each} for each in inner]}
    return _object("workload.codeflare.dev/v1beta2", "AppWrapper", name, queue, spec)


def two_flavors(name: str, gpu: dict[str, Any]) -> list[dict[str, Any]]:
    """A queue with cpu of flavor `plain` and GPUs of flavor `gpu`, whose spec is given."""
    groups = [
        {
            "coveredResources": [resource],
            "flavors": [{"name": flavor, "resources": [{"name": resource, "nominalQuota": "8"}]}],
        }
        for resource, flavor in (("cpu", "plain"), ("nvidia.com/gpu", "gpu"))
    ]
    _, queue, door = hubs.a_queue(name, spec={"resourceGroups": groups})
    flavors: list[dict[str, Any]] = [
        {
            "apiVersion": hubs.KUEUE,
            "kind": "ResourceFlavor",
            "metadata": {"name": each},
            "spec": spec,
        }
        for each, spec in (("plain", {}), ("gpu", gpu))
    ]
    return [*flavors, queue, door]


class Fleet(hubs.Running):
    """A hub that leads, its scheduler driven by hand, and members by their agents' words."""

    def __init__(self, exchange: Exchange, scheduler: Scheduler, feed: Any) -> None:
        super().__init__(exchange.hub, scheduler, feed)
        self.exchange = exchange

    async def try_apply(self, manifest: dict[str, Any]) -> Applied:
        """What became of one manifest that a person applies."""
        (applied,) = await self.try_all(manifest)
        return applied

    async def try_all(self, *manifests: dict[str, Any]) -> list[Applied]:
        """Apply manifests together, as a person does: the results. Kinds that they define are known then."""
        kinds = self.hub.kinds

        def run(tx: Transaction) -> list[Applied]:
            drafts: list[Draft | Rejected] = []
            for each in manifests:
                try:
                    drafts.append(
                        draft(parse(each, declared=kinds), tx.now, kinds=kinds, stands=True)
                    )
                except Rejected as refusal:
                    drafts.append(refusal)
            return apply_documents(tx, drafts, self.hub.settings.intake)

        applied = await self.hub.db.write(run)
        await declared_kinds.load(self.hub.db, kinds)
        return applied

    async def member(
        self, name: str, cpu: str = "16", protocol: int = KINDS, kinds: tuple[str, ...] = SERVED
    ) -> Agent:
        """A member that has joined, with one node."""
        agent = await self.exchange.join(name)
        agent.protocol = protocol
        await self.reports(agent, cpu, kinds)
        return agent

    async def reports(self, agent: Agent, cpu: str, kinds: tuple[str, ...] = SERVED) -> None:
        """The agent says what its member has: one node."""
        await self.has(agent, hubs.a_pool(cpu=cpu, memory="64Gi"), kinds=kinds)

    async def has(
        self,
        agent: Agent,
        *pools: dict[str, Any],
        kinds: tuple[str, ...] = SERVED,
        bound: Sequence[dict[str, Any]] = (),
    ) -> None:
        """The agent reports these pools, grouped by the labels that it was last told, and bound pods."""
        keys = (await agent.sync())["pool_keys"]
        told = {"pools_revision": keys["revision"], "pools": list(pools), "bound": list(bound)}
        await agent.sync(capacity={**told, "kinds": list(kinds)})
        await self.settle()

    async def told(self, agent: Agent, uid: str) -> dict[str, Any]:
        """The work that the agent has of this uid, as it is told now."""
        await self.settle()
        await self.exchange.settled()
        await agent.sync()
        return agent.works[uid]


@contextlib.asynccontextmanager
async def a_fleet(folder: Path) -> AsyncIterator[Fleet]:
    """A hub over a store in `folder`."""
    async with running_hub(folder) as exchange:
        term = await exchange.hub.write(leadership.seize, "test")
        exchange.sync._term = lambda: term
        feed = exchange.hub.subscribe(*FOLLOWED)
        try:
            yield Fleet(exchange, Scheduler(exchange.hub, lambda: term), feed)
        finally:
            feed.close()
            exchange.hub.kinds.close()
