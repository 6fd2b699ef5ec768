"""The revisions of what a placement selects: what changed from one to the next, and going back to one."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.objects.delete import delete_object
from hub.services.placements.history.revisions import RollbackTo, list_revisions, roll_back
from hub.store import audit, objects
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.groups import PLACEMENT as GROUP
from tests.services.members.hubs import Running, running_hub
from tests.services.placements.fleet import CONFIG, Fleet, conditions

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


async def settled(fleet: Fleet) -> list[str]:
    """What each member has once every change has gone round."""
    for _ in range(len(MEMBERS) + 1):
        await fleet.sync(*MEMBERS)
    for name in MEMBERS:
        await fleet.agents[name].sync()
    return colors(fleet)


async def with_history(hub: Running) -> Fleet:
    """Four members that had blue (0), green (1), and have red (2)."""
    fleet = await Fleet.start(hub, *MEMBERS)
    for config in (CONFIG, GREEN, RED):
        await fleet.apply(config)
        await settled(fleet)
    assert colors(fleet) == ["red"] * 4
    return fleet


async def asked(fleet: Fleet, to: int | None, *, dry_run: bool = False) -> Any:
    told = await fleet.hub.write(
        roll_back, "shop", "everywhere", RollbackTo(to, dry_run=dry_run), "somebody"
    )
    await fleet.turn()
    return told


async def history(fleet: Fleet) -> Any:
    return await fleet.hub.hub.read(list_revisions, "shop/everywhere", 10)


async def test_revisions_say_what_changed_and_which_clusters_have_them(tmp_path: Path):
    """Newest first, with every field's value before and after; the oldest has nothing to compare with."""
    async with running_hub(tmp_path) as hub:
        fleet = await with_history(hub)
        told = await history(fleet)
        assert [each["index"] for each in told["items"]] == [2, 1, 0]
        assert [each["clusters"] for each in told["items"]] == [list(MEMBERS), [], []]
        assert [each["newest"] for each in told["items"]] == [True, False, False]
        (changed,) = told["items"][0]["changes"]["changed"]
        assert (changed["kind"], changed["name"]) == ("ConfigMap", "settings")
        assert changed["changedFields"] == [
            {"path": "/data/color", "before": '"green"', "after": '"red"'}
        ]
        assert told["items"][2]["changes"] == {
            "added": [],
            "removed": [],
            "changed": [],
            "more": 0,
        }
        assert len({each["hash"] for each in told["items"]}) == 3


async def test_a_dry_run_says_what_a_rollback_would_do_and_does_nothing(tmp_path: Path):
    """The fields as they would become, and the clusters that would change."""
    async with running_hub(tmp_path) as hub:
        fleet = await with_history(hub)
        told = await asked(fleet, 0, dry_run=True)
        assert (told["carriedOut"], told["fromIndex"], told["toIndex"], told["newestIndex"]) == (
            False,
            2,
            0,
            2,
        )
        assert told["changes"]["changed"][0]["changedFields"][0]["after"] == '"blue"'
        assert [each["changes"] for each in told["clusters"]] == [True] * 4
        assert await settled(fleet) == ["red"] * 4


async def test_a_rollback_goes_by_the_strategy_and_is_told(tmp_path: Path):
    """A quarter at a time, as any change; the status says which revision is there, and who asked."""
    async with running_hub(tmp_path) as hub:
        fleet = await with_history(hub)
        assert (await asked(fleet, 0))["carriedOut"] is True
        for name in MEMBERS:
            await fleet.agents[name].sync()
        assert sorted(colors(fleet)) == ["blue", "red", "red", "red"]
        assert await settled(fleet) == ["blue"] * 4
        status = await fleet.status(*PLACEMENT)
        assert status["observedResourceIndex"] == "0"
        assert {each["observedResourceIndex"] for each in status["placementStatuses"]} == {"0"}
        assert conditions(status)["RolledBack"] == ("True", "RolledBack")
        assert conditions(status)["ResourcePlacementAvailable"][0] == "True"
        assert status["rollback"]["by"] == "somebody"
        told = await history(fleet)
        assert [each["current"] for each in told["items"]] == [False, False, True]
        entries = await hub.hub.read(audit.list_entries)
        (entry,) = [each for each in entries if each.principal == "somebody"]
        assert entry.verb == "rollback"
        assert "2 to 0" in entry.outcome


