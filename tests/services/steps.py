"""Lives of jobs on a hub driven by hand: admitted, running, reported by their member, gone."""

from typing import Any

from hub.controllers.last_down import LastDown
from hub.controllers.lifetimes import Lifetimes
from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.members.observe import ObservedReport, ReportOutcome, take_reports
from hub.store import clusters, works
from tests.services.hubs import Running, a_job, a_pool, a_queue
from tests.services.members.hubs import ran, seen

CLASS = "kueue.x-k8s.io/priority-class"
LOWER = {"preemption": {"withinClusterQueue": "LowerPriority"}}


async def admitted(hub: Running, name: str = "j", quota: str = "8", **given: Any) -> str:
    """A job that was admitted and not yet offered."""
    await hub.cluster("c1", a_pool(cpu="8"))
    await hub.apply(*a_queue("q", quota={"cpu": quota}))
    uid = (await hub.apply(a_job(name, queue="q", **given)))[0]
    await hub.settle()
    assert (await hub.job(uid)).state == "Placed"
    return uid


async def offered(hub: Running, uid: str) -> None:
    """Its agent was told of it."""
    row = await hub.job(uid)
    await hub.transition("offer", uid)
    await hub.hub.db.write(
        lambda unit: works.offer(
            unit, [{"cluster": row.cluster, "uid": uid, "options": ApplyOptions(), "hash": "h"}]
        )
    )


async def reported(hub: Running, uid: str, **job: Any) -> None:
    """Its member says how it stands; `ready`, `active`, `succeeded`, `running_since` …"""
    job.setdefault("running_since", "2026-01-01T00:00:00Z")
    row = await hub.job(uid)
    entry = ran(uid, row.epoch, **job)
    await _report(hub, row.cluster, entry)


async def gone(hub: Running, uid: str) -> None:
    """Its member says that nothing of it is left."""
    row = await hub.job(uid)
    await _report(hub, row.cluster, seen(uid, "Gone", row.epoch))


async def lively(hub: Running, uid: str, pods: int = 1) -> None:
    """Offered, and all of its pods are ready."""
    await offered(hub, uid)
    await reported(hub, uid, active=pods, ready=pods)


TURNS_S = 20.0  # controllers take a turn so often at least


async def passed(hub: Running, seconds: float, watch: Lifetimes | None = None) -> None:
    """Time passes; clusters stay in touch, limits are looked at, the scheduler takes its turns."""
    while seconds > TURNS_S:
        hub.clock.advance(TURNS_S)
        seconds -= TURNS_S
        if watch is not None:
            await watch.tick()
    hub.clock.advance(seconds)
    heard = dict.fromkeys(hub.scheduler.index.members.clusters, hub.clock.now())
    await hub.hub.db.write(lambda unit: clusters.beat(unit, heard))
    if watch is not None:
        await watch.tick()
    await hub.settle()


def watching(hub: Running) -> Lifetimes:
    """The controller of time limits, of the leader."""
    return Lifetimes(hub.hub, hub.scheduler._term, LastDown())


async def _report(hub: Running, cluster: str, entry: Any) -> None:
    def take(unit: Any) -> Any:
        return take_reports(unit, [ObservedReport(cluster, [entry])])

    taken = await hub.hub.db.write(take)
    assert taken == [ReportOutcome()], taken
