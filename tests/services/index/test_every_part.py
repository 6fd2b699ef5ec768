"""Every part of an index that followed a hub's life equals that of one that is read anew, step by step."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.promises import Promise
from hub.services.context.settings import Queueing, Settings
from hub.services.index.index import ScheduleIndex
from hub.services.jobs import cancel, hold
from hub.services.objects.delete import delete_object
from hub.services.scheduling.turn import Scheduler
from hub.store import clusters
from shared.groups import KUEUE
from tests.services import fair_usage
from tests.services.build import RECLAIM, a_class, a_workload, in_cohort, urgent
from tests.services.hubs import Running, a_job, a_pool, a_queue, running
from tests.services.outside.controller import a_checked_queue, answer
from tests.services.steps import gone, lively, passed, reported

pytestmark = pytest.mark.anyio


def plain(told: Any) -> Any:
    """Records as their fields: some are equal only to themselves. Reports are looked at as room."""
    if isinstance(told, Promise):
        return [plain(getattr(told, name)) for name in Promise.__slots__]
    if isinstance(told, Cluster):
        return plain(dataclasses.asdict(told) | {"pools": None, "heartbeat_at": None})
    if dataclasses.is_dataclass(told):
        return {each.name: plain(getattr(told, each.name)) for each in dataclasses.fields(told)}
    if isinstance(told, Mapping):
        return {key: plain(each) for key, each in told.items()}
    return [plain(each) for each in told] if isinstance(told, list | tuple) else told


def parts(index: ScheduleIndex) -> dict[str, Any]:
    """What there is of every part, by its name."""
    routes, charges, waiting = index.routes, index._charges, index.waiting
    uids = {uid for held in index.holders.values() for uid in held}
    lines = {
        uid: (lane.demand.key, waiting.entry(uid), waiting.position(uid))
        for lane in waiting.every_lane()
        for entry in lane
        for uid in [entry.uid]
    }
    ranks = index.consumption.ranks()
    return {
        "holders": {queue: dict(held) for queue, held in index.holders.items() if held},
        "charged": dict(charges._charged),
        "epochs": dict(charges.epochs),
        "unready": set(charges.unready),
        "used": {q: {of: a for of, a in index.ledger.usage(q).items() if a} for q in routes.queues},
        "promises": {uid: index.members.promised(uid) for uid in uids},
        "members": dict(index.members.clusters),
        "room": index.members.room.left.tolist(),
        "lines": lines,
        "held back": index.held_back.copy(),
        "doors": dict(index.held_back.by_local_queue()),
        "backing off": set(index._backing_off._rows),
        "claims": index.claims.present(),
        "victims": {uid: claim.victims for uid, claim in index.claims._claims.items()},
        "wishes": dict(index.wishes._rows) if index.wishes._rows else {},
        "shrinking": set(index.wishes.shrinking),
        "reserved": {uid: row._replace(message="") for uid, row in index.reservations._rows.items()},
        "homes": {name: set(uids) for name, uids in index.reservations._homes.items()},
        "queues": dict(routes.queues),
        "limits": set(index.ledger.tree.queues),
        "policies": dict(routes.queue_policies),
        "flavors": dict(routes.flavors),
        "local": dict(routes.local),
        "namespaces": dict(routes.namespaces),
        "checks": dict(routes.checks.known),
        "idle": routes.idle_queues(),
        "targets": routes.targets(),
        "ranks": None if ranks is None else dict(ranks.values),
        "unreadable": dict(routes.unreadable),
    }  # fmt: skip


async def level(hub: Running) -> dict[str, Any]:
    """Both alike, part by part; what the one that followed has."""
    await hub.settle()
    anew = Scheduler(hub.hub, lambda: 1)
    await anew.load()
    for index in (hub.scheduler.index, anew.index):
        index.refresh_room()
    followed, fresh = parts(hub.scheduler.index), parts(anew.index)
    for name, found in followed.items():
        assert plain(found) == plain(fresh[name]), name
    return followed


ZONE = {"zone": "a"}
FLAVOR = {
    "nodeLabels": ZONE,
    "nodeTaints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
}
QUOTA = {"cpu": "6", "memory": "1Ti"}


async def nodes(hub: Running, revision: int = 0) -> None:
    """Two kinds of them, reported by the label keys of a revision."""
    room: dict[str, Any] = {"cpu": "4", "memory": "64Gi"}
    pools = a_pool(nodes=3, labels=ZONE, **room), a_pool(**room)
    await hub.cluster("c1", *pools, pools_revision=revision)


async def fleet(hub: Running) -> None:
    """Two kinds of nodes, and two queues."""
    await nodes(hub)
    await hub.apply(*a_queue("q", quota=QUOTA), *a_queue("r"))


def a_crowd(pods: int) -> dict[str, Any]:
    """A Job of so many pods at a time, of 20 in all."""
    job = a_job("one", queue="q", count=pods)
    job["spec"]["completions"] = 20
    return job


async def test_jobs_that_come_run_and_go(tmp_path: Path):
    """Placed, ready, short of pods, grown, held while they run, gone, released and cancelled."""
    async with running(tmp_path) as hub:
        await fleet(hub)
        await level(hub)
        (one,) = await hub.apply(a_crowd(2))
        memory = {"cpu": "1", "memory": "1Gi"}
        (two,) = await hub.apply(a_job("two", queue="q", count=3, requests=memory))
        found = await level(hub)
        assert set(found["charged"]) == {one, two}
        await lively(hub, one, 2)
        assert one not in (await level(hub))["unready"]
        await reported(hub, one, active=2, ready=1, succeeded=1)
        await level(hub)
        await reported(hub, one, active=2, ready=0)
        assert one in (await level(hub))["unready"]
        await hub.apply(a_crowd(5))
        await level(hub)
        for act in (hold.hold_job, hold.release_job, hold.hold_job):
            await hub.hub.write(act, one, "ann")
            await level(hub)
        await gone(hub, one)
        await level(hub)
        await hub.hub.write(hold.release_job, one, "ann")
        await level(hub)
        await hub.hub.write(cancel.cancel_job, two, "ann")
        await level(hub)


async def test_rules_that_change(tmp_path: Path):
    """Flavors, limits, queues that come and are stopped, a member that is cordoned; who waits for what."""
    async with running(tmp_path) as hub:
        await fleet(hub)
        toleration = {"key": "k", "operator": "Exists"}
        pod = {"tolerations": [toleration], "nodeSelector": {"kubernetes.io/arch": "x"}}
        (odd,) = await hub.apply(a_job("odd", queue="none"))
        (late,) = await hub.apply(a_job("late", queue="q", count=2, pod=pod))
        found = await level(hub)
        assert (set(found["held back"]), set(found["lines"])) == ({odd}, {late})
        await hub.apply(*a_queue("q", quota=QUOTA | {"cpu": "8"}, flavor=FLAVOR))
        await level(hub)
        await hub.apply(*a_queue("none", quota={"cpu": "500m"}))
        found = await level(hub)
        assert (set(found["held back"]), odd in found["lines"]) == (set(), True)
        queue = a_queue("r")[1]
        queue["spec"]["stopPolicy"] = "HoldAndDrain"
        await hub.apply(queue, a_job("stopped", queue="r"))
        assert (await level(hub))["idle"] == {"r"}
        del queue["spec"]["stopPolicy"]
        await hub.apply(queue)
        assert (await level(hub))["idle"] == set()
        await hub.hub.db.write(lambda tx: clusters.change(tx, "c1", cordoned=True))
        await level(hub)
        await hub.hub.write(cancel.delete_job, late, "ann")
        await level(hub)
        for kind, namespace in (("LocalQueue", "team-a"), ("ClusterQueue", "")):
            await hub.hub.write(
                delete_object, KUEUE, kind, namespace, "none", origin="rest", principal="ann"
            )
            found = await level(hub)
        assert "none" not in found["limits"] | found["queues"].keys()
        assert set(found["held back"]) == {odd}


async def test_who_is_placed_after_a_flavor_changed_is_promised_its_new_nodes(tmp_path: Path):
    """Equal to one that was placed before: its row, read again, says the nodes that it was given."""
    async with running(tmp_path) as hub:
        await fleet(hub)
        (old,) = await hub.apply(a_job("old", queue="q"))
        await level(hub)
        await hub.change(old, priority=1)  # its row is read
        await hub.settle()
        labelled = FLAVOR | {"nodeTaints": []}
        await hub.apply(*a_queue("q", quota=QUOTA, flavor=labelled))
        (new,) = await hub.apply(a_job("new", queue="q"))
        await hub.settle()
        await nodes(hub, revision=1)
        await hub.settle()
        for _ in range(2):
            told = hub.scheduler.index.members.promised(new)
            assert told is not None
            assert told.pod_sets[0][1].labels == (("zone", "a"),)
            await hub.change(new, priority=1)
            await hub.settle()


async def test_victims_claims_and_bare_workloads(tmp_path: Path):
    """Who waits for whom it preempts, who needs no cluster, and whose priority changes."""
    async with running(tmp_path) as hub:
        await hub.cluster("c1", a_pool(cpu="8"))
        await hub.apply(*in_cohort("a", "2", preemption=RECLAIM), *in_cohort("b", "2"))
        await hub.apply(*in_cohort("c", "2", cohort=""))
        (alone,) = await hub.apply(a_workload("alone", "c"))
        uids = [(await hub.apply(a_job(f"b{n}", queue="b")))[0] for n in range(4)]
        found = await level(hub)
        assert alone in found["charged"].keys() - found["unready"]
        assert found["promises"][alone] is None
        for uid in uids:
            await lively(hub, uid)
        (bare,) = await hub.apply(a_workload("w", "b", priority=0))
        await level(hub)
        high = await urgent(hub, "high", "a", "2")
        found = await level(hub)
        assert set(found["claims"]) == {high}
        victims = found["victims"][high]
        for uid in sorted(victims):
            await gone(hub, uid)
            await level(hub)
        await passed(hub, 1)
        assert high in (await level(hub))["charged"]
        await hub.apply(a_class("low", -5))
        label = {"kueue.x-k8s.io/priority-class": "low"}
        await hub.apply(a_job("b0", queue="b", labels=label))
        await level(hub)
        await hub.hub.write(hold.hold_job, bare, "ann")
        await level(hub)


async def test_reservations_with_open_checks(tmp_path: Path):
    """Reserved, answered, retried after a while, placed; the checks themselves."""
    async with running(tmp_path) as hub:
        await hub.cluster("c1", a_pool(cpu="8"))
        await a_checked_queue(hub, "budget", "room", quota={"cpu": "4"})
        uids = [(await hub.apply(a_job(f"j{n}", queue="gold")))[0] for n in range(3)]
        assert set((await level(hub))["reserved"]) == set(uids)
        for name in ("budget", "room"):
            await answer(hub, uids[0], name, "Ready")
            await level(hub)
        await answer(hub, uids[1], "budget", "Retry", requeueAfterSeconds=60)
        assert (await level(hub))["backing off"] == {uids[1]}
        await answer(hub, uids[2], "room", "Rejected")
        await level(hub)
        (held,) = await hub.apply(a_job("held", queue="gold"))
        await level(hub)
        await answer(hub, held, "budget", "Retry", requeueAfterSeconds=60)
        assert (await level(hub))["backing off"] == {uids[1], held}
        await hub.hub.write(hold.hold_job, held, "ann")
        assert (await level(hub))["backing off"] == {uids[1]}
        await passed(hub, 61)
        found = await level(hub)
        assert (set(found["reserved"]), found["backing off"]) == ({uids[1]}, set())


async def test_queues_that_go_by_usage(tmp_path: Path):
    """Ranks as of the last sample, whoever came since."""
    async with running(tmp_path, fair_usage.by_usage()) as hub:
        await hub.cluster("c1", a_pool(cpu="8"))
        await hub.apply(*fair_usage.shared("2", {"a": "1", "b": "2"}))
        await fair_usage.consumed(hub, {"a": 5.0, "b": 1.0})
        await level(hub)
        uids = await fair_usage.submit(hub, "a", "x", "y")
        uids += await fair_usage.submit(hub, "b", "z")
        found = await level(hub)
        assert found["ranks"] is not None
        assert len(found["charged"]) == 2
        for uid in sorted(found["charged"]):
            await hub.hub.write(cancel.cancel_job, uid, "ann")
            await level(hub)


async def test_what_is_admitted_in_part(tmp_path: Path):
    """Fewer pods than wanted: charged, promised and wished for as its row says."""
    limits = Settings(queueing=Queueing(partial_admission="On"))
    async with running(tmp_path, limits) as hub:
        await hub.cluster("c1", a_pool(cpu="8"))
        await hub.apply(*a_queue("q", quota={"cpu": "3"}))
        least = {"kueue.x-k8s.io/job-min-parallelism": "1"}
        (uid,) = await hub.apply(a_job("j", queue="q", count=5, annotations=least))
        found = await level(hub)
        assert found["charged"][uid][0] == "q"
        assert [pods[2] for pods in found["promises"][uid].pod_sets] == [3]
        await lively(hub, uid, 3)
        await level(hub)
        await hub.apply(*a_queue("q", quota={"cpu": "9"}))
        await level(hub)