async def test_it_holds_while_nothing_that_is_selected_changes(tmp_path: Path):
    """Not for another hub that takes over, a policy, or a member that joins: it gets the older one, too."""
    async with running_hub(tmp_path) as hub:
        fleet = await with_history(hub)
        await asked(fleet, 1)
        assert await settled(fleet) == ["green"] * 4
        again = await Fleet.start(hub, "m5")
        again.agents |= fleet.agents
        await again.turn()
        await again.sync()
        held = [w for w in again.agents["m5"].works.values() if w["kind"] == "ConfigMap"]
        assert [each["manifest"]["data"]["color"] for each in held] == ["green"]
        await again.apply(RED + "\n  revisionHistoryLimit: 3\n")
        assert await settled(again) == ["green"] * 4


async def test_a_change_of_what_is_selected_ends_it(tmp_path: Path):
    """The change rolls out, and an Event says why."""
    async with running_hub(tmp_path) as hub:
        fleet = await with_history(hub)
        await asked(fleet, 0)
        await settled(fleet)
        await fleet.apply(CONFIG.replace("color: blue", "color: gold"))
        assert await settled(fleet) == ["gold"] * 4
        status = await fleet.status(*PLACEMENT)
        assert "rollback" not in status
        assert "RolledBack" not in conditions(status)
        assert status["observedResourceIndex"] == "3"


async def test_it_can_be_released(tmp_path: Path):
    """Then the newest revision rolls out again."""
    async with running_hub(tmp_path) as hub:
        fleet = await with_history(hub)
        await asked(fleet, 0)
        await settled(fleet)
        told = await asked(fleet, None)
        assert (told["fromIndex"], told["toIndex"], told["carriedOut"]) == (0, 2, True)
        assert await settled(fleet) == ["red"] * 4
        assert "RolledBack" not in conditions(await fleet.status(*PLACEMENT))
        assert (await asked(fleet, None))["carriedOut"] is False


async def test_what_was_deleted_since_comes_back(tmp_path: Path):
    """As it was then, though the hub has it no more."""
    async with running_hub(tmp_path) as hub:
        fleet = await with_history(hub)
        await hub.write(
            lambda tx: delete_object(
                tx, "", "ConfigMap", "shop", "settings", origin="rest", principal="p"
            )
        )
        await fleet.turn()
        assert await settled(fleet) == ["-"] * 4
        await asked(fleet, 1)
        assert await settled(fleet) == ["green"] * 4
        status = await fleet.status(*PLACEMENT)
        assert [each["name"] for each in status["selectedResources"]] == ["settings"]


async def test_what_can_not_be_gone_back_to_is_refused(tmp_path: Path):
    """A revision that is not kept, a placement that is not there, one that staged runs drive."""
    async with running_hub(tmp_path) as hub:
        fleet = await with_history(hub)
        found = []
        for place, to in (("everywhere", 9), ("nowhere", 0)):
            with pytest.raises(Rejected) as refusal:
                await hub.write(roll_back, "shop", place, RollbackTo(to), "somebody")
            found.append((refusal.value.code, refusal.value.detail))
        assert found == [
            ("NotFound", "no revision 9 of it is kept: 2, 1, 0 are"),
            ("NotFound", "there is no ResourcePlacement shop/nowhere"),
        ]
        await fleet.apply(RED + "\n  strategy: {type: External}\n")
        with pytest.raises(Rejected) as refusal:
            await hub.write(roll_back, "shop", "everywhere", RollbackTo(0), "somebody")
        assert refusal.value.code == "InvalidState"


async def test_the_revision_that_clusters_have_outlives_the_limit(tmp_path: Path):
    """Nothing that is rolled back to is dropped, however many come after it."""
    async with running_hub(tmp_path) as hub:
        fleet = await with_history(hub)
        await asked(fleet, 0)
        await settled(fleet)
        for color in ("a", "b", "c"):
            text = CONFIG.replace("color: blue", f"color: {color}")
            await fleet.apply(text + "\n  revisionHistoryLimit: 1\n")
        kept = [each["index"] for each in (await history(fleet))["items"]]
        assert 0 in kept


@pytest.mark.parametrize("odd", ["odd", {"by": "ann"}, {"resourceSnapshotIndex": "x"}])
async def test_a_rollback_that_can_not_be_read_holds_nothing_up(tmp_path: Path, odd: Any):
    """Neither its placement, which gets what is newest, nor any other."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(CONFIG)

        def note(tx: Transaction) -> None:
            row = objects.find(tx, GROUP, "ResourcePlacement", "shop", "everywhere")
            assert row is not None
            objects.set_statuses(tx, {row.uid: {**(row.status or {}), "rollback": odd}})

        await hub.write(note)
        await fleet.apply(GREEN)
        await fleet.sync()
        status = await fleet.status(*PLACEMENT)
        assert ("rollback" in status, status["observedResourceIndex"]) == (False, "1")
        (held,) = fleet.agents["m1"].works.values()
        assert held["manifest"]["data"] == {"color": "green"}
