"""Queues in `/metrics`: Kueue's names with the prefix roadstead_."""

from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hub.services.objects import rollouts
from hub.services.questions import gauges
from tests.services.http_hub import HttpHub, http_hub
from tests.services.hubs import a_job, a_pool, a_queue
from tests.services.members.hubs import running_hub
from tests.services.outside.controller import a_checked_queue, answer
from tests.services.placements.fleet import CONFIG, Fleet
from tests.services.placements.runs import STRATEGY, WITH_TASKS, roll, run, started

pytestmark = pytest.mark.anyio


async def samples(it: HttpHub, queue: str) -> dict[str, float]:
    """What `/metrics` says of one queue: name and further labels → value."""
    reply = await it.http.get("/metrics")
    assert reply.status_code == 200, reply.text
    found = {}
    for family in text_string_to_metric_families(reply.text):
        for sample in family.samples:
            labels = dict(sample.labels)
            names = (labels.pop("cluster_queue", ""), labels.pop("preempting_cluster_queue", ""))
            if queue in names and "le" not in labels:
                rest = ",".join(labels[name] for name in sorted(labels))
                found[f"{sample.name}{{{rest}}}".removesuffix("{}")] = sample.value
    return found


async def test_gauges_of_a_queue(tmp_path: Path):
    """Who waits and who is parked, who reserves, quota and usage in cores, no limit as +Inf."""
    async with http_hub(tmp_path) as it:
        await it.hub.apply(*a_queue("gauged", quota={"cpu": "1500m"}))
        await it.hub.cluster("north", a_pool(cpu="8"))
        await it.hub.apply(*(a_job(f"j{n}", queue="gauged") for n in range(3)))
        await it.hub.settle()
        got = await samples(it, "gauged")
        assert got["roadstead_pending_workloads{active}"] == 0
        assert got["roadstead_pending_workloads{inadmissible}"] == 2
        assert got["roadstead_reserving_active_workloads"] == 1
        assert got["roadstead_admitted_active_workloads"] == 1
        of = "{gauged-flavor,cpu}"
        assert got[f"roadstead_cluster_queue_nominal_quota{of}"] == 1.5
        assert got[f"roadstead_cluster_queue_resource_usage{of}"] == 1
        assert got[f"roadstead_cluster_queue_resource_reservation{of}"] == 1
        assert got[f"roadstead_cluster_queue_borrowing_limit{of}"] == float("inf")
        assert got["roadstead_cluster_queue_status{active}"] == 1
        assert got["roadstead_cluster_queue_weighted_share"] == 0


async def test_admissions_are_counted_with_their_wait(tmp_path: Path):
    """From being queued to being admitted, per ClusterQueue."""
    async with http_hub(tmp_path) as it:
        await it.hub.apply(*a_queue("counted"))
        await it.hub.apply(a_job("train", queue="counted"))
        it.hub.clock.advance(30)
        await it.hub.cluster("north", a_pool(cpu="8"))
        await it.hub.settle()
        got = await samples(it, "counted")
        assert got["roadstead_admitted_workloads_total"] == 1
        assert got["roadstead_quota_reserved_workloads_total"] == 1
        assert got["roadstead_admission_wait_time_seconds_count"] == 1
        assert got["roadstead_admission_wait_time_seconds_sum"] == pytest.approx(30, abs=1)


async def test_evictions_are_counted_by_reason(tmp_path: Path):
    """A victim, by the queue that it leaves, and by the queue that it made room for."""
    async with http_hub(tmp_path) as it:
        spec = {"preemption": {"withinClusterQueue": "LowerPriority"}}
        high = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": "high"},
            "value": 100,
        }
        await it.hub.apply(*a_queue("evicting", quota={"cpu": "1"}, spec=spec), high)
        await it.hub.cluster("north", a_pool(cpu="8"))
        await it.hub.apply(a_job("low", queue="evicting"))
        await it.hub.settle()
        labels = {"kueue.x-k8s.io/priority-class": "high"}
        await it.hub.apply(a_job("urgent", queue="evicting", labels=labels))
        await it.hub.settle()
        got = await samples(it, "evicting")
        assert got["roadstead_evicted_workloads_total{Preempted,}"] == 1
        assert got["roadstead_preempted_workloads_total{InClusterQueue}"] == 1


