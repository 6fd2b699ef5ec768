"""A change reaches clusters some at a time: each keeps what it was given until it is its turn."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.objects.delete import delete_object
from hub.store import placements, works
from hub.store.records.works import Work
from hub.store.tables import contents
from hub.store.transaction import Transaction
from tests.services.members.hubs import Running, running_hub, seen
from tests.services.placements.fleet import CONFIG, FLEET, Fleet, conditions

pytestmark = pytest.mark.anyio

MEMBERS = ("m1", "m2", "m3", "m4")
GREEN = CONFIG.replace("color: blue", "color: green")
RED = CONFIG.replace("color: blue", "color: red")
PLACEMENT = ("ResourcePlacement", "everywhere", "shop")


def colors(fleet: Fleet) -> list[str]:
    """What each member was given, "-" for nothing."""
    found = []
    for name in MEMBERS:
        held = [w for w in fleet.agents[name].works.values() if w["kind"] == "ConfigMap"]
        given = [w["manifest"]["data"]["color"] for w in held if w["action"] == "Apply"]
        found.append(given[0] if given else "-")
    return found


async def fetched(fleet: Fleet) -> list[str]:
    """What each member was given, once all have asked."""
    for name in MEMBERS:
        await fleet.agents[name].sync()
    return colors(fleet)


async def placed(hub: Running, config: str = CONFIG) -> Fleet:
    fleet = await Fleet.start(hub, *MEMBERS)
    await fleet.apply(config)
    await fleet.sync()
    return fleet


def rolled_out(status: dict[str, Any]) -> tuple[str, str, str]:
    """The placement's own rung, with its message."""
    rung = next(c for c in status["conditions"] if c["type"].endswith("RolloutStarted"))
    return rung["status"], rung["reason"], rung["message"]


def versions(status: dict[str, Any]) -> list[str]:
    return [each["observedResourceIndex"] for each in status["placementStatuses"]]


async def test_a_change_goes_to_a_quarter_at_a_time(tmp_path: Path):
    """25 % of 4 is one: the next follows when the one before says that it is there and available."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub)
        assert colors(fleet) == ["blue"] * 4
        await fleet.apply(GREEN)
        assert await fetched(fleet) == ["green", "blue", "blue", "blue"]
        status = await fleet.status(*PLACEMENT)
        said = (
            "The rollout is held back by the rollout strategy in 3 of 4 cluster(s), first m2: "
            "m1 must become available first (maxUnavailable 25%, maxSurge 25% of 4)"
        )
        assert rolled_out(status) == ("False", "RolloutNotStartedYet", said)
        assert versions(status) == ["1", "0", "0", "0"]
        second = status["placementStatuses"][1]["conditions"]
        assert [(c["type"], c["status"]) for c in second] == [
            ("Scheduled", "True"),
            ("RolloutStarted", "False"),
        ]
        assert "it has version 0" in second[1]["message"]
        await fleet.sync("m2", "m3", "m4")
        assert await fetched(fleet) == ["green", "blue", "blue", "blue"]
        for turn in (2, 3, 4):
            await fleet.sync(*MEMBERS)
            assert await fetched(fleet) == ["green"] * turn + ["blue"] * (4 - turn)
        await fleet.sync(*MEMBERS)
        status = await fleet.status(*PLACEMENT)
        assert versions(status) == ["1"] * 4
        assert conditions(status)["ResourcePlacementAvailable"] == ("True", "ResourceAvailable")


async def test_what_never_becomes_available_stops_there_and_the_next_change_mends_it(
    tmp_path: Path,
):
    """The others keep what they have; the broken one gets the mended version at once."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub)
        await fleet.apply(RED)
        await fleet.sync("m1", available=False)
        await fleet.sync("m2", "m3", "m4")
        assert await fetched(fleet) == ["red", "blue", "blue", "blue"]
        await fleet.apply(GREEN)
        assert await fetched(fleet) == ["green", "blue", "blue", "blue"]
        for _ in range(4):
            await fleet.sync(*MEMBERS)
        assert await fetched(fleet) == ["green"] * 4


async def test_going_back_is_a_change_like_others(tmp_path: Path):
    """What was said of the version between counts for nothing, though the object is as it was."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub)
        await fleet.apply(GREEN)
        await fleet.sync("m1")
        assert await fetched(fleet) == ["green", "green", "blue", "blue"]
        await fleet.apply(CONFIG)
        assert await fetched(fleet) == ["green", "blue", "blue", "blue"]
        status = await fleet.status(*PLACEMENT)
        assert versions(status) == ["1", "2", "2", "2"]
        second = status["placementStatuses"][1]["conditions"][-1]
        assert (second["type"], second["status"]) == ("Applied", "Unknown")


async def test_a_kind_that_does_not_tell_is_waited_for(tmp_path: Path):
    """unavailablePeriodSeconds after it was applied the next may go, with no word from anybody."""
    async with running_hub(tmp_path) as hub:
        slow = "  strategy: {rollingUpdate: {unavailablePeriodSeconds: 30}}\n"
        fleet = await placed(hub, CONFIG + slow)
        for name in MEMBERS:
            await fleet.sync(name, available=None)
        await fleet.apply(GREEN + slow)
        assert await fetched(fleet) == ["blue"] * 4  # they have not been there for 30 s yet
        hub.clock.advance(30)
        await fleet.turn()
        assert await fetched(fleet) == ["green", "blue", "blue", "blue"]
        await fleet.sync("m1", available=None)
        hub.clock.advance(28)
        await fleet.turn()
        assert (await fetched(fleet))[1] == "blue"
        hub.clock.advance(2)
        await fleet.turn()
        assert await fetched(fleet) == ["green", "green", "blue", "blue"]


async def test_what_is_selected_no_longer_goes_in_the_same_order(tmp_path: Path):
    """From one cluster after the other; a placement that selects nothing leaves nothing anywhere."""
    async with running_hub(tmp_path) as hub:
        other = """
