"""What a placement selects is taken before the placement: its first version is whole."""

import datetime as dt
from pathlib import Path

import pytest

from hub.bridge.following import HELD_S
from shared.clock import ManualClock
from tests.bridge.crossings import crossing
from tests.bridge.hub_cluster import FIELDS, until
from tests.bridge.parts import a_config_map
from tests.bridge.placing import KINDS, a_placement, taken

pytestmark = pytest.mark.anyio
NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)


async def test_what_was_there_first_is_stored_first(tmp_path: Path) -> None:
    """Of a kind that nobody followed before: the placement waits until it was read."""
    async with crossing(tmp_path, KINDS) as (turns, it, _):
        selected = await it.kube.create(a_config_map(), field_manager=FIELDS)
        placement = await it.create(a_placement("ConfigMap"))

        async def both() -> bool:
            known = await taken(turns, it, placement)
            assert not known or await it.object(selected) is not None
            return known

        await until(both)


async def test_what_a_changed_placement_selects_besides_is_stored_first(tmp_path: Path) -> None:
    """A second kind comes with the change, not as a version after it."""
    async with crossing(tmp_path, KINDS) as (turns, it, _):
        await it.kube.create(a_config_map(), field_manager=FIELDS)
        secret = {**a_config_map(), "kind": "Secret", "data": {}}
        selected = await it.kube.create(secret, field_manager=FIELDS)
        placement = await it.create(a_placement("ConfigMap"))
        await until(lambda: taken(turns, it, placement))
        await it.patch(placement, {"spec": a_placement("ConfigMap", "Secret")["spec"]})

        async def changed() -> bool:
            await turns.take()
            row = await it.object(placement)
            assert row is not None
            known = len((row.spec or {})["resourceSelectors"]) == 2
            assert not known or await it.object(selected) is not None
            return known

        await until(changed)


async def test_a_kind_that_is_not_read_in_time_holds_nobody_up(tmp_path: Path) -> None:
    """After a few seconds the placement is taken without it; one that may not be read is not waited for."""
    clock = ManualClock(NOW)
    async with crossing(tmp_path, KINDS, clock) as (turns, it, cluster):
        hold = cluster.faults.add("hold", verb="list", resource="configmaps", count=0)
        placement = await it.create(a_placement("ConfigMap"))
        assert not await taken(turns, it, placement)
        assert not await taken(turns, it, placement)
        clock.advance(HELD_S)
        assert await taken(turns, it, placement)
        cluster.faults.remove(hold.id)


async def test_a_placement_of_queues_is_taken_at_once(tmp_path: Path) -> None:
    """Jobs of queues that are placed wait for a placement of their own: those that come next must know."""
    async with crossing(tmp_path, KINDS, ManualClock(NOW)) as (turns, it, cluster):
        hold = cluster.faults.add("hold", verb="list", resource="configmaps", count=0)
        made = a_placement("ConfigMap")
        queue = {
            "group": "kueue.x-k8s.io",
            "version": "v1beta1",
            "kind": "LocalQueue",
            "name": "q",
        }
        made["spec"]["resourceSelectors"].append(queue)
        placement = await it.create(made)
        await until(lambda: taken(turns, it, placement))
        cluster.faults.remove(hold.id)
