"""Lists of Workloads and of open checks, page by page: nothing twice, nothing left out, each filter."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest

from hub.services.context.paging import Pager
from hub.services.kueue_view import open_checks, pages
from hub.services.kueue_view.workload import workload_name
from hub.store import manifests, objects, workloads
from hub.store.engine import Database
from hub.store.transaction import Transaction
from shared.errors import Rejected
from tests.services.kueue_view.rows import A_SHAPE
from tests.store.build import START, a_workload, an_object, call, opened

pytestmark = pytest.mark.anyio
KUEUE = "kueue.x-k8s.io"
MINUTE = dt.timedelta(minutes=1)
ADMITTED = {"placed_at": START, "admission": {"podSets": []}, "cluster": "c1", "epoch": 1}


def pager(question: Mapping[str, str]) -> Pager:
    return Pager(b"k", "ann", dict(question), START, MINUTE)


def a_local_queue(name: str, leads_to: str) -> Any:
    return an_object(
        f"lq-{name}", api_group=KUEUE, api_version=f"{KUEUE}/v1beta2", kind="LocalQueue", name=name,
        spec={"clusterQueue": leads_to},
    )  # fmt: skip


def a_held(name: str, **columns: Any) -> Any:
    """A Workload that is kept as an object."""
    manifest = {
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "team-a"},
    } | columns.pop("manifest", {})
    given = {"namespace": "team-a", "spec": {"queueName": "none"}} | columns
    return an_object(
        f"held-{name}", api_group=KUEUE, api_version=f"{KUEUE}/v1beta2", kind="Workload",
        name=name, manifest=manifest, **given,
    )  # fmt: skip


def fill(tx: Transaction) -> None:
    """Jobs and bare Workloads of two namespaces and queues in several states, and some that are kept."""
    manifests.add_shapes(tx, {"s": A_SHAPE})
    rows = [
        a_workload("w1", kind="Workload", queue="a"),
        a_workload("w2", kind="Workload", queue="b", created_at=START + MINUTE),
        a_workload("w3", kind="Workload", queue="a", state="Running", cluster_queue="x", **ADMITTED),
        a_workload("w4", kind="Workload", queue="a", namespace="team-b"),
        a_workload("w5", kind="Workload", queue="a", state="Succeeded", **ADMITTED),
        a_workload("w6", kind="Workload", queue="a", live=None),
        a_workload("w7", kind="Workload", queue="a", state="Reserved", reserved_at=START,
                   admission={"podSets": []}),
    ]  # fmt: skip
    workloads.add(tx, rows)
    owned = {"manifest": {"metadata": {"ownerReferences": [{"kind": "Job"}]}}}
    for row in (
        a_local_queue("a", "x"),
        a_local_queue("b", "y"),
        a_held("h1"),
        a_held("h2", spec={"queueName": "a"}),
        a_held("h3", deleted_at=START),
        a_held("h4", **owned),
        a_held("h5", namespace="team-b"),
    ):
        objects.add(tx, row)


async def listed(db: Database, limit: int = 100, **filters: str) -> list[str]:
    """Names on all pages, each page at most `limit`."""
    found: list[str] = []
    token: str | None = None
    for _ in range(50):
        page = await db.read(call(pages.list_workloads, filters, pager(filters), token, limit))
        assert len(page["items"]) <= limit
        assert page["metadata"]["continue"] == page["continue"]
        assert (page["kind"], page["apiVersion"]) == ("WorkloadList", f"{KUEUE}/v1beta2")
        found += [each["metadata"]["name"] for each in page["items"]]
        token = page["continue"]
        if not token:
            return found
    raise AssertionError("the list does not end")


ALL = ["w2", "w7", "w5", "w4", "w3", "w1", "h1", "h2", "h5"]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 7, 8, 9, 100])
async def test_every_workload_is_on_one_page(tmp_path, limit):
    """Newest first, then those that are kept, by namespace and name; wherever a page ends."""
    async with opened(tmp_path) as db:
        await db.write(fill)
        assert await listed(db, limit) == ALL


@pytest.mark.parametrize("limit", [1, 2, 100])
@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"namespace": "team-b"}, ["w4", "h5"]),
        ({"queue": "a"}, ["w7", "w5", "w4", "w3", "w1", "h2"]),
        ({"clusterQueue": "x"}, ["w7", "w5", "w3", "w1"]),
        ({"clusterQueue": "y"}, ["w2"]),
        ({"clusterQueue": "z"}, []),
        ({"state": "Running"}, ["w3"]),
        ({"condition": "QuotaReserved"}, ["w7", "w5", "w3"]),
        ({"condition": "QuotaReserved=False"}, ["w2", "w4", "w1"]),
        ({"condition": "Admitted=True"}, ["w5", "w3"]),
        ({"condition": "Admitted=False"}, ["w2", "w7", "w4", "w1"]),
        ({"condition": "Finished"}, ["w5"]),
        ({"condition": "Finished=False"}, []),
        ({"condition": "Admitted", "queue": "a", "namespace": "team-a"}, ["w5", "w3"]),
    ],
)
async def test_a_filter_leaves_out_what_it_says(tmp_path, limit, filters, names):
    """However small the pages; what is kept has neither conditions nor a state nor a ClusterQueue."""
    async with opened(tmp_path) as db:
        await db.write(fill)
        assert await listed(db, limit, **filters) == names


@pytest.mark.parametrize("text", ["Ready", "Admitted=Yes", "=True", "Admitted="])
async def test_only_conditions_that_there_are_can_be_asked_for(tmp_path, text):
    """Alone, or with True or False."""
    async with opened(tmp_path) as db:
        if text == "Admitted=":
            assert await listed(db, condition=text) == []
        else:
            with pytest.raises(Rejected) as refused:
                await listed(db, condition=text)
            assert (refused.value.code, refused.value.field) == ("InvalidCondition", "condition")


async def test_one_workload_is_found_by_its_own_name(tmp_path):
    """A Job's by the name that it has as a Workload; one that is kept as it was sent, without conditions."""
    async with opened(tmp_path) as db:
        await db.write(fill)
        job = a_workload("job-uid", name="job-x-00000")
        namesake = a_workload("other", kind="Workload", name="job-x-00000", reason="mine")
        await db.write(call(workloads.add, [job, namesake]))

        async def one(name: str, namespace: str = "team-a") -> Any:
            return await db.read(call(pages.get_workload, namespace, name))

        assert (await one("w1"))["metadata"]["uid"] == "w1"
        assert (await one("job-x-00000"))["metadata"]["uid"] == "other"
        name = workload_name(job)
        assert (await one(name))["metadata"]["ownerReferences"][0]["uid"] == "job-uid"
        kept = await one("h2")
        assert (kept["metadata"]["uid"], kept["status"]) == ("held-h2", {"conditions": []})
        for absent, namespace in (("h3", "team-a"), ("h4", "team-a"), ("w1", "team-b"),
                                  ("w6", "team-a")):  # fmt: skip
            with pytest.raises(Rejected) as refused:
                await one(absent, namespace)
            assert refused.value.code == "NotFound"


