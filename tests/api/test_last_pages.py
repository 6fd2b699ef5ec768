"""Lists page by page: the last page may be exactly full, none overlaps, and nothing follows the last."""

import functools
from typing import Any

import httpx
import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.questions import overview
from hub.store import workloads, works
from hub.store.records.workloads import change_of
from hub.store.records.works import WantedWork
from hub.store.tables import works as table
from hub.store.transaction import Transaction
from shared.errors import Rejected
from tests.api.serving import Served, a_job, served
from tests.services import hubs
from tests.services.build import a_workload
from tests.services.http_hub import http_hub
from tests.services.outside.controller import a_checked_queue

pytestmark = pytest.mark.anyio
DRIFT = [{"path": "/spec/a", "hub": "1", "member": "2"}]


def _touch(keys: list[str], tx: Transaction) -> None:
    tx.touch("objects", *keys)


def a_wanted(cluster: str, uid: str) -> WantedWork:
    """A work of an object."""
    return {
        "cluster": cluster,
        "uid": uid,
        "epoch": 0,
        "generation": 1,
        "api_version": "v1",
        "kind": "ConfigMap",
        "namespace": "team-a",
        "name": uid,
        "options": ApplyOptions(),
        "placed_by": "p",
    }


async def four_of_each(hub: Served) -> None:
    """Four jobs with label team=blue among six, four held Workloads, four ConfigMaps, four drifted works."""
    for name in ("a", "b", "x", "c", "y", "d"):
        job = a_job(name)
        if name in "abcd":
            job["metadata"]["labels"] = {"team": "blue"}
        uid = (await hub.admin.post("/v1/jobs", json=job)).json()["uid"]
        if name in "abcd":
            await hub.admin.post(f"/v1/jobs/{uid}/hold")
        hub.clock.advance(1)
    for number in range(4):
        document = {"apiVersion": "v1", "kind": "ConfigMap"}
        named = {"metadata": {"name": f"m{number}", "namespace": "team-a"}}
        await hub.admin.post("/v1/apply", json=document | named)
        held = a_workload(f"w{number}", "nowhere", namespace="team-h")
        await hub.admin.post("/v1/apply", json=held)

    def drift(tx: Transaction) -> None:
        works.upsert(tx, [a_wanted(f"c{n % 2}", f"u{n}") for n in range(4)])
        tx.conn.execute(table.update().values(drift=DRIFT))

    await hub.db.write(drift)


async def pages(http: httpx.AsyncClient, path: str, **query: Any) -> list[list[dict[str, Any]]]:
    """The items of every page, up to the one without `continue`."""
    found: list[list[dict[str, Any]]] = []
    token = ""
    while token or not found:
        reply = await http.get(path, params={**query, "continue": token})
        assert reply.status_code == 200, reply.text
        found.append(reply.json()["items"])
        token = reply.json()["continue"]
        assert len(found) < 20
    return found


LISTS = [
    ("/v1/jobs", {"labelSelector": "team=blue"}),
    ("/v1/jobs", {"state": "Held"}),
    ("/v1/workloads", {"state": "Held"}),
    ("/v1/workloads", {"namespace": "team-a", "state": "Held", "condition": "QuotaReserved=False"}),
    ("/v1/workloads", {"namespace": "team-h"}),
    ("/v1/objects/core/ConfigMap", {}),
    ("/v1/events", {"namespace": "team-a", "kind": "Job"}),
    ("/v1/audit", {}),
    ("/v1/drift", {}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "query"), LISTS)