---
apiVersion: v1
kind: ConfigMap
metadata: {name: more, namespace: shop, labels: {tier: web}}
"""
        namespace, config, placement = CONFIG.split("---")
        fleet = await placed(hub, "---".join([namespace, config + other, placement]))
        await fleet.apply(other.replace("tier: web", "tier: none"))
        for name in MEMBERS:
            await fleet.agents[name].sync()
        assert [len(fleet.held(name)) for name in MEMBERS] == [1, 2, 2, 2]
        for _ in range(4):
            await fleet.sync(*MEMBERS)
        assert [fleet.held(name) for name in MEMBERS] == [["ConfigMap/settings"]] * 4
        await fleet.apply(config.replace("tier: web", "tier: none"))
        for name in MEMBERS:
            await fleet.agents[name].sync()
        assert [fleet.held(name) for name in MEMBERS] == [[]] * 4


async def test_the_next_cluster_follows_once_the_last_of_what_leaves_is_gone(tmp_path: Path):
    """That word alone is enough: what stays has nothing new to tell."""
    async with running_hub(tmp_path) as hub:
        other = """
---
apiVersion: v1
kind: ConfigMap
metadata: {name: more, namespace: shop, labels: {tier: web}}
"""
        namespace, config, placement = CONFIG.split("---")
        fleet = await placed(hub, "---".join([namespace, config + other, placement]))
        await fleet.apply(other.replace("tier: web", "tier: none"))
        for name in MEMBERS:
            agent = fleet.agents[name]
            await agent.sync()
            (gone,) = [w for w in agent.works.values() if w["action"] == "Withdraw"]
            entry = seen(gone["uid"], "Gone", 0)
            entry.generation = gone["generation"]
            await agent.sync(entry)
            await fleet.turn()
        assert [fleet.held(name) for name in MEMBERS] == [["ConfigMap/settings"]] * 4


async def test_how_it_is_applied_changes_everywhere_at_once(tmp_path: Path):
    """Also where the newest version is not yet; nothing else of what was given changes."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub)
        await fleet.apply(GREEN)
        await fleet.apply(GREEN + "  strategy: {applyStrategy: {whenToApply: IfNotDrifted}}\n")
        assert await fetched(fleet) == ["green", "blue", "blue", "blue"]
        held = [w for name in MEMBERS for w in fleet.agents[name].works.values()]
        assert {w["when_to_apply"] for w in held} == {"IfNotDrifted"}


async def test_only_what_is_used_is_kept(tmp_path: Path):
    """Versions beyond the history go, with their manifests, save those that some cluster has."""
    async with running_hub(tmp_path) as hub:
        short = "  revisionHistoryLimit: 1\n"
        fleet = await placed(hub, CONFIG + short)
        for number in range(4):
            await fleet.apply(CONFIG.replace("blue", f"shade-{number}") + short)
        row = await fleet.object(*PLACEMENT)
        assert row is not None

        def kept(tx: Transaction) -> tuple[list[int], int]:
            found = placements.history(tx, row.uid, "resources")
            query = contents.select().where(contents.c.placement == row.uid)
            return [each[0] for each in found], len(tx.conn.execute(query).all())

        # The last, the one that m1 had until then, and the first, which m2 to m4 have.
        assert await hub.hub.read(kept) == ([4, 3, 0], 3)
        await hub.write(
            lambda tx: delete_object(
                tx, FLEET, PLACEMENT[0], "shop", "everywhere", origin="rest", principal="p"
            )
        )
        await fleet.turn()
        await fleet.sync(*MEMBERS)
        assert await hub.hub.read(kept) == ([], 0)


async def test_what_an_earlier_release_gave_is_not_given_again(tmp_path: Path):
    """Its works name no content: they are compared by their hashes, and taken for what they are."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub)
        row = await fleet.object(*PLACEMENT)
        assert row is not None
        before = await hub.hub.read(works.of_placement, row.uid)

        def as_before(tx: Transaction) -> None:
            works.renew(tx, [_wanted(each) for each in before])
            tx.conn.execute(contents.delete())

        await hub.write(as_before)
        await fleet.apply(CONFIG.replace("tier: web", "tier: web, more: label"))
        assert [each.generation for each in await hub.hub.read(works.of_placement, row.uid)] == [
            2, 1, 1, 1,
        ]  # fmt: skip


def _wanted(each: Work) -> Any:
    columns = ("cluster", "uid", "epoch", "generation", "api_version", "kind", "namespace", "name",
               "options", "placed_by", "hash", "action")  # fmt: skip
    return {name: getattr(each, name) for name in columns} | {"content": ""}
