"""The hub cluster refuses the status of a Workload and takes its spec: no own write is a command."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.states import State
from hub.services.jobs import hold
from hub.services.works.restored import begin_recovery
from hub.store import audit
from shared.clock import SystemClock
from shared.kubesim.cluster import SimCluster
from tests import databases
from tests.bridge.defined import with_hub_kinds
from tests.bridge.guide import apply_guide, workload
from tests.bridge.hub_cluster import World, until, world
from tests.bridge.workload_objects import patch, shown
from tests.services.members.hubs import Running, running_hub

pytestmark = pytest.mark.anyio
TURNS = 2  # refused status writes after which the bridge has looked at its own spec write again


@pytest.fixture
async def cluster() -> AsyncIterator[SimCluster]:
    """A hub cluster that outlives the hub beside it."""
    made = with_hub_kinds()
    await made.start()
    yield made
    await made.stop()


class Refused:
    """Every write to the status of a Workload answers 503."""

    def __init__(self, cluster: SimCluster) -> None:
        on = {"verb": "patch", "resource": "workloads", "subresource": "status"}
        self._fault = cluster.faults.add("503", **on, count=0)

    async def more(self) -> None:
        """Wait until the bridge has tried again, and has seen what its earlier tries left."""
        wanted = self._fault.hits + TURNS

        async def tried() -> bool:
            return self._fault.hits >= wanted

        await until(tried, 30)


async def taken(it: World) -> str:
    """The guide's Job, taken by the hub and shown by a Workload with conditions; its uid."""
    await apply_guide(it)
    await until(lambda: shown(it))
    return str((await workload(it, "mock-workload")).uid)


async def active_is(it: World, wanted: bool) -> None:
    async def written() -> bool:
        found = await shown(it)
        return found is not None and found["spec"].get("active", True) is wanted

    await until(written)


async def words_of_the_hub_cluster(hub: Running) -> list[str]:
    """Holds and releases that the audit ascribes to the hub cluster."""
    rows = await hub.hub.read(audit.list_entries)
    return [row.verb for row in rows if row.principal == "hub-cluster" and row.verb in _WORDS]


_WORDS = frozenset({"hold", "release"})


async def stays(it: World, uid: str, state: State) -> None:
    assert (await it.hub.job(uid)).state == state
    assert await words_of_the_hub_cluster(it.hub) == []


async def test_a_hold_by_rest_stays_where_the_status_of_the_release_before_it_was_refused(
    tmp_path: Path, cluster: SimCluster
):
    """`spec.active: true` on the hub cluster is the bridge's own write of the release."""
    async with world(tmp_path, cluster) as it:
        uid = await taken(it)
        await it.hub.write(hold.hold_job, uid, "ann")
        await active_is(it, False)
        refused = Refused(cluster)
        await it.hub.write(hold.release_job, uid, "ann")
        await active_is(it, True)
        await it.hub.write(hold.hold_job, uid, "ann")
        await refused.more()
        await stays(it, uid, State.HELD)


async def test_a_release_by_rest_stays_where_the_status_of_the_hold_before_it_was_refused(
    tmp_path: Path, cluster: SimCluster
):
    """`spec.active: false` on the hub cluster is the bridge's own write of the hold."""
    async with world(tmp_path, cluster) as it:
        uid = await taken(it)
        refused = Refused(cluster)
        await it.hub.write(hold.hold_job, uid, "ann")
        await active_is(it, False)
        await it.hub.write(hold.release_job, uid, "ann")
        await refused.more()
        await stays(it, uid, State.PENDING)


async def test_a_release_stays_across_a_restart_of_the_hub_between_the_two_writes(
    tmp_path: Path, cluster: SimCluster
):
    """The new process has no memory of the write: the object itself says whose it was."""
    async with world(tmp_path, cluster) as it:
        uid = await taken(it)
        Refused(cluster)
        await it.hub.write(hold.hold_job, uid, "ann")
        await active_is(it, False)
    cluster.faults.remove()
    async with running_hub(tmp_path, SystemClock()) as hub:
        await hub.write(hold.release_job, uid, "ann")
    refused = Refused(cluster)
    async with world(tmp_path, cluster) as it:
        await refused.more()
        await stays(it, uid, State.PENDING)


async def test_a_job_that_was_released_since_the_backup_stays_held_after_the_restore(
    tmp_path: Path, cluster: SimCluster
):
    """Only a person releases it, though the bridge wrote `spec.active: true` in the lost time."""
    folder, copy = tmp_path / "hub", tmp_path / "copy"
    folder.mkdir()
    async with world(folder, cluster) as it:
        uid = await taken(it)
        await it.hub.write(hold.hold_job, uid, "ann")
        await active_is(it, False)
    databases.copied(folder, copy)
    refused = Refused(cluster)
    async with world(folder, cluster) as it:
        await it.hub.write(hold.release_job, uid, "ann")
        await active_is(it, True)
        await refused.more()
    async with running_hub(copy, SystemClock()) as hub:
        await hub.write(begin_recovery, "yesterday", "ada", ())
    async with world(copy, cluster) as it:
        await refused.more()
        await stays(it, uid, State.HELD)


async def test_a_person_is_obeyed_while_the_status_is_refused(tmp_path: Path, cluster: SimCluster):
    """A value that a person writes over that of the bridge is a command."""
    async with world(tmp_path, cluster) as it:
        uid = await taken(it)
        Refused(cluster)
        await it.hub.write(hold.hold_job, uid, "ann")
        await active_is(it, False)
        obj: Any = await shown(it)
        await patch(it, obj, {"spec": {"active": True}})

        async def released() -> bool:
            return (await it.hub.job(uid)).state == State.PENDING

        await until(released)
        assert await words_of_the_hub_cluster(it.hub) == ["release"]
