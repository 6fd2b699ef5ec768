"""Objects that a person decided about, by their uid: exactly that one is removed or abandoned."""

import pytest

from agent.decide.decision import Outcome, Seen
from agent.decide.member_policy import MemberPolicy
from agent.member.applier import Applier
from agent.member.observer import Observer
from agent.reconcile.leftover_kinds import LeftoverKinds
from shared import labels
from shared.clock import ManualClock, SystemClock
from shared.wire.versions import NEWEST
from tests.agent.build import a_config_map
from tests.agent.moments import NOW, settled
from tests.agent.placed import applied, is_there, marks_of, settings_of
from tests.agent.scripted_hub import HUB_ID, an_object
from tests.agent.versioned_hub import HubOfProtocol

pytestmark = pytest.mark.anyio
BOTH = ("Withdraw", "Keep")


def decided(action, uid, **fields):
    return an_object(a_config_map(), "o-1", action=action, object_uid=uid, **fields)


def live(uid):
    marks = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: "o-1"}
    metadata = {"name": "settings", "namespace": "team", "uid": uid, "labels": marks}
    return {**a_config_map(), "metadata": metadata}


@pytest.mark.parametrize("action", BOTH)
@pytest.mark.parametrize(
    ("uid", "wanted"), [("m-1", ("Abandon", "Applied")), ("m-2", ("Nothing", "Gone"))]
)
def test_a_later_object_in_its_place_is_not_meant(action, uid, wanted):
    """The one that was decided about is gone then, and of the later one nothing is done."""
    assert settled(decided(action, "m-1"), Seen(live=live(uid)))[:2] == wanted


@pytest.fixture
async def left(member):
    """An object that the agent created and that the hub does not ask for any more; its uid."""
    member.hub.removes_strays = False
    member.start()
    await applied(member, a_config_map())
    member.hub.drop("o-1")
    await member.hub.seen("o-1", "Applied", "Orphan")
    return (await settings_of(member))["metadata"]["uid"]


async def test_what_the_agent_created_is_removed(member, left):
    """Found by its uid, deleted, and reported as gone."""
    member.hub.put(decided("Withdraw", left))
    await member.hub.seen("o-1", "Gone")
    assert not is_there(member, "configmaps", "team", "settings")


async def test_what_is_abandoned_stays_without_our_marks(member, left):
    """It has no label of ours any more."""
    member.hub.put(decided("Keep", left))
    await member.hub.seen("o-1", "Gone")
    found = await settings_of(member)
    assert (found["metadata"]["uid"], marks_of(found)) == (left, {})


@pytest.mark.parametrize("action", BOTH)
async def test_another_object_of_ours_in_its_place_stays_as_it_is(member, left, action):
    """A decision about an earlier object says nothing of it: it is reported again, for the next one."""
    before = await settings_of(member)
    member.hub.put(decided(action, "an-earlier-one"))
    await member.hub.seen("o-1", "Gone")
    member.hub.drop("o-1")
    told = await member.hub.seen("o-1", "Applied", "Orphan")
    assert told.object_uid == left
    assert await settings_of(member) == before


@pytest.mark.parametrize("action", BOTH)
async def test_an_object_of_people_in_its_place_stays_as_it_is(member, left, action):
    """They deleted ours and made their own under its name, also with our labels copied."""
    await member.stop()
    await member.kube.delete("v1", "ConfigMap", "team", "settings")
    marks = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: "o-1", labels.CREATED_BY: HUB_ID}
    theirs = a_config_map(colour="blue")
    theirs["metadata"]["labels"] = marks
    made = await member.kube.create(theirs, field_manager="people")
    member.hub.observed.clear()
    member.hub.put(decided(action, left))
    member.start()
    await member.hub.seen("o-1", "Gone")
    assert await settings_of(member) == made


async def test_what_was_taken_over_is_released_and_not_deleted(member):
    """The agent decides by the mark on the live object, for each decision."""
    made = await member.kube.create(a_config_map(), field_manager="people")
    member.hub.removes_strays = False
    member.start()
    await applied(member, a_config_map(), when_to_take_over="Always")
    member.hub.drop("o-1")
    await member.hub.seen("o-1", "Applied", "Orphan")
    member.hub.put(decided("Withdraw", made["metadata"]["uid"]))
    await member.hub.seen("o-1", "Gone")
    found = await settings_of(member)
    assert (found["metadata"]["uid"], marks_of(found)) == (made["metadata"]["uid"], {})


async def test_the_next_object_is_not_removed_by_the_decision(member, left):
    """A removal by a person concerns one object, and no later object of the same work in this session."""
    late = await settings_of(member)
    member.hub.put(decided("Withdraw", left))
    await member.hub.seen("o-1", "Gone")
    member.hub.drop("o-1")
    await member.hub.until(lambda hub: hub.requests[-1].desired.revision == hub.revision)
    for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"):
        late["metadata"].pop(name, None)
    await member.kube.create(late, field_manager="roadstead")
    told = await member.hub.seen("o-1", "Applied", "Orphan")
    assert told.object_uid != left
    assert is_there(member, "configmaps", "team", "settings")


async def test_an_abandoning_read_leaves_a_later_object_alone(member):
    """The read by name finds another uid: nothing is patched."""
    applier = Applier(member.kube, HUB_ID, SystemClock())
    made = (await applier.apply(an_object(a_config_map(), "o-1"), None, "")).live
    outcome = await applier.abandon(decided("Keep", "an-earlier-one"), made["metadata"]["uid"])
    assert outcome == Outcome(absent_at=outcome.absent_at)
    assert marks_of(await settings_of(member))["managed-by"] == HUB_ID


# --- found again ---------------------------------------------------------------------------------


async def test_a_new_session_finds_objects_of_kinds_that_it_is_asked_nothing_of(member):
    """After a restart, or after the hub's store was restored, it watches Jobs alone: it looks once."""
    member.hub = HubOfProtocol(NEWEST)
    member.hub.removes_strays = False
    member.start()
    await applied(member, a_config_map())
    await member.stop()
    member.hub.drop("o-1")
    member.hub.observed.clear()
    member.start()
    told = await member.hub.seen("o-1", "Applied", "Orphan")
    assert (told.left.kind, told.left.created) == ("ConfigMap", True)


async def test_a_kind_that_it_may_not_list_keeps_no_other_from_being_found(member):
    """The agent skips that kind and lists the others."""
    member.hub.removes_strays = False
    member.start()
    await applied(member, a_config_map())
    await member.stop()
    member.hub.drop("o-1")
    member.hub.observed.clear()
    member.cluster.faults.add("403", verb="list", resource="secrets", count=0)
    member.start()
    await member.hub.seen("o-1", "Applied", "Orphan")


async def test_an_agent_of_profile_jobs_does_not_look(member):
    """Its account has rights to nothing else."""
    clock = ManualClock(NOW)
    observer = Observer(member.kube, HUB_ID, NoListener(), clock)
    policy = MemberPolicy(profile="jobs")
    await LeftoverKinds(member.kube, observer, HUB_ID, clock, policy).run()
    assert not observer.is_wanted("v1", "ConfigMap")


class NoListener:
    """Ignores all events."""

    def __getattr__(self, _name):
        return lambda *_: None