UPDATES = [{"name": "main", "labels": {"a": "b"}}]
SAID = {
    "state": "Retry", "message": "m", "at": "2026-03-01T11:00:00Z", "requeueAfterSeconds": 5,
    "retryCount": 2, "podSetUpdates": UPDATES,
}  # fmt: skip


def reserve(tx: Transaction) -> None:
    """Three reserved workloads with checks of two controllers, one that is asked nothing any more."""
    for name, controller in (("budget", "c/one"), ("room", "c/two"), ("stale", "c/one")):
        spec = {"controllerName": controller}
        objects.add(tx, an_object(f"check-{name}", api_group=KUEUE, kind="AdmissionCheck",
                                  namespace="", name=name, spec=spec))  # fmt: skip
    still, done = {"state": "Pending"}, {"state": "Ready"}
    base = {"state": "Reserved", "cluster": "c1", "cluster_queue": "cq", "epoch": 1,
            "admission": {"podSets": []}, "reserved_at": START}  # fmt: skip
    workloads.add(
        tx,
        [
            a_workload("a", **base, checks={"room": still, "budget": still}),
            a_workload("b", **base, checks={"budget": done, "room": still}),
            a_workload("c", **base, checks={"budget": SAID, "nobody": still}),
            a_workload("d", **base, checks={"budget": done}),
            a_workload("e", **(base | {"state": "Running"}), checks={"budget": still}),
            a_workload("f", **base, checks={"budget": still}),
        ],
    )


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("check", "controller", "expected"),
    [
        ("", "", ["a/budget", "a/room", "b/room", "c/budget", "c/nobody", "f/budget"]),
        ("budget", "", ["a/budget", "c/budget", "f/budget"]),
        ("", "c/two", ["a/room", "b/room"]),
        ("budget", "c/two", []),
        ("room", "c/two", ["a/room", "b/room"]),
        ("nobody", "", ["c/nobody"]),
    ],
)
async def test_every_open_check_is_on_one_page(tmp_path, limit, check, controller, expected):
    """Of workloads that are reserved, in their order; all of one workload on the page of its first."""
    async with opened(tmp_path) as db:
        await db.write(reserve)
        found: list[str] = []
        token: str | None = None
        for _ in range(20):
            page = await db.read(
                call(open_checks.list_open, check, controller, pager({}), token, limit)
            )
            found += [f"{each['uid']}/{each['name']}" for each in page["items"]]
            token = page["continue"]
            if not token:
                break
        assert sorted(found) == sorted(expected)
        assert [name.split("/")[0] for name in found] == [n.split("/")[0] for n in expected]


async def test_an_open_check_says_of_whom_and_by_whom(tmp_path):
    """Every field, as one asks for all and as one asks for those of a workload."""
    async with opened(tmp_path) as db:
        await db.write(reserve)
        state = {
            "name": "budget", "controllerName": "c/one", "state": "Retry", "message": "m",
            "at": "2026-03-01T11:00:00Z", "requeueAfterSeconds": 5, "retryCount": 2,
            "podSetUpdates": UPDATES,
        }  # fmt: skip
        plain = {
            "name": "nobody", "controllerName": "", "state": "Pending", "message": "",
            "at": None, "requeueAfterSeconds": None, "retryCount": 0, "podSetUpdates": [],
        }  # fmt: skip
        page = await db.read(call(open_checks.list_open, "", "", pager({}), None, 100))
        of = {
            "uid": "c", "kind": "Job", "namespace": "team-a", "workload": "c",
            "queue": "default", "clusterQueue": "cq", "cluster": "c1",
            "admission": {"podSets": []}, "reservedAt": "2026-03-01T12:00:00Z",
        }  # fmt: skip
        shown = [each for each in page["items"] if each["uid"] == "c"]
        assert sorted(shown, key=lambda each: str(each["name"])) == [of | state, of | plain]
        assert await db.read(call(open_checks.checks_of, "c")) == {
            "uid": "c",
            "state": "Reserved",
            "cluster": "c1",
            "items": [state, plain],
        }
        with pytest.raises(Rejected) as refused:
            await db.read(call(open_checks.checks_of, "nobody"))
        assert refused.value.code == "NotFound"
