"""Role bindings list the priority classes that people name; Jobs without a class get `default`."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
import pytest

from tests.api.priority_classes import (
    LOW,
    MERGE,
    hub_of_two_classes,
    job,
    person,
    with_pod_class,
    workload,
)
from tests.api.serving import Served
from tests.services.build import a_class, a_workload, in_cohort

pytestmark = pytest.mark.anyio


async def by_submit(client: httpx.AsyncClient) -> Any:
    return (await client.post("/v1/jobs", json=job("j", "high"))).json()


async def by_batch(client: httpx.AsyncClient) -> Any:
    return (await client.post("/v1/jobs:batch", json=[job("j", "high")])).json()["items"][0]


async def by_apply(client: httpx.AsyncClient) -> Any:
    return (await client.post("/v1/apply", json=job("j", "high"))).json()["items"][0]


async def by_apply_of_a_change(client: httpx.AsyncClient) -> Any:
    assert (await client.post("/v1/jobs", json=job("j", "low"))).status_code == 201
    return await by_apply(client)


async def by_priority(client: httpx.AsyncClient) -> Any:
    made = (await client.post("/v1/jobs", json=job("j", "low"))).json()
    path = f"/v1/jobs/{made['uid']}/priority"
    return (await client.post(path, json={"priorityClass": "high"})).json()


async def by_workload(client: httpx.AsyncClient) -> Any:
    return (await client.post("/v1/workloads", json=workload("j", "high", 1000))).json()


async def by_patch(client: httpx.AsyncClient) -> Any:
    assert (await client.post("/v1/workloads", json=workload("j", "low", 5))).status_code == 201
    spec = {k: v for k, v in workload("j", "high", 1000)["spec"].items() if "riority" in k}
    content = orjson.dumps({"spec": spec})
    return (await client.patch("/v1/workloads/team-a/j", content=content, headers=MERGE)).json()


async def by_pods(client: httpx.AsyncClient) -> Any:
    return (await client.post("/v1/jobs", json=with_pod_class(job("j", "low"), "high"))).json()


async def by_pods_alone(client: httpx.AsyncClient) -> Any:
    return (await client.post("/v1/jobs", json=with_pod_class(job("j"), "high"))).json()


async def by_pods_of_a_workload(client: httpx.AsyncClient) -> Any:
    made = workload("j", "low", 5)
    made["spec"]["podSets"][0]["template"]["spec"]["priorityClassName"] = "high"
    return (await client.post("/v1/workloads", json=made)).json()


DOORS = (by_submit, by_batch, by_apply, by_apply_of_a_change, by_priority, by_workload, by_patch)
PODS = (by_pods, by_pods_alone, by_pods_of_a_workload)


@pytest.mark.parametrize("role", ["submitter", "batch-administrator"])
@pytest.mark.parametrize("door", [*DOORS, *PODS])
async def test_a_class_that_no_binding_lists_is_refused(tmp_path, door, role):
    """At every door, with the classes that the person may name."""
    async with hub_of_two_classes(tmp_path) as hub:
        said = await door(await person(hub, role, LOW))
        said = said.get("error") or said
        assert said["code"] == "PriorityNotAllowed", said
        assert (
            "high is not among the priority classes of your role bindings (low)" in said["detail"]
        )


@pytest.mark.parametrize("door", [*DOORS, *PODS])
async def test_bindings_add_up(tmp_path, door):
    """One that lists `high` beside one that lists `low`: every door is open."""
    async with hub_of_two_classes(tmp_path) as hub:
        high = LOW | {"priorityClasses": ["high"]}
        said = await door(await person(hub, "submitter", LOW, high))
        assert "code" not in said, said


@pytest.mark.parametrize("where", [{}, {"namespaces": ["team-a"]}])
async def test_a_binding_without_classes_is_for_all_of_them(tmp_path, where):
    """As every binding of an earlier release."""
    async with hub_of_two_classes(tmp_path) as hub:
        client = await person(hub, "submitter", where)
        assert (await client.post("/v1/jobs", json=job("j", "high"))).status_code == 201
        assert (await client.get("/v1/whoami")).json()["roles"][0]["priorityClasses"] is None


async def test_a_batch_administrator_of_some_classes_sets_no_number(tmp_path):
    """A number beyond the class would be a priority that no binding lists."""
    async with hub_of_two_classes(tmp_path) as hub:
        client = await person(hub, "batch-administrator", LOW)
        reply = await client.post("/v1/workloads", json=a_workload("w", priority=2_000_000_000))
        assert (reply.status_code, reply.json()["code"]) == (422, "PriorityNotAllowed")


LOW_IN_A = {"queues": ["a"], "priorityClasses": ["low"]}
ALL_IN_B = {"queues": ["b"]}


def moved(made: dict[str, Any]) -> dict[str, Any]:
    """The same Job in queue `b`."""
    made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "b"
    return made


@contextlib.asynccontextmanager
async def bound_by_queue(tmp_path: Any) -> AsyncIterator[tuple[Served, httpx.AsyncClient]]:
    """A person of queue `b` with every class, and of queue `a` with `low`."""
    async with hub_of_two_classes(tmp_path) as hub:
        for each in in_cohort("b", "4"):
            await hub.admin.post("/v1/apply", json=each)
        yield hub, await person(hub, "submitter", LOW_IN_A, ALL_IN_B)


async def test_a_job_takes_no_class_into_a_queue_whose_binding_does_not_list_it(tmp_path):
    """Queue `b` is open for every class, queue `a` for `low`."""
    async with bound_by_queue(tmp_path) as (hub, client):
        made = await client.post("/v1/jobs", json=moved(job("j", "high")))
        assert made.status_code == 201, made.text
        (item,) = (await client.post("/v1/apply", json=job("j", "high"))).json()["items"]
        assert item["code"] == "PriorityNotAllowed", item
        assert (await hub.admin.get(f"/v1/jobs/{made.json()['uid']}")).json()["queue"] == "b"


async def test_a_workload_takes_no_class_into_such_a_queue(tmp_path):
    """By a change of `queueName` alone."""
    async with bound_by_queue(tmp_path) as (_, client):
        given = workload("j", "high", 1000)
        given["spec"]["queueName"] = "b"
        assert (await client.post("/v1/workloads", json=given)).status_code == 201
        content = orjson.dumps({"spec": {"queueName": "a"}})
        reply = await client.patch("/v1/workloads/team-a/j", content=content, headers=MERGE)
        assert reply.json()["code"] == "PriorityNotAllowed", reply.text


async def test_pods_take_no_class_into_a_queue_whose_binding_does_not_list_it(tmp_path):
    """The PriorityClass of a Job's pods stays in its queue as the Job's own class does."""
    async with bound_by_queue(tmp_path) as (_, client):
        there = with_pod_class(moved(job("j")), "high")
        made = await client.post("/v1/jobs", json=there)
        assert made.status_code == 201, made.text
        (item,) = (await client.post("/v1/apply", json=there)).json()["items"]
        assert item["result"] == "unchanged"
        here = with_pod_class(job("j"), "high")
        (item,) = (await client.post("/v1/apply", json=here)).json()["items"]
        assert item["code"] == "PriorityNotAllowed", item
        assert (await client.get(f"/v1/jobs/{made.json()['uid']}")).json()["queue"] == "b"


async def test_pods_of_a_workload_take_no_class_into_such_a_queue(tmp_path):
    """By a change of `queueName` alone."""
    async with bound_by_queue(tmp_path) as (_, client):
        given = workload("j", "low", 5)
        given["spec"]["queueName"] = "b"
        given["spec"]["podSets"][0]["template"]["spec"]["priorityClassName"] = "high"
        assert (await client.post("/v1/workloads", json=given)).status_code == 201
        content = orjson.dumps({"spec": {"queueName": "a"}})
        reply = await client.patch("/v1/workloads/team-a/j", content=content, headers=MERGE)
        assert reply.json()["code"] == "PriorityNotAllowed", reply.text


async def test_a_binding_shows_its_classes(tmp_path):
    """To administrators and to the person; queues beside them stay as they are."""
    async with hub_of_two_classes(tmp_path) as hub:
        where = {"queues": ["a"], "priorityClasses": ["low", "high"]}
        client = await person(hub, "submitter", where)
        (item,) = (await hub.admin.get("/v1/access/bindings")).json()["items"]
        (role,) = (await client.get("/v1/whoami")).json()["roles"]
        for each in (item, role):
            assert (each["queues"], each["priorityClasses"]) == (["a"], ["high", "low"])


@pytest.mark.parametrize(
    ("role", "given", "code"),
    [
        ("viewer", ["low"], "InvalidValue"),
        ("cluster-administrator", ["low"], "InvalidValue"),
        ("submitter", [], "Required"),
        ("submitter", [""], "InvalidValue"),
    ],
)
async def test_a_binding_that_could_not_be_kept_to_is_refused(tmp_path, role, given, code):
    """With the field."""
    async with hub_of_two_classes(tmp_path) as hub:
        body = {"role": role, "users": ["p"], "priorityClasses": given}
        reply = await hub.admin.put("/v1/access/bindings/p", json=body)
        assert (reply.status_code, reply.json()["code"]) == (422, code)
        assert reply.json()["errors"][0]["field"] == "priorityClasses"


async def priority(hub: Served, uid: str) -> tuple[int, str]:
    """The priority of a job, and its class."""
    found = (await hub.admin.get(f"/v1/jobs/{uid}")).json()
    return found["priority"], found["priorityClass"]


async def test_a_job_without_a_class_gets_the_class_default(tmp_path):
    """Its value and its name; one that names a class keeps that."""
    async with hub_of_two_classes(tmp_path) as hub:
        await hub.admin.post("/v1/apply", json=a_class("default", 50))
        plain = (await hub.admin.post("/v1/jobs", json=job("plain"))).json()["uid"]
        low = (await hub.admin.post("/v1/jobs", json=job("low", "low"))).json()["uid"]
        assert await priority(hub, plain) == (50, "default")
        assert await priority(hub, low) == (5, "low")


async def test_without_a_class_default_the_priority_is_zero(tmp_path):
    """And a class that is made later changes no job that is there, also not by a change of another field."""
    async with hub_of_two_classes(tmp_path) as hub:
        uid = (await hub.admin.post("/v1/jobs", json=job("j"))).json()["uid"]
        await hub.admin.post("/v1/apply", json=a_class("default", 50))
        changed = job("j")
        changed["spec"]["backoffLimit"] = 3
        await hub.admin.post("/v1/apply", json=changed)
        assert await priority(hub, uid) == (0, "")


async def test_a_job_that_loses_its_class_gets_the_class_default(tmp_path):
    """By its label and by the priority verb."""
    async with hub_of_two_classes(tmp_path) as hub:
        await hub.admin.post("/v1/apply", json=a_class("default", 50))
        for name in ("one", "two"):
            uid = (await hub.admin.post("/v1/jobs", json=job(name, "high"))).json()["uid"]
            if name == "one":
                await hub.admin.post("/v1/apply", json=job(name))
            else:
                await hub.admin.post(f"/v1/jobs/{uid}/priority", json={"priorityClass": ""})
            assert await priority(hub, uid) == (50, "default")


async def test_the_class_default_needs_no_binding(tmp_path):
    """It is what an administrator gives to Jobs that name none."""
    async with hub_of_two_classes(tmp_path) as hub:
        await hub.admin.post("/v1/apply", json=a_class("default", 50))
        client = await person(hub, "submitter", LOW)
        uid = (await client.post("/v1/jobs", json=job("j"))).json()["uid"]
        assert await priority(hub, uid) == (50, "default")
