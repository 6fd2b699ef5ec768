"""A job needs a queue as soon as an administrator has made a ClusterQueue."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hub.services.context.settings import Intake, Settings
from tests.api.people import a_user, bound
from tests.api.serving import Served, a_job, served
from tests.services.build import in_cohort

pytestmark = pytest.mark.anyio
QUEUE = "kueue.x-k8s.io/queue-name"
DEFAULT = Settings(intake=Intake(unqueued_jobs="Default"))


@contextlib.asynccontextmanager
async def fleet(
    tmp_path: Any, *manifests: dict[str, Any], limits: Settings | None = None
) -> AsyncIterator[Served]:
    """A hub to which these were applied, with the default settings."""
    async with served(tmp_path, limits or Settings()) as hub:
        await apply(hub, *manifests)
        yield hub


async def apply(hub: Served, *manifests: dict[str, Any]) -> None:
    for each in manifests:
        assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200


def job(name: str, queue: str = "") -> dict[str, Any]:
    """A Job of team-a."""
    made = a_job(name, namespace="team-a")
    made["metadata"]["labels"] = {QUEUE: queue} if queue else {}
    return made


def named_default(kind: str, **spec: Any) -> dict[str, Any]:
    """A queue of an administrator that is called default."""
    metadata = {"name": "default"} | ({"namespace": "team-a"} if kind == "LocalQueue" else {})
    version = "kueue.x-k8s.io/v1beta2"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


async def by_submit(hub: Served, manifest: dict[str, Any]) -> Any:
    return (await hub.admin.post("/v1/jobs", json=manifest)).json()


async def by_batch(hub: Served, manifest: dict[str, Any]) -> Any:
    return (await hub.admin.post("/v1/jobs:batch", json=[manifest])).json()["items"][0]


async def by_apply(hub: Served, manifest: dict[str, Any]) -> Any:
    return (await hub.admin.post("/v1/apply", json=manifest)).json()["items"][0]


@pytest.mark.parametrize("door", [by_submit, by_batch, by_apply])
async def test_a_job_without_a_queue_is_refused(tmp_path, door):
    """At every door, with the label and the queues of its namespace; nothing is stored."""
    async with fleet(tmp_path, *in_cohort("a", "4")) as hub:
        said = await door(hub, job("j"))
        assert said["code"] == "QueueRequired", said
        assert f"set label {QUEUE} to a LocalQueue of namespace team-a (a)" in said["detail"]
        assert (await hub.admin.get("/v1/jobs")).json()["items"] == []


async def test_before_anybody_makes_a_queue_the_hub_provides_one(tmp_path):
    """A fresh hub takes jobs before anyone has configured it."""
    async with fleet(tmp_path) as hub:
        made = await by_submit(hub, job("j"))
        assert made["queue"] == "default"


@pytest.mark.parametrize("queue", ["", "default"])
async def test_the_queue_that_the_hub_provided_before_takes_no_more(tmp_path, queue):
    """Named or not; what waits there already stays, and may be changed."""
    async with fleet(tmp_path, job("earlier"), *in_cohort("a", "4")) as hub:
        assert (await by_submit(hub, job("j", queue)))["code"] == "QueueRequired"
        changed = job("earlier")
        changed["spec"]["backoffLimit"] = 3
        assert (await by_apply(hub, changed))["result"] == "configured"


async def test_a_job_with_a_queue_is_taken(tmp_path):
    """It is in that queue's quota."""
    async with fleet(tmp_path, *in_cohort("a", "4")) as hub:
        assert (await by_submit(hub, job("j", "a")))["queue"] == "a"


async def test_a_local_queue_default_of_an_administrator_takes_jobs_without_a_queue(tmp_path):
    """Its maker chose the quota that they get."""
    default = named_default("LocalQueue", clusterQueue="a")
    async with fleet(tmp_path, *in_cohort("a", "4"), default) as hub:
        assert (await by_submit(hub, job("j")))["queue"] == "default"


async def test_a_cluster_queue_default_of_an_administrator_takes_jobs_without_a_queue(tmp_path):
    """Its limits are theirs."""
    _, queue, _ = in_cohort("a", "4")
    own = named_default("ClusterQueue", **queue["spec"])
    async with fleet(tmp_path, *in_cohort("a", "4"), own) as hub:
        assert (await by_submit(hub, job("j")))["queue"] == "default"


async def test_once_the_last_queue_is_gone_jobs_need_none(tmp_path):
    """The hub provides one again."""
    async with fleet(tmp_path, *in_cohort("a", "4")) as hub:
        for path in ("LocalQueue/namespaces/team-a/a", "ClusterQueue/a"):
            reply = await hub.admin.delete(f"/v1/objects/kueue.x-k8s.io/{path}")
            assert reply.status_code < 300, reply.text
        assert (await by_submit(hub, job("j"))).get("queue") == "default"


