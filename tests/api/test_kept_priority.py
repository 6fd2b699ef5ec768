"""A priority class stays with the work that it was given to: other or more pods demand it again."""

from typing import Any

import orjson
import pytest

from tests.api.people import bound
from tests.api.priority_classes import (
    CLASS,
    LOW,
    MERGE,
    hub_of_two_classes,
    job,
    person,
    with_pod_class,
    workload,
)
from tests.services.kinds.fleet import an_lws

pytestmark = pytest.mark.anyio


async def test_a_class_that_a_job_has_already_may_stay(tmp_path):
    """Its owner changes something else."""
    async with hub_of_two_classes(tmp_path) as hub:
        client = await person(hub, "submitter", {"namespaces": ["team-a"]})
        assert (await client.post("/v1/jobs", json=job("j", "high"))).status_code == 201
        await bound(hub, "p0", "submitter", users=["p"], **LOW)
        changed = job("j", "high")
        changed["spec"]["backoffLimit"] = 3
        (item,) = (await client.post("/v1/apply", json=changed)).json()["items"]
        assert item["result"] == "configured"


def cron_job(
    named: str = "", of_pods: str = "", schedule: str = "0 3 * * *", **spec: Any
) -> dict[str, Any]:
    """A CronJob of queue `a`, whose Jobs have that class and whose pods have that PriorityClass."""
    made = job("j", named)
    if of_pods:
        with_pod_class(made, of_pods)
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "team-a"},
        "spec": {
            "schedule": schedule,
            "jobTemplate": {
                "metadata": {"labels": made["metadata"]["labels"]},
                "spec": {**made["spec"], **spec},
            },
        },
    }


GIVEN = [{"named": "high"}, {"named": "low", "of_pods": "high"}]
CHANGES = [{"schedule": "* * * * *"}, {"parallelism": 50}, {"completions": 7}]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("given", GIVEN)
async def test_a_cron_job_keeps_its_class_only_with_what_it_was_given_to(tmp_path, given, change):
    """Its owner may name `low`: other times and other Jobs are as a new CronJob."""
    async with hub_of_two_classes(tmp_path) as hub:
        client = await person(hub, "submitter", {"namespaces": ["team-a"]})
        made = (await client.post("/v1/apply", json=cron_job(**given))).json()["items"]
        assert made[0]["result"] == "created", made
        await bound(hub, "p0", "submitter", users=["p"], **LOW)
        (item,) = (await client.post("/v1/apply", json=cron_job(**given, **change))).json()[
            "items"
        ]
        assert item["code"] == "PriorityNotAllowed", item
        plain = cron_job("low", **change)
        (item,) = (await client.post("/v1/apply", json=plain)).json()["items"]
        assert item["result"] == "configured", item


@pytest.mark.parametrize("given", GIVEN)
async def test_the_owner_of_a_cron_job_suspends_it_with_its_class(tmp_path, given):
    """That makes no other pods."""
    async with hub_of_two_classes(tmp_path) as hub:
        client = await person(hub, "submitter", {"namespaces": ["team-a"]})
        await client.post("/v1/apply", json=cron_job(**given))
        await bound(hub, "p0", "submitter", users=["p"], **LOW)
        suspended = cron_job(**given)
        suspended["spec"]["suspend"] = True
        (item,) = (await client.post("/v1/apply", json=suspended)).json()["items"]
        assert item["result"] == "configured", item


def by_parallelism(count: int | None) -> dict[str, Any]:
    """A Job of class `high` with this parallelism."""
    made = job("j", "high")
    made["spec"] |= {"parallelism": count, "completions": 50}
    return made


def by_replicas(count: int | None) -> dict[str, Any]:
    """A LeaderWorkerSet of class `high` with this number of replicas."""
    made = an_lws(queue="a")
    made["metadata"]["labels"][CLASS] = "high"
    made["spec"]["replicas"] = count
    return made


@pytest.mark.parametrize(
    ("before", "after", "is_taken"),
    [(2, 50, False), (50, 2, True), (None, 2, False), (2, None, True)],
)
@pytest.mark.parametrize("sized", [by_parallelism, by_replicas])
async def test_a_job_keeps_its_class_with_no_more_pods(tmp_path, sized, before, after, is_taken):
    """A specification that may change in its number of pods; without one it is 1."""
    async with hub_of_two_classes(tmp_path) as hub:
        client = await person(hub, "submitter", {"namespaces": ["team-a"]})
        (item,) = (await client.post("/v1/apply", json=sized(before))).json()["items"]
        assert item["result"] == "created", item
        await bound(hub, "p0", "submitter", users=["p"], **LOW)
        (item,) = (await client.post("/v1/apply", json=sized(after))).json()["items"]
        assert (item.get("result") == "configured") == is_taken, item
        assert (item.get("code") == "PriorityNotAllowed") != is_taken, item


async def test_a_workload_keeps_its_class_only_with_its_pod_sets(tmp_path):
    """Its owner may name `low`."""
    async with hub_of_two_classes(tmp_path) as hub:
        client = await person(hub, "submitter", {"namespaces": ["team-a"]})
        given = workload("j", "high", 1000)
        assert (await client.post("/v1/workloads", json=given)).status_code == 201
        await bound(hub, "p0", "submitter", users=["p"], **LOW)
        sets = [{**each, "count": 50} for each in given["spec"]["podSets"]]
        content = orjson.dumps({"spec": {"podSets": sets}})
        reply = await client.patch("/v1/workloads/team-a/j", content=content, headers=MERGE)
        assert reply.json()["code"] == "PriorityNotAllowed", reply.text
        content = orjson.dumps({"spec": {"active": False}})
        reply = await client.patch("/v1/workloads/team-a/j", content=content, headers=MERGE)
        assert reply.status_code == 200, reply.text
