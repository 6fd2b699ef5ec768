"""Kueue's scenarios of quota and preemption through REST, on a hub with one large cluster.

What runs is submitted first, one by one, and reported as running; then the incoming ones together.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hub.services.context import leadership
from hub.services.index.reader import FOLLOWED
from hub.services.scheduling.turn import Scheduler
from tests.api.serving import Served, a_job, served
from tests.services.build import a_class, in_cohort
from tests.services.hubs import Running, a_pool

pytestmark = pytest.mark.anyio

Job = tuple[str, str, int, int]  # name, queue, cpu, priority
BOTH = {"reclaimWithinCohort": "LowerPriority", "withinClusterQueue": "LowerPriority"}
ANY = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
WITHIN = {"withinClusterQueue": "LowerPriority"}


class Row(NamedTuple):
    """Queues by name: nominal, borrowing limit, lending limit, preemption."""

    queues: dict[str, tuple[Any, ...]]
    running: list[Job]
    incoming: list[Job]
    admitted: set[str] = set()  # noqa: RUF012 - never changed
    victims: set[str] = set()  # noqa: RUF012 - never changed


C1 = {"a": (50, 50), "b": (50, 10)}
C2 = {"a": (10, 10), "b": (10, 10), "c": (10, 10)}
P2 = {"c1": (6, 6, None, {"reclaimWithinCohort": "LowerPriority"}), "c2": (6, 6)}
P8 = {"lend1": (6, None, 4, BOTH), "lend2": (6, None, 2, BOTH)}
ROWS = {
    "Q7": Row(
        {"lend-a": (3, None, 2), "lend-b": (2, None, 2)},
        [("used", "lend-b", 2, 0)],
        [("x", "lend-b", 3, 0)],
    ),
    "Q8": Row(
        {"lender": (10, None, 3), "borrower": (5, 10)},
        [("used", "borrower", 5, 0)],
        [("x", "borrower", 4, 0)],
    ),
    "Q8 variant": Row(
        {"lender": (10, None, 5), "borrower": (5, 10)},
        [("used", "borrower", 5, 0)],
        [("x", "borrower", 5, 0)],
        {"x"},
    ),
    "C1": Row(C1, [], [("a1", "a", 45, 0), ("b1", "b", 56, 0)], {"a1"}),
    "C1 variant": Row(C1, [], [("a1", "a", 45, 0), ("b1", "b", 55, 0)], {"a1", "b1"}),
    "C2": Row(C2, [], [("low", "a", 16, -2), ("high", "b", 16, -1)], {"high"}),
    "C4": Row(
        {"a": (2, None, None, {"reclaimWithinCohort": "Any"}), "b": (0,)},
        [("used", "a", 1, 0)],
        [("head", "a", 2, 0), ("other", "b", 1, 0)],
        {"other"},
    ),
    "C6": Row(
        {"a": (2, None, None, ANY), "b": (2,)},
        [("ua", "a", 1, -1), ("ub", "b", 1, -1)],
        [("head", "a", 3, 1)],
    ),
    "C8": Row(
        {"alpha": (2, None, None, WITHIN), "beta": (2, None, None, WITHIN)},
        [("a1", "alpha", 2, 0), ("b1", "beta", 2, 0)],
        [("a2", "alpha", 2, 100), ("b2", "beta", 2, 100)],
        victims={"a1", "b1"},
    ),
    "P1": Row(
        {"q": (6, None, None, WITHIN)},
        [("low", "q", 1, -1), ("mid", "q", 2, 0), ("high", "q", 3, 1)],
        [("x", "q", 2, 1)],
        victims={"mid"},
    ),
    "P2": Row(
        P2,
        [("c1-low", "c1", 3, -1), ("c2-mid", "c2", 3, 0), ("c2-high", "c2", 6, 1)],
        [("x", "c1", 3, 1)],
        victims={"c2-mid"},
    ),
    "P3": Row(
        P2,
        [("c1-high", "c1", 4, 1), ("low-1", "c2", 4, -1), ("low-2", "c2", 4, -1)],
        [("x", "c1", 4, 1)],
    ),
    "P8": Row(
        P8,
        [("lend1-low", "lend1", 3, 0), ("mid", "lend2", 3, 0), ("high", "lend2", 4, 1)],
        [("x", "lend1", 3, 1)],
        victims={"mid"},
    ),
    "P9": Row(P8, [("low", "lend2", 10, -1)], [("x", "lend1", 9, 0)]),
}


@pytest.mark.parametrize("row", ROWS)
async def test_the_row_comes_out_through_rest(tmp_path: Path, row: str) -> None:
    """Admitted and preempted as Kueue does it."""
    scenario = ROWS[row]
    async with served(tmp_path) as hub:
        term = await hub.hub.write(leadership.seize, "test")
        feed = hub.hub.subscribe(*FOLLOWED)
        live = Running(hub.hub, Scheduler(hub.hub, lambda: term), feed)
        await live.cluster("c", a_pool(nodes=1, cpu="1000"))
        await _apply(hub, scenario.queues)
        for job in scenario.running:
            uid = await _submit(hub, job)
            await live.settle()
            for move in ("offer", "apply", "start"):
                await live.transition(move, uid)
        await live.settle()
        uids = {job[0]: await _submit(hub, job) for job in scenario.incoming}
        await live.settle()
        jobs = (await hub.admin.get("/v1/jobs")).json()["items"]
        states = {job["name"]: job["state"] for job in jobs}
        admitted = {name for name in uids if states[name] == "Placed"}
        victims = {name for name, state in states.items() if state == "Withdrawing"}
        assert (admitted, victims) == (scenario.admitted, scenario.victims)
        for name in uids.keys() - admitted:
            told = (await hub.admin.get(f"/v1/jobs/{uids[name]}/explain")).json()
            assert told["reason"], told
        feed.close()


async def _apply(hub: Served, queues: dict[str, tuple[Any, ...]]) -> None:
    cohort = "" if len(queues) == 1 else "all"
    documents: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}
    ]
    documents += [a_class(f"p{value}", value) for value in (-2, -1, 0, 1, 100)]
    for document in documents[1:]:
        document["metadata"]["name"] = document["metadata"]["name"].replace("p-", "minus-")
    for name, given in queues.items():
        nominal, borrow, lend, preemption = (*given, None, None, None)[:4]
        documents += in_cohort(
            name,
            str(nominal),
            cohort,
            borrow=_text(borrow),
            lend=_text(lend),
            preemption=preemption,
        )
    text = "\n---\n".join(json.dumps(document) for document in documents)
    reply = await hub.admin.post(
        "/v1/apply", content=text, headers={"content-type": "application/yaml"}
    )
    assert reply.status_code == 200, reply.text


def _text(amount: int | None) -> str | None:
    return None if amount is None else str(amount)


async def _submit(hub: Served, job: Job) -> str:
    name, queue, cpu, priority = job
    manifest = a_job(name, queue=queue)
    value = f"p{priority}".replace("p-", "minus-")
    manifest["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = value
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": str(cpu)}}
    reply = await hub.admin.post("/v1/jobs", json=manifest)
    assert reply.status_code == 201, reply.text
    hub.clock.advance(1)
    uid: str = reply.json()["uid"]
    return uid