async def test_plan_answers_as_a_submission_would(tmp_path):
    """With the reason and the remedy."""
    async with fleet(tmp_path, *in_cohort("a", "4")) as hub:
        reply = await hub.admin.post("/v1/plan", json=job("j"))
        (planned,) = reply.json()["jobs"]
        assert planned["reason"] == "QueueRequired"
        assert QUEUE in planned["message"]


async def test_a_message_names_only_queues_that_the_caller_may_use(tmp_path):
    """A submitter who is bound to one LocalQueue does not learn the names of the others."""
    async with fleet(tmp_path, *in_cohort("a", "4"), *in_cohort("b", "4")) as hub:
        await bound(
            hub, "s", "submitter", users=["ana"], namespaces=["team-a"], queues=["b", "default"]
        )
        ana = await a_user(hub, "ana")
        said = (await ana.post("/v1/jobs", json=job("j"))).json()
        assert said["code"] == "QueueRequired", said
        assert "namespace team-a (b)" in said["detail"]
        assert [each["field"] for each in said["errors"]] == [f"metadata.labels[{QUEUE}]"]


async def conditions(hub: Served) -> list[str]:
    told = (await hub.admin.get("/v1/overview")).json()["conditions"]
    return [each["message"] for each in told if each["type"] == "UnqueuedJobs"]


async def test_jobs_from_before_the_first_queue_are_a_condition_of_the_hub(tmp_path):
    """`roadstead admin doctor` shows it: how many wait outside every quota, where, and what to do."""
    async with fleet(tmp_path, job("earlier")) as hub:
        assert await conditions(hub) == []
        await apply(hub, *in_cohort("a", "4"))
        (message,) = await conditions(hub)
        assert message.startswith("1 jobs without a queue wait outside every quota")
        assert "team-a 1" in message
        assert QUEUE in message


async def test_a_hub_that_allows_jobs_without_a_queue_does_not_warn_of_them(tmp_path):
    """`ROADSTEAD_INTAKE_UNQUEUED_JOBS=Default` keeps the earlier behaviour."""
    async with fleet(tmp_path, *in_cohort("a", "4"), limits=DEFAULT) as hub:
        assert (await by_submit(hub, job("j")))["queue"] == "default"
        assert await conditions(hub) == []


@contextlib.asynccontextmanager
async def batch_administrator(
    tmp_path: Any, *before: dict[str, Any], limits: Settings | None = None, **where: Any
) -> AsyncIterator[tuple[Served, Any]]:
    """A fleet, and a client of somebody who is bound in team-a, or elsewhere."""
    async with fleet(tmp_path, *before, limits=limits) as hub:
        where = where or {"namespaces": ["team-a"]}
        await bound(hub, "of-a", "batch-administrator", users=["bat"], **where)
        yield hub, await a_user(hub, "bat")


TO_DEFAULT = named_default("LocalQueue", clusterQueue="default")


@pytest.mark.parametrize(
    "before", [(), (job("earlier"),)], ids=["none before", "the hub's before"]
)
async def test_a_batch_administrator_makes_no_queue_outside_every_quota(tmp_path, before):
    """Neither where the hub provided LocalQueue `default` before: jobs without a queue stay refused."""
    async with batch_administrator(tmp_path, *before, *in_cohort("a", "4")) as (hub, bat):
        reply = await bat.post("/v1/apply", json=TO_DEFAULT)
        assert (reply.status_code, reply.json()["code"]) == (403, "Forbidden"), reply.text
        assert "no limits" in reply.json()["detail"]
        assert (await by_submit(hub, job("j")))["code"] == "QueueRequired"
        own = named_default("LocalQueue", clusterQueue="a")
        assert (await bat.post("/v1/apply", json=own)).status_code == 200


async def test_who_administers_the_queues_may_lift_the_limits(tmp_path):
    """An administrator, and a batch administrator of all namespaces, who may change ClusterQueues too."""
    for where in ({"namespaces": None}, None):
        kept = tmp_path / str(bool(where))
        async with batch_administrator(kept, *in_cohort("a", "4"), **(where or {})) as (hub, bat):
            who = hub.admin if where is None else bat
            assert (await who.post("/v1/apply", json=TO_DEFAULT)).status_code == 200
            assert (await by_submit(hub, job("j")))["queue"] == "default"


@pytest.mark.parametrize(
    ("before", "limits"),
    [
        ((), None),
        ((*in_cohort("a", "4"), TO_DEFAULT), None),
        (tuple(in_cohort("a", "4")), DEFAULT),
    ],
    ids=["no queues yet", "it is there already", "jobs need no queue"],
)
async def test_a_queue_that_undoes_nothing_is_taken(tmp_path, before, limits):
    """While the hub takes jobs without a queue, and where such a LocalQueue is stored already."""
    async with batch_administrator(tmp_path, *before, limits=limits) as (_, bat):
        changed = {**TO_DEFAULT, "metadata": {**TO_DEFAULT["metadata"], "labels": {"a": "b"}}}
        assert (await bat.post("/v1/apply", json=changed)).status_code == 200
