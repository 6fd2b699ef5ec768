"""Node label keys by which agents group nodes: those that are looked at, not all that ever were."""

import pytest

from hub.services.index.pool_keys import MOST_KEYS
from hub.store import settings
from tests.services.hubs import a_job, a_pool, a_queue, running

pytestmark = pytest.mark.anyio


def selecting(name, key):
    return a_job(name, queue="q", pod={"nodeSelector": {key: "yes"}})


async def keys(hub):
    return (await hub.hub.read(settings.get, "pool_keys"))["keys"]


async def test_keys_that_only_gone_jobs_looked_at_are_forgotten(tmp_path):
    """A new key for every job: no more than the bound are kept, without a restart."""
    async with running(tmp_path) as hub:
        await hub.cluster("north", a_pool(cpu="8"))
        await hub.apply(*a_queue("q"))
        for number in range(MOST_KEYS + 20):
            (uid,) = await hub.apply(selecting(f"job-{number}", f"example.com/key-{number}"))
            await hub.settle()
            assert f"example.com/key-{number}" in await keys(hub)
            await hub.transition("cancel", uid)
        assert len(await keys(hub)) <= MOST_KEYS + 1
        assert len(hub.scheduler.index.seen_keys) <= MOST_KEYS + 1


async def test_a_key_that_comes_back_is_asked_for_again(tmp_path):
    """An equal job of later on waits for its key as the first did, though its class is known."""
    async with running(tmp_path) as hub:
        await hub.cluster("north", a_pool(cpu="8"))
        await hub.apply(*a_queue("q"))
        (first,) = await hub.apply(selecting("first", "example.com/mine"))
        await hub.settle()
        await hub.transition("cancel", first)
        for number in range(MOST_KEYS + 20):
            (uid,) = await hub.apply(selecting(f"job-{number}", f"example.com/key-{number}"))
            await hub.settle()
            await hub.transition("cancel", uid)
        assert "example.com/mine" not in await keys(hub)
        await hub.apply(selecting("second", "example.com/mine"))
        await hub.settle()
        assert "example.com/mine" in await keys(hub)


async def test_required_affinity_looks_at_keys_as_a_selector_does(tmp_path):
    """Agents tell nodes apart by what the expressions of a job's node affinity name."""
    terms = [{"matchExpressions": [{"key": "example.com/zone", "operator": "Exists"}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    async with running(tmp_path) as hub:
        await hub.cluster("north", a_pool(cpu="8"))
        job = a_job("near", queue="q", pod={"affinity": {"nodeAffinity": required}})
        await hub.apply(*a_queue("q"), job)
        await hub.settle()
        assert "example.com/zone" in await keys(hub)


async def test_keys_of_those_who_wait_stay(tmp_path):
    """However many others come and go."""
    async with running(tmp_path) as hub:
        await hub.cluster("north", a_pool(cpu="8"))
        await hub.apply(*a_queue("q"), selecting("waits", "example.com/mine"))
        for number in range(MOST_KEYS + 20):
            (uid,) = await hub.apply(selecting(f"job-{number}", f"example.com/key-{number}"))
            await hub.settle()
            await hub.transition("cancel", uid)
        assert "example.com/mine" in await keys(hub)
