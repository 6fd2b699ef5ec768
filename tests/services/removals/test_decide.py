"""Decisions of an administrator about objects that the hub has no work for, and their effects."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.context import leadership, timeline
from hub.services.leftovers import left_objects
from hub.services.objects import leave
from hub.services.objects.apply import apply_documents
from hub.services.objects.delete import delete_object
from hub.services.questions import overview
from hub.services.reading.draft import draft
from hub.services.removals import decide
from hub.services.removals.decide import Chosen
from hub.store import clusters
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.groups import CLUSTER
from shared.kinds.registry import parse
from shared.wire.versions import NEWEST, OBJECT_UIDS
from tests import waiting
from tests.services.members.hubs import Agent, Running, noted, running_hub, seen
from tests.services.placements.fleet import CONFIG, Fleet, capacity

pytestmark = pytest.mark.anyio
WEB = "ResourcePlacement/web"


def a_left_object(uid: str = "o-1", object_uid: str = "m-1", **which: object) -> Any:
    """An agent's report of a ConfigMap that it wrote and that nothing desires."""
    left = {"api_version": "v1", "kind": "ConfigMap", "namespace": "team", "name": "settings"}
    told = {**left, "created": True, "placed_by": WEB, **which}
    return seen(uid, "Applied", 0, object_uid=object_uid, reason="Orphan", left=told)


async def joined(hub: Running, name: str, *left: Any, protocol: int = NEWEST) -> Agent:
    agent = await hub.join(name)
    agent.protocol = protocol
    await agent.sync(*left)
    return agent


async def decided(hub: Running, how: Any, dry_run: bool = False, **chosen: str) -> dict[str, Any]:
    which = Chosen(**chosen)
    answer = await hub.write(decide.decide, how, which, "ann", dry_run=dry_run)
    await hub.settled()
    return answer


async def listed(hub: Running) -> list[tuple[str, str]]:
    """Name and decision of each object that is listed."""
    found = (await hub.hub.read(overview.restored))["objects"]
    return [(row["name"], row["decided"]) for row in found]


def told(agent: Agent) -> list[tuple[str, str, str]]:
    return [(work["uid"], work["action"], work["object_uid"]) for work in agent.works.values()]


@pytest.mark.parametrize(("how", "action"), [("Remove", "Withdraw"), ("Abandon", "Keep")])
async def test_a_decision_is_told_to_the_member_with_the_uid_of_the_object(
    tmp_path: Path, how, action
):
    """Listed with the decision until its agent reports that it is carried out; audited."""
    async with running_hub(tmp_path) as hub:
        agent = await joined(hub, "north", a_left_object())
        answer = await decided(hub, how, object_uid="m-1")
        assert (answer["carriedOut"], answer["count"], answer["more"]) == (True, 1, False)
        assert await listed(hub) == [("settings", how)]
        await agent.sync()
        assert told(agent) == [("o-1", action, "m-1")]
        assert await listed(hub) == [("settings", how)]
        await agent.sync(seen("o-1", "Gone", 0))
        assert await listed(hub) == []
        assert await hub.work("o-1") is None
        assert ("ann", "ok") in await noted(hub)


NORTH = {"apiVersion": f"{CLUSTER}/v1", "kind": "MemberCluster", "metadata": {"name": "north"}}


async def declared(hub: Running) -> None:
    def apply(tx: Transaction) -> None:
        apply_documents(tx, [draft(parse(NORTH), tx.now)], hub.hub.settings.intake)

    await hub.write(apply)


async def test_a_member_stays_until_it_has_carried_out_what_was_decided(tmp_path: Path):
    """Its deletion would forget the decision: it is refused, and the decision stands."""
    async with running_hub(tmp_path) as hub:
        agent = await joined(hub, "north", a_left_object())
        await declared(hub)
        await decided(hub, "Remove", object_uid="m-1")
        place = (CLUSTER, "MemberCluster", "", "north")
        with pytest.raises(Rejected) as refused:
            await hub.write(delete_object, *place, origin=Origin.REST, principal="ann")
        assert refused.value.code == "ClusterNotEmpty"
        assert "clusters fence north --destroyed" in refused.value.detail
        assert await listed(hub) == [("settings", "Remove")]
        await agent.sync()
        await agent.sync(seen("o-1", "Gone", 0))
        await hub.write(delete_object, *place, origin=Origin.REST, principal="ann")
        assert await hub.hub.read(clusters.get, "north") is None


