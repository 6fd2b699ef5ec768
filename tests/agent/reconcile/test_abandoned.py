"""Abandoned objects: they stay in the member as they are, and nothing of ours stays on them."""

from typing import Any

import pytest

from agent.decide.decision import Outcome, Seen
from agent.member.applier import Applier
from shared import labels
from shared.clock import SystemClock
from tests.agent.build import a_config_map, edit
from tests.agent.moments import settled
from tests.agent.scripted_hub import HUB_ID, an_object

pytestmark = pytest.mark.anyio
LEFT = an_object(a_config_map(), "o-1", action="Keep")
LIVE = {**a_config_map(), "metadata": {"name": "settings", "namespace": "team", "uid": "m-1"}}


@pytest.mark.parametrize(
    ("seen", "moment", "wanted"),
    [
        (Seen(live=LIVE), {}, ("Abandon", "Applied", "Abandoning")),
        (Seen(live=LIVE), {"settled_at": None}, ("Abandon", "Applied", "Abandoning")),
        (Seen(live=LIVE, not_before=1001.0), {}, ("Nothing", "Applied", "Abandoning")),
        (Seen(), {"settled_at": None}, ("Nothing", "Waiting", "LeaseWait")),
        (Seen(), {}, ("Abandon", "Waiting", "Abandoning")),
        (Seen(absent_at=899.0), {}, ("Abandon", "Waiting", "Abandoning")),
        (Seen(absent_at=900.0), {}, ("Nothing", "Gone", "")),
        (Seen(absent_at=950.0), {"served": False}, ("Nothing", "Gone", "")),
        (Seen(), {"synced": False}, ("Nothing", "Waiting", "Observing")),
    ],
)
def test_it_is_gone_to_us_on_the_evidence_of_a_read(seen, moment, wanted):
    """One past the caches, begun after any earlier session's time; and it is never deleted."""
    assert settled(LEFT, seen, **moment) == wanted


async def held(member):
    return await member.kube.get("v1", "ConfigMap", "team", "settings")


def ours_on(live):
    """What of an object says that it is, or was, Roadstead's."""
    metadata = live["metadata"]
    keys = [*(metadata.get("labels") or {}), *(metadata.get("annotations") or {})]
    managers = [entry["manager"] for entry in metadata.get("managedFields") or ()]
    return [k for k in keys if k.startswith(labels.PREFIX)] + [
        m for m in managers if m == labels.FIELD_MANAGER
    ]


async def applied(member, uid="o-1", **fields):
    member.hub.put(an_object(a_config_map(), uid, **fields))
    await member.hub.seen(uid, "Applied")


async def abandoned(member, uid="o-1"):
    member.hub.put(an_object(a_config_map(), uid, action="Keep"))
    await member.hub.seen(uid, "Gone")
    return await held(member)


async def test_it_stays_without_anything_of_ours(member):
    """Its values and other people's labels, annotations and ownership stay; ours are gone."""
    member.start()
    await applied(member)
    before = (await held(member))["metadata"]["uid"]
    note = {"metadata": {"labels": {"team": "red"}, "annotations": {"note": "x"}}}
    await edit(member, "ConfigMap", "settings", note)
    live = await abandoned(member)
    assert (live["metadata"]["uid"], live["data"]) == (before, {"colour": "red"})
    assert ours_on(live) == []
    assert live["metadata"]["labels"] == {"team": "red"}
    assert live["metadata"]["annotations"] == {"note": "x"}
    assert [e["manager"] for e in live["metadata"]["managedFields"]] == ["kubectl-edit"]


async def test_where_nobody_else_owned_anything_nobody_does(member):
    """The annotation that the user wrote for Roadstead goes too."""
    member.start()
    work = an_object(a_config_map(), "o-1")
    work.manifest["metadata"]["annotations"][labels.PREFIX + "ignore-drift"] = "/data/x"
    member.hub.put(work)
    await member.hub.seen("o-1", "Applied")
    live = await abandoned(member)
    assert ours_on(live) == []
    assert "managedFields" not in live["metadata"]


async def test_what_is_abandoned_is_edited_and_deleted_by_others(member):
    """Nothing is put back, and it may be the object of another work."""
    member.start()
    await applied(member)
    await abandoned(member)
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "blue"}})
    await applied(member, "o-2", when_to_take_over="Always")
    assert (await held(member))["metadata"]["labels"][labels.JOB_UID] == "o-2"
    assert member.hub.observed["o-1"].phase == "Gone"


