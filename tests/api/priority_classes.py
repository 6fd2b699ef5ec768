"""Hubs with two priority classes, people whose bindings list one, and work that names them."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx

from tests.api.people import a_user, bound
from tests.api.serving import Served, a_job, served
from tests.services.build import a_class, a_workload, in_cohort

CLASS = "kueue.x-k8s.io/priority-class"
MERGE = {"content-type": "application/merge-patch+json"}
LOW = {"namespaces": ["team-a"], "priorityClasses": ["low"]}


@contextlib.asynccontextmanager
async def hub_of_two_classes(tmp_path: Any) -> AsyncIterator[Served]:
    """Queue `a` in team-a; classes `high` and `low`."""
    async with served(tmp_path) as hub:
        for each in (*in_cohort("a", "4"), a_class("high", 1000), a_class("low", 5)):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        yield hub


async def person(hub: Served, role: str, *bindings: dict[str, Any]) -> httpx.AsyncClient:
    """A person with these bindings."""
    for number, where in enumerate(bindings):
        await bound(hub, f"p{number}", role, users=["p"], **where)
    return await a_user(hub, "p")


def job(name: str, named: str = "") -> dict[str, Any]:
    """A Job of queue `a` and that class."""
    made = a_job(name, namespace="team-a")
    made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "a"}
    if named:
        made["metadata"]["labels"][CLASS] = named
    return made


def workload(name: str, named: str, number: int) -> dict[str, Any]:
    """A Workload of that class with its number."""
    ref = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": named}
    return a_workload(name, priority=number, priorityClassRef=ref)


def with_pod_class(made: dict[str, Any], named: str) -> dict[str, Any]:
    """Its pods name a PriorityClass, which the scheduler of a member goes by."""
    made["spec"]["template"]["spec"]["priorityClassName"] = named
    return made