async def test_pages_are_full_and_the_last_says_that_it_is(tmp_path, path, query):
    """Whatever the length of a page, all is told once, and no page is empty but that of nothing."""
    async with served(tmp_path) as hub:
        await four_of_each(hub)
        (whole,) = await pages(hub.admin, path, **query, limit=500)
        count = len(whole)
        assert count >= 4
        for limit in (1, 2, count - 1, count, count + 1):
            found = await pages(hub.admin, path, **query, limit=limit)
            sizes = [limit] * (count // limit) + [count % limit] * bool(count % limit)
            assert [len(page) for page in found] == sizes, limit
            order = found[::-1] if path == "/v1/events" else found  # goes back in time
            assert [item for page in order for item in page] == whole, limit


@pytest.mark.parametrize(
    ("limit", "sizes"), [(1, [2, 2, 2]), (2, [2, 2, 2]), (3, [4, 2]), (5, [6]), (6, [6]), (7, [6])]
)
async def test_the_checks_of_one_job_stay_on_one_page(tmp_path, limit, sizes):
    """A page ends with the job that fills it; whoever goes on from it is told of nobody twice."""
    async with http_hub(tmp_path) as it:
        await it.hub.cluster("a", hubs.a_pool(cpu="8", memory="8Gi"))
        await a_checked_queue(it.hub, "approval", "budget")
        await it.hub.apply(*(hubs.a_job(f"j{n}", queue="gold") for n in range(3)))
        await it.hub.settle()
        found = await pages(it.http, "/v1/checks", limit=limit)
        assert [len(page) for page in found] == sizes
        told = [(item["workload"], item["name"]) for page in found for item in page]
        assert sorted(told) == [(f"j{n}", c) for n in range(3) for c in ("approval", "budget")]


@pytest.mark.parametrize(("offset", "limit"), [(0, 3), (2, 1), (2, 2), (3, 1), (0, 1)])
async def test_a_window_of_a_line_is_what_was_asked_for(tmp_path, offset, limit):
    """Past the end there is nothing; positions stay those of the whole line."""
    async with http_hub(tmp_path) as it:
        await it.hub.apply(*hubs.a_queue("all", quota={"cpu": "1"}))
        await it.hub.apply(*(hubs.a_job(f"j{n}", queue="all") for n in range(3)))
        await it.hub.follow()
        line = "/apis/visibility.kueue.x-k8s.io/v1beta2"
        for path in ("clusterqueues/all", "namespaces/team-a/localqueues/all"):
            asked = {"offset": offset, "limit": limit}
            got = await it.get(f"{line}/{path}/pendingworkloads", **asked)
            positions = [item["positionInClusterQueue"] for item in got["items"]]
            assert positions == list(range(3))[offset : offset + limit]
            assert positions == [item["positionInLocalQueue"] for item in got["items"]]


async def test_the_feed_is_told_from_the_oldest_revision_to_the_newest(tmp_path):
    """From just before the oldest, and from the newest itself, there is no hole: one beyond either is 410."""
    async with served(tmp_path) as hub:
        for name in ("a", "b", "c"):
            await hub.admin.post("/v1/jobs", json=a_job(name))
        newest = hub.db.revision
        await hub.db.write(
            lambda tx: tx.conn.exec_driver_sql("DELETE FROM changes WHERE revision < 2")
        )
        newest = hub.db.revision

        async def told(after: int, limit: int = 200) -> Any:
            try:
                page, more = await hub.hub.read(overview.changes_since, after, limit)
            except Rejected as refusal:
                return str(refusal.code)
            return [change["revision"] for change in page], more

        assert await told(0) == "Expired"
        assert (await told(1))[0][0] == 2
        assert await told(newest) == ([], False)
        assert await told(newest + 1) == "Expired"


async def test_revisions_of_the_feed_are_never_cut_in_two(tmp_path):
    """A page ends with a whole revision, and whoever goes on after it gets the next one whole."""
    async with served(tmp_path) as hub:
        for name in ("a", "b", "c"):
            await hub.admin.post("/v1/jobs", json=a_job(name))
        read = overview.changes_since
        whole, more = await hub.hub.read(read, 0, 200)
        assert more is False
        per_revision = max(
            sum(1 for each in whole if each["revision"] == change["revision"]) for change in whole
        )
        for limit in range(per_revision + 1, len(whole) + 2):
            found: list[Any] = []
            after, more = 0, True
            while more:
                page, more = await hub.hub.read(read, after, limit)
                found += page
                after = page[-1]["revision"] if page else after
            assert found == whole, limit


async def test_a_page_of_the_feed_is_short_where_much_was_touched(tmp_path):
    """It ends with the revision that makes it large, says that there is more, and loses none."""
    async with served(tmp_path) as hub:
        before = hub.db.revision
        for number in range(4):
            keys = [f"{number}-{each}" for each in range(overview.MOST_KEYS)]
            await hub.db.write(functools.partial(_touch, keys))
        after, sizes, more = before, [], True
        while more:
            page, more = await hub.hub.read(overview.changes_since, after, 200)
            sizes.append(sum(len(change["keys"]) for change in page))
            after = page[-1]["revision"]
        assert sizes == [overview.MOST_KEYS] * 4
        assert after == hub.db.revision


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_a_rare_condition_loses_nobody_between_pages(tmp_path, limit):
    """Rows that were looked at and did not fit on the page stand on the next one."""
    async with served(tmp_path) as hub:
        uids = []
        for name in ("a", "b", "c", "d"):
            uids.append((await hub.admin.post("/v1/jobs", json=a_job(name))).json()["uid"])
            hub.clock.advance(1)
        said = {"reason": "Preempted", "message": "", "at": hub.clock.now().isoformat()}
        evicted = [change_of(uid, {"evicted": said}) for n, uid in enumerate(uids) if n != 2]
        await hub.db.write(lambda tx: workloads.change(tx, evicted))
        found = await pages(hub.admin, "/v1/workloads", condition="Evicted", limit=limit)
        named = [i["metadata"]["ownerReferences"][0]["name"] for page in found for i in page]
        assert named == ["d", "b", "a"]


async def test_workloads_that_wait_for_their_queue_are_those_that_were_asked_for(tmp_path):
    """By namespace and by the queue they name; of a ClusterQueue or a state they have none."""
    async with served(tmp_path) as hub:
        for namespace, queue in (("team-h", "one"), ("team-h", "two"), ("team-i", "one")):
            held = a_workload(f"{namespace}-{queue}", queue, namespace=namespace)
            await hub.admin.post("/v1/apply", json=held)

        async def named(**query: str) -> list[str]:
            (found,) = await pages(hub.admin, "/v1/workloads", **query)
            return [item["metadata"]["name"] for item in found]

        assert await named() == ["team-h-one", "team-h-two", "team-i-one"]
        assert await named(namespace="team-h") == ["team-h-one", "team-h-two"]
        assert await named(queue="one") == ["team-h-one", "team-i-one"]
        assert await named(namespace="team-i", queue="two") == []
        assert await named(state="Pending") == await named(clusterQueue="one") == []
