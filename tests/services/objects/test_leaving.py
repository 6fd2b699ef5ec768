"""A member leaves, clean or not, and comes back: what it holds then is kept, or taken away."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.objects import leave, left_behind
from hub.services.objects.clusters import cordon_cluster
from hub.services.objects.delete import delete_object
from hub.services.questions.clusters import list_clusters
from hub.store import clusters, objects, placements, settings, works
from hub.store.records.works import WantedWork, Work
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.errors import Rejected
from shared.groups import CLUSTER
from tests.services.members.hubs import Running, running_hub
from tests.services.placements.fleet import CONFIG, Fleet, capacity
from tests.store.build import START, a_member, a_wanted_work, a_work, opened

pytestmark = pytest.mark.anyio
FIXED = CONFIG + "  policy: {placementType: PickFixed, clusterNames: [m1, m2]}\n"


async def placed(hub: Running, document: str = CONFIG) -> Fleet:
    """On two members that are the hub's own: each has its MemberCluster."""
    fleet = await Fleet.start(hub, "m1", "m2")
    for name in ("m1", "m2"):
        await fleet.apply(
            f"apiVersion: {CLUSTER}/v1\nkind: MemberCluster\nmetadata: {{name: {name}}}\n"
        )
    await fleet.apply(document)
    await fleet.sync()
    await fleet.sync()
    return fleet


async def removed(hub: Running, policy: str) -> str:
    """What is said of m2, once it is to go."""

    def go(tx: Any) -> Any:
        return delete_object(
            tx, CLUSTER, "MemberCluster", "", "m2", origin="rest", principal="ann", policy=policy
        )

    done = await hub.write(go)
    await hub.settled()
    return str(done["result"])


async def is_there(hub: Running) -> bool:
    row = await hub.hub.read(objects.find, CLUSTER, "MemberCluster", "", "m2")
    assert (row is None) == (await hub.hub.read(clusters.get, "m2") is None)
    return row is not None


async def works_of(hub: Running, name: str) -> list[Work]:
    def find(tx: Any) -> list[Work]:
        held = works.of_uids(tx, works.uids_of(tx, name))
        return [each for each in held if each.cluster == name]

    return list(await hub.hub.read(find))


@pytest.mark.parametrize("document", [CONFIG, FIXED])
async def test_one_that_is_emptied_goes_when_nothing_is_left(tmp_path: Path, document: str):
    """Also where a placement names it: it is left out from the first moment on."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, document)
        assert fleet.held("m2") == ["ConfigMap/settings"]
        assert await removed(hub, "Delete") == "deleting"
        told = await hub.hub.read(list_clusters, hub.hub.settings)
        assert [each["state"] for each in told["items"]] == ["Ready", "Leaving"]
        assert "withdrawn" in told["items"][1]["message"]
        await fleet.turn()
        assert await is_there(hub)
        await fleet.agents["m2"].sync()
        assert (fleet.held("m1"), fleet.held("m2")) == (["ConfigMap/settings"], [])
        await fleet.sync("m2")
        hub.clock.advance(5)
        await fleet.turn()
        assert not await is_there(hub)
        assert await hub.hub.read(settings.get, left_behind.KEY) in (None, {})


async def test_its_own_options_say_what_becomes_of_objects(tmp_path: Path):
    """Unless whoever deletes it says something else; without either they stay."""
    async with running_hub(tmp_path) as hub:
        await placed(hub)
        row = await hub.hub.read(objects.find, CLUSTER, "MemberCluster", "", "m2")
        assert row is not None
        options = {"deleteOptions": {"propagationPolicy": "Delete"}}
        cleaned = row._replace(spec=options)
        assert [leave.cleans_up(cleaned, asked) for asked in ("", "Abandon")] == [True, False]
        assert [leave.cleans_up(row, asked) for asked in ("", "Delete")] == [False, True]


async def test_one_that_is_silent_is_not_waited_for_for_ever(tmp_path: Path):
    """After a quarter of an hour it is forgotten as it is, and what it holds is remembered."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub)
        assert await removed(hub, "Delete") == "deleting"
        hub.clock.advance(leave.FORCED_AFTER.total_seconds() + 1)
        await fleet.turn()
        assert not await is_there(hub)
        kept = await hub.hub.read(settings.get, left_behind.KEY)
        assert [each["name"] for one in kept.values() for each in one["objects"]] == ["settings"]


async def test_whoever_asks_again_to_keep_does_not_wait(tmp_path: Path):
    """It is forgotten at once."""
    async with running_hub(tmp_path) as hub:
        await placed(hub)
        assert await removed(hub, "Delete") == "deleting"
        assert await removed(hub, "Delete") == "deleting"
        assert await removed(hub, "Abandon") == "deleted"
        assert not await is_there(hub)
        with pytest.raises(Rejected, match="m2"):
            await removed(hub, "")


async def back(hub: Running, fleet: Fleet) -> None:
    """m2 joins again, as the cluster that it was."""
    agent = fleet.agents["m2"] = await hub.join("m2")
    agent.restart("session-m2-again")
    await agent.sync(capacity=capacity(8, 32))
    await fleet.turn()


async def later(hub: Running, fleet: Fleet) -> None:
    """When all placements have looked, and it has been heard since."""
    hub.clock.advance((left_behind.SETTLED + dt.timedelta(seconds=1)).total_seconds())
    await fleet.sync()
    hub.clock.advance(6)
    await fleet.turn()