async def test_a_member_that_leaves_waits_for_its_decisions_however_long_it_is_silent(
    tmp_path: Path,
):
    """The decision came after the member began to leave; without one the silent member would be gone."""
    async with running_hub(tmp_path) as hub:
        agent = await joined(hub, "north", a_left_object())
        await declared(hub)
        place = (CLUSTER, "MemberCluster", "", "north")
        term = await hub.write(leadership.seize, "test")
        await hub.write(
            delete_object, *place, origin=Origin.REST, principal="ann", policy=leave.CLEAN
        )
        await decided(hub, "Remove", object_uid="m-1")
        hub.clock.advance(3600.0)
        assert await hub.write(leave.finish, term) == 0
        await agent.sync(seen("o-1", "Gone", 0))
        assert await hub.write(leave.finish, term) == 1


@pytest.mark.parametrize(
    ("how", "which", "fate"),
    [
        ("Remove", {"created": True}, "Deleted"),
        ("Remove", {"created": False}, "Released"),
        ("Remove", {"kind": "Namespace", "namespace": ""}, "DeletedIfEmpty"),
        ("Abandon", {"created": True}, "Released"),
    ],
)
async def test_a_dry_run_lists_what_becomes_of_each_and_decides_nothing(
    tmp_path: Path, how, which, fate
):
    """Only what an agent created is deleted, and a Namespace only if it is empty."""
    async with running_hub(tmp_path) as hub:
        await joined(hub, "north", a_left_object(**which))
        answer = await decided(hub, how, dry_run=True, cluster="north")
        (member,) = answer["members"]
        assert [each["fate"] for each in member["objects"]] == [fate]
        assert answer["carriedOut"] is False
        assert await listed(hub) == [("settings", "")]
        assert await hub.work("o-1") is None
        assert await noted(hub) == []


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        ({"object_uid": "m-2"}, ["b"]),
        ({"cluster": "north"}, ["a", "b"]),
        ({"namespace": "team"}, ["a", "c"]),
        ({"placement": WEB}, ["a", "b", "c"]),
        ({"cluster": "north", "namespace": "team"}, ["a"]),
    ],
)
async def test_what_is_named_all_has_to_match(tmp_path: Path, chosen, names):
    """One object, or those of a member, of a namespace and of a placement, or of several of these."""
    async with running_hub(tmp_path) as hub:
        a = a_left_object("o-1", "m-1", name="a")
        b = a_left_object("o-2", "m-2", name="b", namespace="other")
        other = a_left_object("o-4", "m-4", name="d", namespace="away", placed_by="")
        await joined(hub, "north", a, b)
        await joined(hub, "south", a_left_object("o-3", "m-3", name="c"), other)
        await decided(hub, "Remove", **chosen)
        assert sorted(name for name, how in await listed(hub) if how) == names


async def test_repeating_a_decision_changes_nothing(tmp_path: Path):
    """The work keeps its state, and the audit has one entry."""
    async with running_hub(tmp_path) as hub:
        agent = await joined(hub, "north", a_left_object())
        await decided(hub, "Remove", object_uid="m-1")
        await agent.sync()
        await agent.sync(seen("o-1", "Applied", 0, reason="Withdrawing", message="being deleted"))
        assert (await decided(hub, "Remove", object_uid="m-1"))["count"] == 1
        assert (await hub.work("o-1")).message == "being deleted"
        assert await noted(hub) == [("ann", "ok")]
        (row,) = (await hub.hub.read(overview.restored))["objects"]
        assert row["message"] == "being deleted"


async def test_until_it_is_carried_out_the_other_decision_replaces_it(tmp_path: Path):
    """The agent gets the newest one."""
    async with running_hub(tmp_path) as hub:
        agent = await joined(hub, "north", a_left_object())
        await decided(hub, "Remove", object_uid="m-1")
        await decided(hub, "Abandon", object_uid="m-1")
        await agent.sync()
        assert told(agent) == [("o-1", "Keep", "m-1")]
        assert await listed(hub) == [("settings", "Abandon")]


