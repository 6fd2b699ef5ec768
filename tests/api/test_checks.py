"""A controller of admission checks that has nothing but REST: it serves, lists who waits, answers."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.scheduling import scheduling
from tests.api.serving import Served, a_job

pytestmark = pytest.mark.anyio
STATUS = "/v1/objects/kueue.x-k8s.io/AdmissionCheck/budget/status"
ACTIVE = {"type": "Active", "status": "True", "reason": "Serving", "message": "budget service"}


async def submit(hub: Served, name: str) -> str:
    reply = await hub.admin.post("/v1/jobs", json=a_job(name, queue="gold"))
    uid: str = reply.json()["uid"]
    return uid


async def state_of(hub: Served, uid: str) -> str:
    state: str = (await hub.admin.get(f"/v1/jobs/{uid}")).json()["state"]
    return state


async def test_a_queue_waits_for_the_controller_of_its_check(tmp_path: Path) -> None:
    """Until its controller says Active, the queue is inactive and says so; then it reserves."""
    async with scheduling(tmp_path) as (hub, live):
        uid = await submit(hub, "one")
        await live.settle()
        told = (await hub.admin.get(f"/v1/jobs/{uid}/explain")).json()
        assert (told["reason"], "AdmissionCheckInactive" in told["message"]) == (
            "Misconfigured",
            True,
        )
        reply = await hub.admin.put(STATUS, json={"conditions": [ACTIVE]})
        assert reply.json()["status"]["conditions"][0]["status"] == "True"
        await live.settle()
        assert await state_of(hub, uid) == "Reserved"
        queue = (await hub.admin.get("/v1/queues/gold")).json()
        assert queue["conditions"][0]["reason"] == "Ready"


async def test_a_controller_lists_who_waits_and_answers(tmp_path: Path) -> None:
    """Open checks come page by page, with queue, cluster and admission; an answer closes one."""
    async with scheduling(tmp_path) as (hub, live):
        await hub.admin.put(STATUS, json={"conditions": [ACTIVE]})
        uids = {await submit(hub, f"job-{n}") for n in range(3)}
        await live.settle()
        found: list[dict[str, Any]] = []
        token = ""
        while True:
            query = "?controller=example.com/budget&limit=2" + (
                f"&continue={token}" if token else ""
            )
            page = (await hub.viewer.get(f"/v1/checks{query}")).json()
            found += page["items"]
            token = page["continue"]
            if not token:
                break
        assert {each["uid"] for each in found} == uids
        one = found[0]
        assert (one["name"], one["state"], one["clusterQueue"], one["cluster"]) == (
            "budget",
            "Pending",
            "gold",
            "c",
        )
        assert one["admission"]["podSets"][0]["usage"]["cpu"] == 1000
        path = f"/v1/jobs/{one['uid']}/checks"
        reply = await hub.admin.put(f"{path}/budget", json={"state": "Ready", "message": "ok"})
        assert [c["state"] for c in reply.json()["items"]] == ["Ready"]
        await live.settle()
        assert await state_of(hub, one["uid"]) == "Placed"
        assert len((await hub.viewer.get("/v1/checks")).json()["items"]) == 2
        assert (await hub.viewer.get("/v1/checks?check=other")).json()["items"] == []


async def test_the_same_answer_again_changes_nothing(tmp_path: Path) -> None:
    """An answer may be repeated: no event, no new revision of the workload."""
    async with scheduling(tmp_path) as (hub, live):
        await hub.admin.put(STATUS, json={"conditions": [ACTIVE]})
        uid = await submit(hub, "one")
        await live.settle()
        body = {"state": "Pending", "message": "looking"}
        for _ in range(2):
            assert (
                await hub.admin.put(f"/v1/jobs/{uid}/checks/budget", json=body)
            ).status_code == 200
        events = (await hub.admin.get(f"/v1/jobs/{uid}/events")).json()["items"]
        assert [e["reason"] for e in events].count("AdmissionCheckUpdated") == 1


async def test_explain_names_the_checks_that_are_open(tmp_path: Path) -> None:
    """A reserved job says which checks are open and who must answer them."""
    async with scheduling(tmp_path) as (hub, live):
        await hub.admin.put(STATUS, json={"conditions": [ACTIVE]})
        uid = await submit(hub, "one")
        await live.settle()
        told = (await hub.viewer.get(f"/v1/jobs/{uid}/explain")).json()
        (check,) = told["checks"]
        assert (check["name"], check["state"], check["controllerName"]) == (
            "budget",
            "Pending",
            "example.com/budget",
        )


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/jobs/{uid}/checks/none", {"state": "Ready"}, 422, "UnknownCheck"),
        ("/v1/jobs/{uid}/checks/budget", {"state": "Yes"}, 422, "InvalidState"),
        ("/v1/jobs/{uid}/checks/budget", {}, 422, "Required"),
        ("/v1/jobs/{uid}/checks/budget", {"state": "Ready", "x": 1}, 422, "UnknownField"),
        (
            "/v1/jobs/{uid}/checks/budget",
            {"state": "Ready", "podSetUpdates": [{"name": "main", "labels": {"a": 1}}]},
            422,
            "InvalidType",
        ),
        ("/v1/jobs/nobody/checks/budget", {"state": "Ready"}, 404, "NotFound"),
        (STATUS, {"conditions": [{"type": "Active", "status": "Yes"}]}, 422, "Required"),
        (STATUS, {"conditions": None}, 422, "InvalidType"),
        (STATUS.replace("budget", "none"), {"conditions": []}, 404, "NotFound"),
        (
            "/v1/objects/kueue.x-k8s.io/ClusterQueue/gold/status",
            {"conditions": []},
            422,
            "NotSettable",
        ),
    ],
)
async def test_wrong_answers_are_refused(
    tmp_path: Path, path: str, body: dict[str, Any], status: int, code: str
) -> None:
    """Each names what is wrong, and nothing changes."""
    async with scheduling(tmp_path) as (hub, live):
        await hub.admin.put(STATUS, json={"conditions": [ACTIVE]})
        uid = await submit(hub, "one")
        await live.settle()
        reply = await hub.admin.put(path.format(uid=uid), json=body)
        assert (reply.status_code, reply.json()["code"]) == (status, code), reply.text
        assert await state_of(hub, uid) == "Reserved"
