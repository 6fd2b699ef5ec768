"""What a placement leaves to its members: told to be abandoned, waited for, and never deleted."""

from pathlib import Path

import pytest
from sqlalchemy import update

from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.objects.delete import delete_object
from hub.services.works import compose
from hub.store import objects, tables, workloads, works
from shared.wire.versions import ABANDONS
from tests.services.members.hubs import Running, running_hub, seen
from tests.services.placements.fleet import CONFIG, FLEET, JOBS, Fleet, conditions

pytestmark = pytest.mark.anyio
LEAVES = "strategy: {deleteStrategy: {propagationPolicy: Abandon}}"
STRATEGY = {"deleteStrategy": {"propagationPolicy": "Abandon"}}
LEFT = CONFIG.replace("spec:", f"spec:\n  {LEAVES}")
KIND, NAME = "ResourcePlacement", "everywhere"


async def placed(hub: Running, *names: str, protocol: int = ABANDONS, text: str = LEFT) -> Fleet:
    """A fleet whose agents hold the ConfigMap."""
    fleet = await Fleet.start(hub)
    for name in names:
        agent = fleet.agents[name] = await hub.join(name)
        agent.protocol = protocol
        await agent.sync()
    await fleet.apply(text)
    await fleet.sync()
    assert all(fleet.held(name) == ["ConfigMap/settings"] for name in names)
    return fleet


async def delete(hub: Running, fleet: Fleet, group: str = FLEET, kind: str = KIND, name=NAME):
    await hub.write(delete_object, group, kind, "shop", name, origin="rest", principal="x")
    await fleet.turn()
    await fleet.turn()


async def actions(hub: Running, fleet: Fleet) -> dict[str, str]:
    """Member → what it is told about the ConfigMap."""
    row = await fleet.object("ConfigMap", "settings", "shop")
    found = await hub.hub.read(works.all_desired)
    return {each.cluster: each.action for each in found if row is None or each.uid == row.uid}


async def test_a_deleted_placement_goes_when_its_members_have_said_so(tmp_path: Path):
    """Its objects are told to be left; the last word of the last member ends it, and says what was done."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, "m1", "m2")
        await delete(hub, fleet)
        assert await actions(hub, fleet) == {"m1": "Keep", "m2": "Keep"}
        await fleet.sync("m1")
        assert await actions(hub, fleet) == {"m2": "Keep"}
        said = conditions(await fleet.status(KIND, NAME, "shop"))
        assert said["Abandoning"] == ("True", "InProgress")
        await fleet.sync("m2")
        assert await fleet.object(KIND, NAME, "shop") is None


FIXED = LEFT.replace(
    "spec:", "spec:\n  policy: {placementType: PickFixed, clusterNames: [m1, m2]}"
)


@pytest.mark.parametrize(
    "text",
    [FIXED.replace("m1, m2", "m1"), LEFT.replace("tier: web}}}", "tier: db}}}"), ""],
    ids=["cluster", "selector", "object"],
)
async def test_whatever_lets_it_go_it_is_left(tmp_path: Path, text: str):
    """The choice of clusters, the selection, or the end of the hub's object."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, "m1", "m2", text=FIXED if "clusterNames" in text else LEFT)
        if text:
            await fleet.apply(text.replace("labels: {tier: db}", "labels: {tier: web}"))
        else:
            await delete(hub, fleet, "", "ConfigMap", "settings")
        told = set((await actions(hub, fleet)).values())
        assert told == ({"Apply", "Keep"} if "clusterNames" in text else {"Keep"})
        status = await fleet.status(KIND, NAME, "shop")
        assert conditions(status)["Abandoning"] == ("True", "InProgress")
        await fleet.sync()
        assert "Keep" not in (await actions(hub, fleet)).values()
        assert "Abandoning" not in conditions(await fleet.status(KIND, NAME, "shop"))