async def test_what_is_wanted_is_given_again_and_orphans_go(tmp_path: Path):
    """An orphan is told to go by the uid that it was given by; what is wanted is not touched."""
    other = CONFIG.replace("settings", "others").replace("everywhere", "others")
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, CONFIG)
        await fleet.apply(other.replace("tier: web", "tier: db"))
        await fleet.sync()
        await fleet.sync()
        before = {each.name: each for each in await works_of(hub, "m2")}
        assert before.keys() == {"settings", "others"}
        assert await removed(hub, "") == "deleted"

        def gone(tx: Any) -> Any:
            return delete_object(
                tx, "placement.kubernetes-fleet.io", "ResourcePlacement", "shop", "others",
                origin="rest", principal="ann",
            )  # fmt: skip

        await hub.write(gone)
        await fleet.turn()
        await back(hub, fleet)
        assert [each.name for each in await works_of(hub, "m2")] == ["settings"]
        await later(hub, fleet)
        after = {each.name: each for each in await works_of(hub, "m2")}
        assert after["settings"].hash == before["settings"].hash
        orphan = after["others"]
        assert (orphan.action, orphan.uid) == ("Withdraw", before["others"].uid)
        await fleet.sync("m2")
        assert [each.name for each in await works_of(hub, "m2")] == ["settings"]
        assert await hub.hub.read(settings.get, left_behind.KEY) == {}


async def test_nothing_is_an_orphan_while_the_member_is_cordoned(tmp_path: Path):
    """No placement picks it meanwhile, whatever it wants there afterwards."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, CONFIG)
        before = await works_of(hub, "m2")
        assert await removed(hub, "") == "deleted"
        await fleet.turn()
        fleet.agents["m2"] = await hub.join("m2")
        for on in (True, False):
            await hub.write(
                lambda tx, on=on: cordon_cluster(tx, "m2", hub.hub.settings, "ann", on=on)
            )
            if on:
                fleet.agents["m2"].restart("session-m2-again")
                await fleet.agents["m2"].sync(capacity=capacity(8, 32))
            await fleet.turn()
            await later(hub, fleet)
            given = [(each.uid, each.action) for each in await works_of(hub, "m2")]
            assert given == ([] if on else [(each.uid, "Apply") for each in before])


async def test_nothing_is_an_orphan_while_a_placement_could_not_look(tmp_path: Path):
    """What it wants there would be taken away and given again: it is looked at first."""

    def note(tx: Any, version: str) -> None:
        (mine,) = placements.bound_to(tx, "m1")
        placements.bind(tx, [mine._replace(resource_snapshot=version)])

    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, CONFIG)
        before = await works_of(hub, "m2")
        assert await removed(hub, "") == "deleted"
        await fleet.turn()
        await hub.write(note, "odd")
        await back(hub, fleet)
        await later(hub, fleet)
        assert await works_of(hub, "m2") == []
        await hub.write(note, "0")
        await fleet.turn()
        await later(hub, fleet)
        after = await works_of(hub, "m2")
        assert [(each.uid, each.hash, each.action) for each in after] == [
            (each.uid, each.hash, "Apply") for each in before
        ]


async def test_what_is_remembered_of_a_member_that_leaves(tmp_path: Path):
    """Its objects, whole, and whether they were to be left to it; neither Jobs nor what others hold."""
    options = ApplyOptions(abandon=True)
    held = [
        a_work("north", "given", epoch=0, kind="ConfigMap", api_version="v1", placed_by="p"),
        a_work("north", "placed to be left", epoch=0, options=options, action="Apply"),
        a_work("north", "being left", epoch=0, action="Keep"),
        a_work("north", "going", epoch=0, action="Withdraw", generation=3),
        a_work("north", "a job"),
        a_work("south", "given", epoch=0),
    ]
    async with opened(tmp_path, ManualClock(START)) as db:

        def left(tx: Transaction) -> Any:
            for name in ("north", "south"):
                clusters.add(tx, a_member(name, cluster_uid=f"uid-{name}"))
            works.upsert(tx, [wanted_of(each) for each in held])
            north = clusters.get(tx, "north")
            assert north is not None
            return left_behind.note(tx, north), settings.get(tx, left_behind.KEY)

        count, kept = await db.write(left)
        assert count == 4
        assert sorted(kept["uid-north"].pop("objects"), key=lambda each: each["uid"]) == [
            remembered("being left", abandon=True),
            remembered("given", apiVersion="v1", kind="ConfigMap", placedBy="p"),
            remembered("going", generation=3),
            remembered("placed to be left", abandon=True),
        ]
        assert kept == {"uid-north": {"name": "north", "at": "2026-03-01T12:00:00Z"}}


def wanted_of(work: Work) -> WantedWork:
    return a_wanted_work(
        work.cluster, work.uid, epoch=work.epoch, generation=work.generation, kind=work.kind,
        api_version=work.api_version, placed_by=work.placed_by, options=work.options,
        action=work.action,
    )  # fmt: skip


def remembered(uid: str, **said: Any) -> dict[str, Any]:
    return {
        "uid": uid, "generation": 1, "apiVersion": "batch/v1", "kind": "Job", "namespace": "team-a",
        "name": uid, "placedBy": "", "abandon": False, **said,
    }  # fmt: skip
