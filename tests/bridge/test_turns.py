"""The bridge's turns as a whole: who may take them, what ends one, what the next one does."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.bridge.bridge import AGAIN_S, CHECK_S, RETRY_S, STOPPED_S, _words
from hub.bridge.kinds import JOB, WORKLOAD
from hub.domain.workloads.origin import Origin
from hub.services.context import hub_cluster
from hub.store import objects
from shared import labels
from shared.clock import ManualClock
from shared.groups import KUEUE
from shared.kube import errors
from tests.bridge.crossings import Turns, crossing
from tests.bridge.hub_cluster import FIELDS, until
from tests.bridge.parts import (
    CONFIG_MAP,
    KINDS,
    QUEUE,
    a_config_map,
    a_job,
    a_placement_row,
    a_queue,
    parts,
)
from tests.kube.stub import running, status

pytestmark = pytest.mark.anyio
NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
WEBHOOK: dict[str, Any] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "kueue-validating"},
    "webhooks": [
        {
            "name": "vjob.kueue.x-k8s.io",
            "clientConfig": {"url": "https://kueue.example.com/"},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
    ],
}


async def test_a_turn_that_finds_a_reason_to_stop_takes_nothing_in(tmp_path: Path):
    """What else has changed on a hub cluster that was restored waits for an administrator's word."""
    async with crossing(tmp_path) as (turns, it, _):
        lost = await it.lost(a_job("gone"))
        new = await it.create(a_job("new"))
        leaving = await it.create(a_job("leaving", finalizers=[labels.FINALIZER]))
        await it.kube.delete("batch/v1", "Job", "lab", "leaving")
        for each in (new, leaving):
            await turns.level(each)
        await turns.take()
        assert it.condition.reason == "AbsentWithoutDeletion"
        assert await it.job(new) is None
        assert "finalizers" not in (await it.live(new))["metadata"]
        assert (await it.live(leaving))["metadata"]["finalizers"] == [labels.FINALIZER]
        row = await it.hub.job(lost)
        assert (row.state, row.live) == ("Pending", True)


async def test_who_does_not_lead_neither_takes_nor_writes(tmp_path: Path):
    """Another replica of the hub bridges; this one only follows."""
    async with crossing(tmp_path, [*KINDS, WORKLOAD]) as (turns, it, _):
        job = await it.create(a_job())
        await turns.level(job)
        turns.term = 0
        await turns.take()
        assert await it.live(job) == job
        turns.term = it.term
        await turns.take()
        await turns.level(job)
        before = await it.live(job)
        turns.crossing._look_at(job["metadata"]["uid"])
        turns.term = 0
        await turns.give()
        assert await it.live(job) == before
        assert not (await it.kube.list(f"{KUEUE}/v1beta2", "Workload")).items
        turns.term = it.term
        await turns.give()
        assert (await it.live(job))["status"]["conditions"][0]["type"] == "Suspended"
        assert (await it.kube.list(f"{KUEUE}/v1beta2", "Workload")).items


async def test_a_stopped_bridge_neither_takes_nor_writes_until_it_is_lifted(tmp_path: Path):
    """Not even a status: it may be another cluster's object. Lifted, all that waited is done."""
    async with crossing(tmp_path, [*KINDS, WORKLOAD]) as (turns, it, _):
        job = await it.create(a_job())
        await turns.level(job)
        await turns.take()
        await turns.level(job)
        before = await it.live(job)
        turns.crossing._look_at(job["metadata"]["uid"])
        await it.condition.stop("TooManyDeletions", "9 of 10")
        new = await it.create(a_job("new"))
        await turns.level(new)
        await turns.take()
        await turns.give()
        assert await it.live(job) == before
        assert await it.job(new) is None
        assert not (await it.kube.list(f"{KUEUE}/v1beta2", "Workload")).items
        await it.hub.write(hub_cluster.resume, "TooManyDeletions", "somebody")
        await turns.take()
        await turns.give()
        assert await it.job(new)
        assert (await it.live(job))["status"]["conditions"][0]["type"] == "Suspended"
        assert (await it.kube.list(f"{KUEUE}/v1beta2", "Workload")).items


async def test_a_stop_that_was_lifted_is_carried_out_once(tmp_path: Path):
    """What is absent later is asked about again."""
    async with crossing(tmp_path, [*KINDS, QUEUE]) as (turns, it, _):
        first = await it.lost(a_queue("first"))
        await turns.take()
        assert it.condition.reason == "AbsentWithoutDeletion"
        await it.hub.write(hub_cluster.resume, "AbsentWithoutDeletion", "somebody")
        await turns.take()
        assert await it.hub.hub.read(objects.get, first) is None
        assert not it.condition.stopped
        second = await it.lost(a_queue("second"))
        for source in turns.sources:  # as after the next connection's first lists
            source.compared = False
        await turns.take()
        assert it.condition.reason == "AbsentWithoutDeletion"
        assert await it.hub.hub.read(objects.get, second)


async def test_a_kind_that_the_hub_cluster_does_not_serve_is_not_held_against_the_store(
    tmp_path: Path,
):
    """An empty cache is no empty list: nothing is deleted, nothing is asked, until there is one."""
    async with crossing(tmp_path) as (turns, it, _):
        lost = await it.lost(a_queue("kept"))
        await turns.follow([QUEUE])
        await turns.take()
        assert not it.condition.stopped
        assert await it.hub.hub.read(objects.get, lost)