async def test_an_agent_of_before_keeps_it_and_is_waited_for(tmp_path: Path):
    """It is never told to delete; the status names it, until it is upgraded and has done it."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, "m1", protocol=2)
        await delete(hub, fleet)
        await fleet.sync()
        assert [work["action"] for work in fleet.agents["m1"].works.values()] == ["Keep"]
        (said,) = [
            each
            for each in (await fleet.status(KIND, NAME, "shop"))["conditions"]
            if each["type"] == "Abandoning"
        ]
        assert said["reason"] == "AgentTooOld"
        assert (
            "1 in m1, whose agent can not (it speaks protocol 2, and 3 is needed)"
            in said["message"]
        )
        fleet.agents["m1"].restart("session-m1-2", ABANDONS)
        await fleet.sync()
        assert await fleet.object(KIND, NAME, "shop") is None


async def test_what_is_being_left_may_be_wanted_again(tmp_path: Path):
    """By another placement too: it is the one that holds it then."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, "m1")
        await delete(hub, fleet)
        other = LEFT.rpartition("---")[2].replace("everywhere", "again")
        await fleet.apply(other)
        assert await actions(hub, fleet) == {"m1": "Apply"}
        await fleet.sync()
        assert await fleet.object(KIND, NAME, "shop") is None
        status = await fleet.status(KIND, "again", "shop")
        assert conditions(status)["ResourcePlacementApplied"][0] == "True"


async def test_the_placement_as_it_now_is_decides(tmp_path: Path):
    """Edited and deleted in one breath, it leaves what it had placed to be taken back."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, "m1", text=CONFIG)
        row = await fleet.object(KIND, NAME, "shop")
        assert row is not None
        uid, spec = row.uid, {**(row.spec or {}), "strategy": STRATEGY}
        await hub.write(lambda tx: objects.change(tx, uid, spec=spec, deleted_at=tx.now))
        await fleet.turn()
        assert await actions(hub, fleet) == {"m1": "Keep"}


async def test_an_object_whose_manifest_is_gone_is_left_too(tmp_path: Path):
    """An agent asks for what a hub of before rollouts gave, and the placement has not looked again."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, "m1")
        row = await fleet.object("ConfigMap", "settings", "shop")
        assert row is not None
        await hub.write(lambda tx: tx.conn.execute(update(tables.works).values(content="")))
        await hub.write(objects.remove, row.uid)
        fleet.agents["m1"].restart("session-m1-2", ABANDONS)
        await fleet.agents["m1"].sync()
        await hub.settled()
        assert await actions(hub, fleet) == {"m1": "Keep"}


async def test_a_job_is_never_left_running(tmp_path: Path):
    """It comes back to its queue as ever, which waits for the member's word: left, it could run twice."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        fixed = f"  {LEAVES}\n  policy: {{placementType: PickFixed, clusterNames: [m1]}}\n"
        await fleet.apply(JOBS + fixed)
        found = await hub.hub.read(workloads.live_by_name, [("shop", "one")])
        uid = found["shop", "one"].uid
        await hub.place(uid, "m1")
        await hub.settled()
        await fleet.agents["m1"].sync()
        await delete(hub, fleet, name="jobs")
        work = await hub.work(uid)
        assert work is not None
        assert (work.action, (await hub.job(uid)).state) == ("Withdraw", "Withdrawing")


def test_how_it_is_given_up_changes_nothing_of_how_it_is_applied():
    """A placement that turns to Abandon has nothing applied anew."""
    plain = ApplyOptions(when_to_apply="Always")
    left = ApplyOptions(when_to_apply="Always", abandon=True)
    assert compose.digest("h", plain, 0) == compose.digest("h", left, 0)
    assert ApplyOptions.from_json(left.as_json()) == left


async def test_gone_ends_what_was_to_be_left_and_nothing_else(tmp_path: Path):
    """A member that says so of what it should hold is heard, and holds it still."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, "m1")
        row = await fleet.object("ConfigMap", "settings", "shop")
        assert row is not None
        await fleet.agents["m1"].sync(seen(row.uid, "Gone", 0))
        assert await actions(hub, fleet) == {"m1": "Apply"}