async def test_a_decision_waits_for_a_member_that_is_away(tmp_path: Path):
    """However long it is silent, and whichever hub of the store answers it then."""
    async with running_hub(tmp_path) as hub:
        agent = await joined(hub, "north", a_left_object())
        await decided(hub, "Remove", object_uid="m-1")
        hub.clock.advance(10_000.0)
        await hub.write(left_objects.trim)
        assert await listed(hub) == [("settings", "Remove")]
        clock = hub.clock
    async with running_hub(tmp_path, clock) as later:
        agent.running = later
        agent.restart("session-north-2", NEWEST)
        await agent.sync(capacity=capacity(8, 32))  # the hub dispatches nothing before this
        await agent.sync()
        assert told(agent) == [("o-1", "Withdraw", "m-1")]
        await agent.sync(seen("o-1", "Gone", 0))
        await later.write(left_objects.trim)
        assert await listed(later) == []


async def test_an_object_that_is_reported_again_is_undecided(tmp_path: Path):
    """The decision was about the object before: the list has a later one in its place without a decision."""
    async with running_hub(tmp_path) as hub:
        agent = await joined(hub, "north", a_left_object())
        await decided(hub, "Remove", object_uid="m-1")
        await agent.sync()
        await agent.sync(seen("o-1", "Gone", 0))
        await agent.sync()
        await agent.sync(a_left_object(object_uid="m-2"))
        assert await listed(hub) == [("settings", "")]
        await agent.sync(a_left_object())
        assert await listed(hub) == [("settings", ""), ("settings", "")]