async def test_each_complete_list_is_held_against_the_one_before(tmp_path: Path):
    """A version that goes back in the third list tells of an older copy as in the second."""
    async with (
        running(tmp_path) as (stub, kubeconfig),
        parts(tmp_path, kubeconfig, []) as it,
    ):
        turns = Turns(it)
        stub.version = 40
        await turns.follow([CONFIG_MAP])
        try:
            for version in (50, 45):
                await turns.take()
                assert not it.condition.stopped
                await listed_again(turns, stub, version)
            await turns.take()
            assert it.condition.reason == "ResourceVersionWentBack"
            assert "ConfigMap went from 50 back to 45" in it.condition.message
        finally:
            await turns.sources.close()


async def listed_again(turns: Turns, stub: Any, version: int) -> None:
    stub.version = version
    stub.faults.append(lambda _: status(410, "Expired", "too old resource version"))
    stub.cut()
    (source,) = turns.sources

    async def again() -> bool:
        return bool(source.informer.resource_version == str(version))

    await until(again)


async def test_the_hub_clusters_identity_is_looked_at_again_while_it_is_bridged(tmp_path: Path):
    """Kueue that is installed later stops the bridge within a minute; no answer delays the question."""
    clock = ManualClock(NOW)
    async with crossing(tmp_path, clock=clock) as (turns, it, cluster):
        await turns.take()
        await it.kube.create(WEBHOOK, field_manager=FIELDS)
        await turns.take()
        assert not it.condition.stopped
        clock.advance(CHECK_S)
        cluster.faults.add("503", verb="get", resource="namespaces")
        job = await it.create(a_job())
        await turns.level(job)
        await turns.take()
        assert await it.job(job), "a question without an answer holds nothing up"
        clock.advance(CHECK_S)
        await turns.take()
        assert it.condition.reason == "HubClusterHasKueue"


async def test_a_stop_ends_seconds_after_its_cause(tmp_path: Path):
    """The bridge looks at the hub cluster every five seconds while Kueue's webhooks stop it."""
    clock = ManualClock(NOW)
    async with crossing(tmp_path, clock=clock) as (turns, it, _):
        await turns.take()
        await it.kube.create(WEBHOOK, field_manager=FIELDS)
        clock.advance(CHECK_S)
        await turns.take()
        assert it.condition.reason == "HubClusterHasKueue"
        name = WEBHOOK["metadata"]["name"]
        await it.kube.delete(WEBHOOK["apiVersion"], WEBHOOK["kind"], "", name)
        clock.advance(STOPPED_S)
        await turns.take()
        assert not it.condition.stopped


async def test_what_was_refused_is_tried_again_after_a_while(tmp_path: Path):
    """Nobody has to change it: half a minute after what stood against it has gone, it is taken."""
    clock = ManualClock(NOW)
    async with crossing(tmp_path, clock=clock) as (turns, it, _):
        turns.crossing._following.learn([a_placement_row("ConfigMap", "lab", "one")])
        theirs = await it.lost(a_config_map(), Origin.REST)
        made = await it.create(a_config_map())
        await turns.level(made)
        await turns.take()
        await it.hub.write(objects.remove, theirs)
        await turns.take()
        assert await it.object(made) is None
        clock.advance(RETRY_S)
        await turns.take()
        assert await it.object(made)


async def test_a_turn_that_left_something_asks_for_the_next_one_soon(tmp_path: Path):
    """An object whose finalizer could not be written; otherwise there is no hurry."""
    async with crossing(tmp_path) as (turns, it, cluster):
        cluster.faults.add("409", verb="patch", resource="jobs")
        job = await it.create(a_job())
        await turns.level(job)
        assert await turns.take() == AGAIN_S
        await turns.take()
        await turns.level(job)
        await turns.take()
        assert await turns.take() is None


async def test_a_placement_that_is_gone_from_the_store_selects_nothing_more(tmp_path: Path):
    """The bridge hears of it by the hub's feed; one that came is followed from then on."""
    async with crossing(tmp_path, [JOB]) as (turns, it, _):
        row = a_placement_row("ConfigMap", "lab", "one", "two")
        await it.hub.write(objects.add, row)
        await turns.crossing._follow_placements([row.uid])
        await turns.take()
        await turns.sources.synced()
        made = [await it.kube.create(a_config_map(), field_manager=FIELDS)]
        await turns.level(made[0])
        await turns.take()
        await it.hub.write(objects.remove, row.uid)
        await turns.crossing._follow_placements([row.uid])
        made.append(await it.kube.create(a_config_map("two"), field_manager=FIELDS))
        await turns.level(made[1])
        await turns.take()
        assert [bool(await it.object(each)) for each in made] == [True, False]


@pytest.mark.parametrize(
    ("failure", "there", "words"),
    [
        (OSError("x"), False, "there is no file {file}"),
        (errors.Forbidden(403, "Forbidden", "not you"), True, "Forbidden: not you"),
        (ValueError("odd"), True, "{file}: ValueError('odd')"),
    ],
)
def test_why_the_bridge_can_not_cross(tmp_path: Path, failure: Exception, there: bool, words: str):
    """A file that is missing, what the API server said, or the file that is odd."""
    file = tmp_path / "kubeconfig"
    if there:
        file.write_text("")
    assert _words(failure, file) == words.format(file=file)
