"""Everything that grows stays bounded."""

import datetime as dt

import pytest
from sqlalchemy import func, select

from hub.controllers.expiry import Expiry
from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import Transition
from hub.services.access import credentials
from hub.services.context.settings import Api, Retention, Settings
from hub.store import tables, workloads, works
from hub.store.leases import seize
from hub.store.records.works import WantedWork
from tests.api.serving import Served, a_job, served

pytestmark = pytest.mark.anyio
DAY = 86_400
LIMITS = Settings(retention=Retention(rows_per_turn=7), api=Api(token_cache_s=0))
GROWING = (
    tables.audit,
    tables.changes,
    tables.events,
    tables.explanations,
    tables.idempotency,
    tables.manifests,
    tables.shapes,
    tables.tokens,
    tables.workloads,
)


async def _sizes(hub: Served) -> dict[str, int]:
    def count(tx):
        return {
            table.name: tx.conn.execute(select(func.count()).select_from(table)).scalar()
            for table in GROWING
        }

    return await hub.db.read(count)


async def _expire(hub: Served) -> None:
    term = await hub.db.write(lambda tx: seize(tx, "test", dt.timedelta(days=900)))
    controller = Expiry(hub.hub, lambda: term)
    while await controller.tick() == 0.0:
        pass


async def _a_days_work(hub: Served, day: int) -> None:
    """10 jobs submitted and cancelled, with keys, events, audit rows and a join token."""
    for i in range(10):
        headers = {"Idempotency-Key": f"{day}-{i}"}
        manifest = a_job(f"d{day}-{i}", parallelism=1 + day % 5)
        job = (await hub.admin.post("/v1/jobs", json=manifest, headers=headers)).json()
        await hub.admin.post(f"/v1/jobs/{job['uid']}/cancel")
    await hub.db.write(lambda tx: credentials.issue_join(tx, "c1", dt.timedelta(minutes=15)))

    def explain(tx):
        tx.conn.execute(
            tables.explanations.insert(), {"key": f"k{day}", "explanation": {}, "at": tx.now}
        )

    await hub.db.write(explain)


async def test_sizes_stay_bounded(tmp_path):
    """After 23 days of equal work the tables hold no more than after 12; in the end, nothing."""
    async with served(tmp_path, LIMITS) as hub:
        sizes = []
        for day in range(24):
            await _a_days_work(hub, day)
            await _expire(hub)
            sizes.append(await _sizes(hub))
            hub.clock.advance(DAY)
        for name, bound in sizes[12].items():
            if name not in {"audit", "tokens"}:  # kept for 90 and 30 days
                assert sizes[23][name] <= bound, name
        hub.clock.advance(100 * DAY)
        await _expire(hub)
        left = await _sizes(hub)
        assert left["workloads"] == left["manifests"] == left["shapes"] == left["audit"] == 0
        assert left["idempotency"] == left["explanations"] == 0
        assert left["tokens"] == 3  # the credentials in use
        assert left["changes"] < 50  # of the last hour: the expiry's own
        assert left["events"] <= 1


async def test_a_name_comes_back_when_its_ttl_is_over(tmp_path):
    """ttlSecondsAfterFinished frees the name; the record stays to be looked at."""
    async with served(tmp_path, LIMITS) as hub:
        job = (await hub.admin.post("/v1/jobs", json=a_job(ttlSecondsAfterFinished=60))).json()
        await hub.admin.post(f"/v1/jobs/{job['uid']}/cancel")
        hub.clock.advance(59)
        await _expire(hub)
        assert (await hub.admin.post("/v1/jobs", json=a_job())).status_code == 409
        hub.clock.advance(1)
        await _expire(hub)
        assert (await hub.admin.post("/v1/jobs", json=a_job())).status_code == 201
        assert (await hub.admin.get(f"/v1/jobs/{job['uid']}")).json()["state"] == "Cancelled"


async def test_a_record_outlives_its_copy_in_the_member(tmp_path):
    """A finished job that a member still holds is first taken back there, and forgotten then."""
    async with served(tmp_path, LIMITS) as hub:
        job = (await hub.admin.post("/v1/jobs", json=a_job())).json()
        uid = job["uid"]

        def finish(tx):
            workloads.transition(tx, Transition.PLACE, [{"uid": uid, "epoch": 0, "cluster": "c1"}])
            works.upsert(tx, [_work(uid)])
            for name in ("offer", "succeed"):
                workloads.transition(tx, Transition(name), [{"uid": uid, "epoch": 1}])
            works.act(tx, "Keep", [("c1", uid)])

        await hub.db.write(finish)
        hub.clock.advance(8 * DAY)
        await _expire(hub)
        (row,) = await hub.db.read(lambda tx: works.of_uids(tx, [uid]))
        assert row.action == "Withdraw"
        assert (await hub.admin.get(f"/v1/jobs/{uid}")).status_code == 200
        await hub.db.write(lambda tx: works.remove(tx, [("c1", uid)]))
        await _expire(hub)
        assert (await hub.admin.get(f"/v1/jobs/{uid}")).status_code == 404


async def test_a_former_leader_removes_nothing(tmp_path):
    """Every step names the term."""
    from hub.store.errors import StaleTerm

    async with served(tmp_path, LIMITS) as hub:
        await hub.db.write(lambda tx: seize(tx, "other", dt.timedelta(days=1)))
        with pytest.raises(StaleTerm):
            await Expiry(hub.hub, lambda: 99).tick()


def _work(uid: str) -> WantedWork:
    return {
        "cluster": "c1",
        "uid": uid,
        "epoch": 1,
        "generation": 1,
        "api_version": "batch/v1",
        "kind": "Job",
        "namespace": "team-a",
        "name": "ok",
        "action": "Apply",
        "hash": "",
        "options": ApplyOptions(),
        "placed_by": "",
    }


async def test_a_misspelt_resource_loses_its_quota(tmp_path):
    """What no member has and no job asks for any more leaves the default queue with its last shape."""
    async with served(tmp_path, LIMITS) as hub:
        job = a_job("typo")
        container = job["spec"]["template"]["spec"]["containers"][0]
        container["resources"] = {"limits": {"nvidia.com/gpuu": "1"}}
        uid = (await hub.admin.post("/v1/jobs", json=job)).json()["uid"]

        async def covered() -> set[str]:
            queue = (await hub.admin.get("/v1/queues/default")).json()
            return {quota["resource"] for quota in queue["quotas"]}

        assert "nvidia.com/gpuu" in await covered()
        await hub.admin.post(f"/v1/jobs/{uid}/cancel")
        hub.clock.advance(100 * DAY)
        await _expire(hub)
        assert await covered() == {"cpu", "memory"}