async def test_an_agent_that_dies_before_it_told_says_gone_the_next_time(member):
    """The read by name finds an object that is nobody's of ours, and leaves it alone."""
    member.start()
    await applied(member)
    member.hub.loses = lambda request: any(e.phase == "Gone" for e in request.observed.entries)
    live = await abandoned(member)
    await member.stop()
    member.hub.observed.clear()
    member.hub.loses = lambda _request: False
    member.start()
    await member.hub.seen("o-1", "Gone")
    assert await held(member) == live


async def test_a_new_session_does_it_where_the_one_before_did_not(member):
    """The object is found by its labels; what is to be left is told with the whole set."""
    member.start()
    await applied(member)
    await member.stop()
    member.hub.put(LEFT)
    member.start()
    await member.hub.seen("o-1", "Gone")
    assert ours_on(await held(member)) == []


@pytest.mark.parametrize("rule", ["Never", "Always"])
async def test_a_strangers_object_is_not_touched(member, rule):
    """What was never taken over is Gone to us, and stays as its maker wrote it."""
    made = await member.kube.create(a_config_map(colour="blue"), field_manager="someone")
    member.hub.put(an_object(a_config_map(), "o-1", action="Keep", when_to_take_over=rule))
    member.start()
    await member.hub.seen("o-1", "Gone")
    assert await held(member) == made


async def test_it_may_be_wanted_again(member):
    """Taken back into care, it is applied; in between it was never away."""
    member.start()
    await applied(member)
    uid = (await abandoned(member))["metadata"]["uid"]
    member.hub.put(an_object(a_config_map(colour="green"), "o-1", when_to_take_over="Always"))
    await member.hub.seen("o-1", "Applied")
    live = await held(member)
    assert (live["metadata"]["uid"], live["data"]) == (uid, {"colour": "green"})


@pytest.fixture
def applier(member):
    return Applier(member.kube, HUB_ID, SystemClock())


async def test_one_whose_labels_were_taken_off_is_known_by_its_uid(member, applier):
    """Of it too the annotations and the ownership go; without the uid it is nobody's of ours."""
    live = (await applier.apply(an_object(a_config_map(), "o-1"), None, "")).live
    await edit(member, "ConfigMap", "settings", {"metadata": {"labels": None}})
    await applier.abandon(LEFT, "")
    assert ours_on(await held(member)) != []
    outcome = await applier.abandon(LEFT, live["metadata"]["uid"])
    assert outcome.absent_at is not None
    assert ours_on(await held(member)) == []


@pytest.mark.parametrize(
    "marks",
    [
        {labels.MANAGED_BY: "hub-2", labels.JOB_UID: "o-1"},
        {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: "o-2"},
    ],
)
async def test_what_is_another_hubs_or_another_works_is_theirs(member, applier, marks):
    """By their labels, whatever its name is."""
    other = a_config_map()
    other["metadata"]["labels"] = {**marks, labels.EPOCH: "0"}
    made = await member.kube.create(other, field_manager=labels.FIELD_MANAGER)
    outcome = await applier.abandon(LEFT, made["metadata"]["uid"])
    assert outcome == Outcome(absent_at=outcome.absent_at)
    assert outcome.absent_at is not None
    assert await held(member) == made


async def test_what_is_not_there_is_gone(member, applier):
    """Neither the object, nor its namespace, nor its kind need be there."""
    for work in (LEFT, LEFT.model_copy(update={"api_version": "x/v1", "kind": "None"})):
        outcome = await applier.abandon(work, "")
        assert (outcome.trouble, outcome.live) == (None, None)
        assert outcome.absent_at is not None


async def test_one_that_was_changed_meanwhile_is_looked_at_again(member, applier):
    """The patch carries the version that was read: ownership won meanwhile is not undone."""
    live = (await applier.apply(an_object(a_config_map(), "o-1"), None, "")).live
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "blue"}})
    client: Any = Stale(member.kube, live)
    outcome = await Applier(client, HUB_ID, SystemClock()).abandon(LEFT, "")
    assert outcome.trouble.reason == "Retrying"
    assert ours_on(await held(member)) != []


class Stale:
    """A client whose reads are late."""

    def __init__(self, kube, live):
        self._kube, self._live = kube, live

    async def get(self, *_at):
        return self._live

    def __getattr__(self, name):
        return getattr(self._kube, name)


async def test_a_refusal_is_told_and_tried_again(member):
    """Of a member that does not answer, or whose policy is an older one: it waits, and says so."""
    member.start()
    await applied(member)
    member.cluster.faults.add("503", verb="patch", resource="configmaps", count=1)
    member.hub.put(LEFT)
    await member.hub.seen("o-1", "Gone")
    said = [entry for entry in member.hub.told if entry.reason == "Abandoning"]
    assert {entry.phase for entry in said} == {"Applied"}
    assert said[-1].message != "being left to the member"