async def test_quota_without_a_limit_is_infinite(tmp_path: Path):
    """Of the queue that the hub provides: what may be had of it is no number, what is used of it is."""
    async with http_hub(tmp_path) as it:
        await it.hub.cluster("north", a_pool(cpu="8"))
        await it.hub.apply(a_job("train", requests={"cpu": "1500m"}))
        await it.hub.settle()
        got = await samples(it, "default")
        told = {name: value for name, value in got.items() if name.endswith(",cpu}")}
        (nominal,) = [v for name, v in told.items() if "_nominal_quota" in name]
        (usage,) = [v for name, v in told.items() if "_resource_usage" in name]
        assert (nominal, usage) == (float("inf"), 1.5)


async def test_a_wait_counts_from_when_it_was_queued_last(tmp_path: Path):
    """One that was queued anew has not waited since it was created; with checks neither."""
    waited = "roadstead_admission_wait_time_seconds_sum"
    async with http_hub(tmp_path) as it:
        await it.hub.cluster("north", a_pool(cpu="8"))
        await a_checked_queue(it.hub, "budget")
        (uid,) = await it.hub.apply(a_job("train", queue="gold"))
        it.hub.clock.advance(30)
        await it.hub.change(uid, queued_at=it.hub.clock.now())
        await it.hub.settle()
        before = (await samples(it, "gold")).get(waited, 0.0)
        it.hub.clock.advance(7)
        await answer(it.hub, uid, "budget", "Ready")
        await it.hub.settle()
        assert (await it.hub.job(uid)).state == "Placed"
        assert (await samples(it, "gold"))[waited] - before == pytest.approx(7, abs=1)


async def placed(hub: Any) -> dict[str, float]:
    """Gauges of placements: name and labels → value."""
    told = await hub.hub.read(gauges.of_placements)
    return {
        f"{each.name}{{{','.join(labels)}}}": value
        for each in told
        for labels, value in each.samples
    }


async def test_gauges_of_placements_and_drift(tmp_path: Path):
    """A placement whose object drifted in a member, and is not there as wanted."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub)
        fleet.agents["m1"] = await hub.join("m1")
        await fleet.agents["m1"].sync()
        await fleet.apply(CONFIG)
        before = await placed(hub)
        assert before["roadstead_placements{Unsettled}"] == 1
        drift = {"path": "/data/color", "hub": '"blue"', "member": '"red"'}
        await fleet.sync(drift=[{**drift, "first_seen": "2026-05-01T00:00:00Z"}])
        after = await placed(hub)
        assert after["roadstead_drifted_objects{m1}"] == 1
        assert sum(v for k, v in after.items() if k.startswith("roadstead_placements{")) == 1
        assert sum(v for k, v in after.items() if k.startswith("roadstead_placed_objects{m1")) > 0


async def test_gauges_of_staged_update_runs(tmp_path: Path):
    """A run that waits for an approval, and one that has not begun."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, WITH_TASKS, run("first"))
        await roll(fleet)
        got = await placed(hub)
        assert got["roadstead_update_runs{WaitingForApproval}"] == 1
        assert sum(v for k, v in got.items() if k.startswith("roadstead_update_runs{")) == 1


async def test_a_run_that_a_person_stopped_is_told_apart_from_one_that_stopped_by_itself(
    tmp_path: Path,
):
    """Only the second calls somebody."""
    async with running_hub(tmp_path) as hub:
        strict = STRATEGY.replace("spec:\n", "spec:\n  stopAfterFailedClusters: 1\n")
        fleet = await started(hub, strict, run("first"))
        await fleet.sync("m1", phase="Failed", reason="NameConflict", message="it is Bob's")
        got = await placed(hub)
        assert got["roadstead_update_runs{StoppedByItself}"] == 1
        where = ("shop", "first")
        await hub.write(rollouts.stop, where, "ann", hub.hub.settings.intake)
        got = await placed(hub)
        assert got["roadstead_update_runs{Stopped}"] == 1
        assert got["roadstead_update_runs{StoppedByItself}"] == 0