async def test_what_a_placement_selects_again_is_its_own(tmp_path: Path):
    """Its work replaces the decision, which ends there: the object is applied, and not removed later."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub)
        await fleet.apply(CONFIG.partition("---\napiVersion: placement")[0])
        row = await fleet.object("ConfigMap", "settings", "shop")
        left = a_left_object(row.uid, namespace="shop")
        agent = fleet.agents["north"] = await joined(hub, "north", left)
        (shown,) = (await hub.hub.read(overview.restored))["objects"]
        assert shown["known"] is True
        await decided(hub, "Remove", object_uid="m-1")
        await fleet.apply(CONFIG)
        await agent.sync()
        assert [(work["action"], work["object_uid"]) for work in agent.works.values()] == [
            ("Apply", "")
        ]
        assert await listed(hub) == []
        await hub.write(left_objects.trim)
        assert (await hub.work(row.uid)).action == "Apply"


async def test_an_agent_that_does_not_know_uids_of_objects_is_given_no_decision(tmp_path: Path):
    """It would remove whatever is in that place: the refusal names its protocol and the remedy."""
    async with running_hub(tmp_path) as hub:
        await joined(hub, "north", a_left_object(), protocol=OBJECT_UIDS - 1)
        with pytest.raises(
            Rejected, match=r"speaks protocol 6, and 7 is needed\): upgrade it"
        ) as no:
            await decided(hub, "Remove", cluster="north")
        assert no.value.code == "InvalidState"
        await joined(hub, "south", a_left_object())
        answer = await decided(hub, "Remove", namespace="team")
        assert answer["count"] == 1
        assert [each["cluster"] for each in answer["refused"]] == ["north"]
        found = await hub.hub.read(left_objects.list_left)
        assert [row["cluster"] for row in found if row["decided"]] == ["south"]


@pytest.mark.parametrize(
    ("chosen", "code"), [({}, "Required"), ({"object_uid": "m-9"}, "NotFound")]
)
async def test_a_decision_about_nothing_is_refused(tmp_path: Path, chosen, code):
    """An empty selection would select all objects; one that matches none selects nothing."""
    async with running_hub(tmp_path) as hub:
        await joined(hub, "north", a_left_object())
        with pytest.raises(Rejected) as no:
            await decided(hub, "Remove", **chosen)
        assert no.value.code == code


async def test_one_decision_takes_a_bounded_number_of_objects(tmp_path: Path, monkeypatch):
    """It says that there are more: they are decided by the next."""
    monkeypatch.setattr(decide, "AT_ONCE", 2)
    async with running_hub(tmp_path) as hub:
        many = [a_left_object(f"o-{i}", f"m-{i}", name=f"c-{i}") for i in range(3)]
        await joined(hub, "north", *many)
        answer = await decided(hub, "Remove", cluster="north")
        assert (answer["count"], answer["more"]) == (2, True)
        assert [how for _, how in await listed(hub)] == ["Remove", "Remove", ""]


async def test_while_the_store_is_stopped_a_decision_waits(tmp_path: Path):
    """Nothing is removed before the restored store is accepted; the list has that message."""
    async with running_hub(tmp_path) as hub:
        agent = await joined(hub, "north", a_left_object())
        of = hub.sync.incarnation
        lost = timeline.StoreTimeline(of, b"", [("lost", 0)]).mark(900)
        assert await hub.write(timeline.stop, "north", lost, of, b"")
        await waiting.turns(5)
        await decided(hub, "Remove", object_uid="m-1")
        await agent.sync()
        assert told(agent) == []
        (row,) = (await hub.hub.read(overview.restored))["objects"]
        assert row["message"] == "carried out once the restored store is accepted"


async def test_nothing_is_decided_of_a_member_that_is_gone(tmp_path: Path):
    """Fenced: its objects are not listed any more."""
    async with running_hub(tmp_path) as hub:
        await joined(hub, "north", a_left_object())
        await decided(hub, "Remove", object_uid="m-1")
        await hub.write(left_objects.forget, "north")
        assert await listed(hub) == []
        assert await hub.hub.read(lambda tx: clusters.get(tx, "north")) is not None


@pytest.mark.parametrize(("first", "later"), [("m-1", "m-2"), ("m-2", "m-1")])
async def test_of_two_objects_of_one_work_the_one_that_was_reported_last_is_decided_about(
    tmp_path: Path, first, later
):
    """It was made again in the place of the first; count, audit and work agree."""
    async with running_hub(tmp_path) as hub:
        agent = await joined(hub, "north", a_left_object(object_uid=first))
        hub.clock.advance(1)
        await agent.sync(a_left_object(object_uid=later))
        answer = await decided(hub, "Remove", cluster="north")
        assert (answer["count"], answer["more"]) == (1, True)
        assert await noted(hub) == [("ann", "ok")]
        await agent.sync()
        assert told(agent) == [("o-1", "Withdraw", later)]
        assert sorted(await listed(hub)) == [("settings", ""), ("settings", "Remove")]
        with pytest.raises(Rejected, match="once that is gone"):
            await decided(hub, "Remove", object_uid=first)
        await agent.sync(seen("o-1", "Gone", 0))
        assert await listed(hub) == [("settings", "")]
        hub.clock.advance(1)
        # Before the agent knows that the other work went:
        await decided(hub, "Remove", object_uid=first)
        await agent.sync()
        assert told(agent) == [("o-1", "Withdraw", first)]


async def test_more_objects_than_are_listed_are_told_of(tmp_path: Path, monkeypatch):
    """A member reported more than the hub keeps: an administrator decides again."""
    monkeypatch.setattr(left_objects, "MOST", 2)
    async with running_hub(tmp_path) as hub:
        many = [a_left_object(f"o-{n}", f"m-{n}", name=f"n-{n}") for n in range(3)]
        await joined(hub, "north", *many)
        await joined(hub, "south", a_left_object("o-9", "m-9"))
        assert (await decided(hub, "Remove", True, cluster="north"))["more"] is True
        assert (await decided(hub, "Remove", True, namespace="team"))["more"] is True
        assert (await decided(hub, "Remove", True, cluster="south"))["more"] is False
        assert (await decided(hub, "Remove", True, object_uid="m-1"))["more"] is False


async def test_a_decision_is_taken_back_where_an_agent_of_before_comes_back(tmp_path: Path):
    """It reads no uid of an object, and would remove whatever is in its place."""
    async with running_hub(tmp_path) as hub:
        agent = await joined(hub, "north", a_left_object())
        await decided(hub, "Remove", object_uid="m-1")
        agent.restart("session-6666", protocol=OBJECT_UIDS - 1)
        await agent.sync()
        await hub.settled()
        await agent.sync()
        assert told(agent) == []
        assert await hub.work("o-1") is None
        assert await listed(hub) == [("settings", "")]
