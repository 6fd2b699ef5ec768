"""Which clusters a live Job may go to: annotations, cordons, silence, clusters set aside, taints."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.store import clusters, schedule
from tests.services.hubs import Running, a_job, a_pool, running

pytestmark = pytest.mark.anyio


async def a_fleet(hub: Running) -> None:
    await hub.cluster("east", a_pool(cpu="8"))
    await hub.cluster("west", a_pool(cpu="4"))


async def alter(hub: Running, name: str, **columns: Any) -> None:
    await hub.hub.db.write(lambda unit: clusters.change(unit, name, **columns))


async def test_an_annotation_names_the_clusters(tmp_path: Path) -> None:
    """roadstead.dev/clusters restricts a Job, whatever scores better."""
    async with running(tmp_path) as hub:
        await a_fleet(hub)
        (uid,) = await hub.apply(a_job("one", annotations={"roadstead.dev/clusters": "west"}))
        await hub.settle()
        assert (await hub.job(uid)).cluster == "west"


async def test_an_annotation_selects_clusters_by_label(tmp_path: Path) -> None:
    """roadstead.dev/cluster-selector waits for a cluster with the label, and takes it."""
    async with running(tmp_path) as hub:
        await a_fleet(hub)
        (uid,) = await hub.apply(
            a_job("one", annotations={"roadstead.dev/cluster-selector": "tier in (gold,silver)"})
        )
        await hub.settle()
        assert (await hub.job(uid)).reason == "NoClusterMatches"
        await alter(hub, "west", labels={"tier": "gold"})
        await hub.settle()
        assert (await hub.job(uid)).cluster == "west"


async def test_a_cordoned_cluster_gets_nothing_until_it_is_uncordoned(tmp_path: Path) -> None:
    """Its verdict names the cordon; uncordoning wakes who waits."""
    async with running(tmp_path) as hub:
        await hub.cluster("only", a_pool(cpu="4"))
        await alter(hub, "only", cordoned=True)
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        told = await hub.explain(uid)
        assert told["reason"] == "NoClusterMatches"
        assert told["waiting"]["clusters"][0]["message"] == "the cluster is cordoned"
        await alter(hub, "only", cordoned=False)
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


@pytest.mark.parametrize("written_late_s", [0, 20])
async def test_a_silent_cluster_gets_nothing_until_it_is_heard_again(
    tmp_path: Path, written_late_s: int
) -> None:
    """After 45 s of silence a cluster is suspect; a heartbeat, which enters no feed, ends that."""
    async with running(tmp_path) as hub:
        await hub.cluster("only", a_pool(cpu="4"))
        hub.clock.advance(60)
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        assert "silent for 60 s" in (await hub.job(uid)).message
        at = hub.clock.now() - dt.timedelta(seconds=written_late_s)
        await hub.hub.db.write(lambda unit: clusters.beat(unit, {"only": at}))
        hub.clock.advance(2)
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


@pytest.mark.parametrize("named", ["absent", "only"])
async def test_a_job_that_names_a_member_it_can_not_have_says_so(tmp_path: Path, named) -> None:
    """An absent one, or one that is cordoned: it waits, and the reason is told of each."""
    async with running(tmp_path) as hub:
        await hub.cluster("only", a_pool(cpu="4"))
        await alter(hub, "only", cordoned=named == "only")
        (uid,) = await hub.apply(a_job("one", annotations={"roadstead.dev/clusters": named}))
        await hub.settle()
        told = await hub.explain(uid)
        assert (told["state"], told["reason"]) == ("Pending", "NoClusterMatches")
        why = told["waiting"]["clusters"][0]["message"]
        assert ("cordoned" in why) is (named == "only")
        assert why


async def test_a_taint_of_a_cluster_must_be_tolerated(tmp_path: Path) -> None:
    """Jobs without placement go by their pods' tolerations."""
    async with running(tmp_path) as hub:
        await hub.cluster("only", a_pool(cpu="4"))
        taint = {"key": "team", "value": "red", "effect": "NoSchedule"}
        await alter(hub, "only", taints=[taint])
        tolerant = {"tolerations": [{"key": "team", "operator": "Exists"}]}
        no, yes = await hub.apply(a_job("no"), a_job("yes", pod=tolerant))
        await hub.settle()
        assert "team=red:NoSchedule is not tolerated" in (await hub.job(no)).message
        assert (await hub.job(yes)).state == "Placed"


async def test_a_cluster_set_aside_is_tried_again_when_its_time_has_come(tmp_path: Path) -> None:
    """A job withdrawn from a cluster avoids it for a while, not for ever."""
    async with running(tmp_path) as hub:
        await hub.cluster("only", a_pool(cpu="4"))
        (uid,) = await hub.apply(a_job("one"))
        until = hub.clock.now().replace(hour=1).isoformat()
        await hub.change(uid, set_aside={"only": until})
        await hub.settle()
        assert (await hub.job(uid)).reason == "NoClusterMatches"
        hub.clock.advance(3601)
        now = hub.clock.now()
        await hub.hub.db.write(lambda unit: clusters.beat(unit, {"only": now}))
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


async def test_reports_without_growth_wake_nobody(tmp_path: Path) -> None:
    """A class that waits for room is not judged again at every report, only when room grew."""
    async with running(tmp_path) as hub:
        await hub.cluster("only", a_pool(cpu="4"))
        (uid,) = await hub.apply(a_job("one", requests={"cpu": "8"}))
        await hub.settle()
        lane = hub.scheduler.index.waiting.find(uid)
        assert lane is not None
        parked = lane.parked
        await hub.cluster("only", a_pool(cpu="4"))
        await hub.settle()
        await hub.cluster("only", a_pool(cpu="6"))
        await hub.settle()
        assert lane.parked is parked
        await hub.cluster("only", a_pool(cpu="9"))
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


async def test_the_explanation_of_a_class_is_stored(tmp_path: Path) -> None:
    """Other replicas, and a hub that has just started, can say why equal jobs wait."""
    async with running(tmp_path) as hub:
        await hub.cluster("only", a_pool(cpu="4"))
        (uid,) = await hub.apply(a_job("one", requests={"cpu": "8"}))
        await hub.settle()
        lane = hub.scheduler.index.waiting.find(uid)
        assert lane is not None
        stored = await hub.hub.read(schedule.explanation, lane.demand.key)
        assert stored is not None
        assert stored[0]["nearest"]["missing"] == {"cpu": "4"}
