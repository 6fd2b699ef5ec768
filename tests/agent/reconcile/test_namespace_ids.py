"""A namespace of the hub that is made again does not use what a member holds of the one before."""

import pytest

from agent.decide.member_policy import MemberPolicy
from agent.member import upkeep
from shared import labels
from shared.wire.consent import NamedNamespaces
from tests import waiting
from tests.agent.build import a_config_map
from tests.agent.placed import namespace_of
from tests.agent.scripted_hub import HUB_ID, a_job, a_job_manifest, an_object, eventually

pytestmark = pytest.mark.anyio
COMMAND = f"kubectl label namespace lab {labels.ACCEPT}={HUB_ID}"


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """The agent looks after such namespaces often."""
    monkeypatch.setattr(upkeep, "LOOK_EVERY_S", 0.05)


def states_of(hub):
    """The last report of consent."""
    reports = [r.capacity for r in hub.requests if r.capacity is not None]
    told = [each.consent for each in reports if each.consent is not None]
    return told[-1].states if told else {}


def named(member, number, **ids):
    """The hub names namespaces by these ids."""
    told = NamedNamespaces(revision=number, names=sorted(ids), ids=ids)
    member.hub.named = told


async def ran(member, uid, wanted):
    """A Job of the hub's namespace `lab` with this id has run to its end, and is gone."""
    member.hub.put(a_job(uid, f"job-{uid}", namespace="lab", namespace_id=wanted))
    await member.hub.finished(uid)
    member.hub.put(a_job(uid, f"job-{uid}", namespace="lab", action="Withdraw"))
    await member.hub.seen(uid, "Gone")
    await member.absent(f"job-{uid}", "lab")


async def left_by_people(member):
    """Something that holds the namespace."""
    await member.kube.create(a_config_map(namespace="lab"), field_manager="test")


async def test_the_agent_writes_the_id_on_a_namespace_that_it_creates(member):
    """Jobs of that id use it, one after the other."""
    member.start()
    await ran(member, "u-1", "id-1")
    live = await namespace_of(member, "lab")
    assert live["metadata"]["annotations"][labels.NAMESPACE_ID] == "id-1"
    await ran(member, "u-2", "id-1")


async def test_a_job_of_another_id_is_refused(member):
    """Nothing of it is created, and the refusal names the command."""
    member.start(policy=MemberPolicy(profile="jobs"))
    await ran(member, "u-1", "id-1")
    await left_by_people(member)
    member.hub.put(a_job("u-2", "job-u-2", namespace="lab", namespace_id="id-2"))
    entry = await member.hub.seen("u-2", "Failed", "NotAccepted")
    assert "an earlier namespace lab" in entry.message
    assert entry.message.endswith(COMMAND)
    assert not member.cluster.store.list("jobs.batch", "lab")


async def test_people_may_accept_such_a_namespace(member):
    """The Job runs there, and its pods get no token: people decide about the namespace now."""
    member.start()
    await ran(member, "u-1", "id-1")
    await left_by_people(member)
    job = a_job("u-2", "job-u-2", namespace="lab", namespace_id="id-2", run_seconds="60")
    member.hub.put(job)
    await member.hub.seen("u-2", "Failed", "NotAccepted")
    await member.accept("lab")
    await member.hub.seen("u-2", "Applied")
    (live,) = member.cluster.store.list("jobs.batch", "lab")
    assert live["spec"]["template"]["spec"]["automountServiceAccountToken"] is False
    space = await namespace_of(member, "lab")
    assert space["metadata"]["annotations"][labels.NAMESPACE_ID] == "id-1"


async def test_an_empty_one_is_deleted_and_created_anew(member):
    """Nobody is needed: the next Job of the new id finds no namespace, and the agent creates it."""
    member.start()
    await ran(member, "u-1", "id-1")
    before = (await namespace_of(member, "lab"))["metadata"]["uid"]
    named(member, 1, lab="id-2")
    await eventually(lambda: states_of(member.hub).get("lab") == "Absent")
    await ran(member, "u-2", "id-2")
    live = await namespace_of(member, "lab")
    assert live["metadata"]["uid"] != before
    assert live["metadata"]["annotations"][labels.NAMESPACE_ID] == "id-2"


async def test_one_that_holds_something_is_reported_and_kept(member):
    """The hub learns that it was replaced; what others left there stays."""
    member.start()
    await ran(member, "u-1", "id-1")
    await left_by_people(member)
    named(member, 1, lab="id-2")
    await eventually(lambda: states_of(member.hub).get("lab") == "Replaced")
    await waiting.span(0.3, why="several looks")
    assert await member.kube.get("v1", "ConfigMap", "lab", "settings")


async def test_profile_jobs_keeps_an_empty_one(member):
    """In that profile the agent deletes no namespace."""
    member.start(policy=MemberPolicy(profile="jobs"))
    await ran(member, "u-1", "id-1")
    before = (await namespace_of(member, "lab"))["metadata"]["uid"]
    named(member, 1, lab="id-2")
    await eventually(lambda: states_of(member.hub).get("lab") == "Replaced")
    await waiting.span(0.3, why="several looks")
    assert (await namespace_of(member, "lab"))["metadata"]["uid"] == before


async def test_a_hub_that_tells_no_ids_uses_what_the_agent_created(member):
    """A hub of an earlier release: the agent reports states that it knows."""
    member.start()
    await ran(member, "u-1", "id-1")
    member.hub.named = NamedNamespaces(revision=1, names=["lab"])
    await eventually(lambda: states_of(member.hub).get("lab") == "Created")
    await ran(member, "u-2", None)


async def test_a_placement_does_not_take_over_one_of_another_id(member):
    """A Namespace is placed by its id, too: one that was created for an earlier id needs consent."""
    member.start()
    await ran(member, "u-1", "id-1")
    await left_by_people(member)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}}
    member.hub.put(an_object(space, "id-2", namespace_id=""))
    entry = await member.hub.seen("id-2", "Failed", "NameConflict")
    assert entry.message.endswith(COMMAND)
    await member.accept("lab")
    await member.hub.seen("id-2", "Applied")
    live = await namespace_of(member, "lab")
    assert live["metadata"]["annotations"][labels.NAMESPACE_ID] == "id-1"


async def test_a_placement_uses_the_namespace_that_a_job_had_the_agent_create(member):
    """Both are of one id; a placed Namespace carries it too."""
    member.start()
    await ran(member, "u-1", "id-1")
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}}
    member.hub.put(an_object(space, "id-1", namespace_id=""))
    await member.hub.seen("id-1", "Applied")
    other = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
    member.hub.put(an_object(other, "id-9", namespace_id=""))
    await member.hub.seen("id-9", "Applied")
    for name, wanted in (("lab", "id-1"), ("other", "id-9")):
        live = await namespace_of(member, name)
        assert live["metadata"]["annotations"][labels.NAMESPACE_ID] == wanted


async def test_a_namespace_that_the_hub_places_by_another_uid_is_its_own(member):
    """What lies in an envelope has a uid of its own: as long as it is placed, Jobs use it."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}}
    member.hub.put(an_object(space, "of-envelope", namespace_id=""))
    member.start()
    await member.hub.seen("of-envelope", "Applied")
    await left_by_people(member)
    named(member, 1, lab="id-1")
    await eventually(lambda: states_of(member.hub) == {"lab": "Created"})
    await ran(member, "u-1", "id-1")
    member.hub.put(an_object(space, "of-envelope", action="Withdraw", namespace_id=""))
    await eventually(lambda: states_of(member.hub) == {"lab": "Replaced"})


# --- mode Report ------------------------------------------------------------------------------------


async def test_mode_report_lets_namespaces_with_jobs_of_the_hub_continue(member):
    """One that holds a Job of ours when the agent starts takes more; another does not."""
    await member.namespace("lab")
    member.hub.put(
        a_job("u-1", "job-u-1", namespace="lab", namespace_id="id-1", run_seconds="600")
    )
    member.start()
    await member.hub.seen("u-1", "Applied")
    await member.stop()
    await member.accept("lab", False)
    await member.namespace("other", accept=False)
    named(member, 1, lab="id-1", other="id-2")
    member.start(policy=MemberPolicy(consent="Report"))
    wanted = {"lab": "Continued", "other": "NotAccepted"}
    await eventually(lambda: states_of(member.hub) == wanted)
    member.hub.put(a_job("u-2", "job-u-2", namespace="lab", namespace_id="id-1"))
    await member.hub.finished("u-2")
    member.hub.put(a_job("u-3", "job-u-3", namespace="other", namespace_id="id-2"))
    await member.hub.seen("u-3", "Failed", "NotAccepted")


async def test_mode_report_keeps_a_namespace_of_another_id_closed(member):
    """The Jobs in it are of an earlier namespace of the hub, whose Secrets and volumes are there."""
    job = a_job("u-1", "job-u-1", namespace="lab", namespace_id="id-1", run_seconds="600")
    member.hub.put(job)
    member.start()
    await member.hub.seen("u-1", "Applied")
    await member.stop()
    named(member, 1, lab="id-2")
    member.start(policy=MemberPolicy(consent="Report"))
    await eventually(lambda: states_of(member.hub) == {"lab": "Replaced"})


async def test_a_job_with_copied_labels_lets_no_namespace_continue(member):
    """Anybody in a namespace can copy labels; only Jobs that the agent made count."""
    await member.namespace("lab", accept=False)
    marks = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: "u-1", labels.EPOCH: "1"}
    copy = a_job_manifest("copy", "lab", uid="u-1", run_seconds="600")
    copy["metadata"]["labels"] = marks
    await member.kube.create(copy, field_manager="people")
    named(member, 1, lab="id-1")
    member.start(policy=MemberPolicy(consent="Report"))
    await eventually(lambda: states_of(member.hub) == {"lab": "NotAccepted"})
    await waiting.span(0.3, why="the agent may have read its Jobs later")
    assert states_of(member.hub) == {"lab": "NotAccepted"}


async def test_a_placed_namespace_of_a_release_without_ids_is_not_deleted(member):
    """It stands for a work; what people wrote on it stays, whatever the hub names its namespace by."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    member.hub.put(an_object(space, "id-1"))
    member.start()
    await member.hub.seen("id-1", "Applied")
    await member.annotate("shop", {labels.NAMESPACE_ID: None})
    before = (await namespace_of(member, "shop"))["metadata"]["uid"]
    named(member, 1, shop="id-2")
    await eventually(lambda: states_of(member.hub) == {"shop": "Created"})
    await waiting.span(0.3, why="several looks")
    assert (await namespace_of(member, "shop"))["metadata"]["uid"] == before


async def test_a_namespace_that_continued_and_was_made_again_does_not(member):
    """Its people deleted it, and made another of its name: that one never held a Job of the hub."""
    await member.namespace("lab")
    member.hub.put(a_job("u-1", "job-u-1", namespace="lab", run_seconds="600"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    await member.stop()
    await member.accept("lab", False)
    named(member, 1, lab="id-1")
    member.start(policy=MemberPolicy(consent="Report"))
    await eventually(lambda: states_of(member.hub) == {"lab": "Continued"})
    member.hub.put(a_job("u-1", "job-u-1", namespace="lab", action="Withdraw"))
    await member.hub.seen("u-1", "Gone")
    await member.kube.delete("v1", "Namespace", "", "lab")
    await eventually(lambda: states_of(member.hub) == {"lab": "Absent"})
    await member.namespace("lab", accept=False)
    await eventually(lambda: states_of(member.hub) == {"lab": "NotAccepted"})


async def test_a_namespace_on_which_people_wrote_is_not_deleted(member):
    """A level of pod security, say: with the namespace it would be gone."""
    member.start()
    await ran(member, "u-1", "id-1")
    await member.label("lab", {"pod-security.kubernetes.io/enforce": "restricted"})
    before = (await namespace_of(member, "lab"))["metadata"]["uid"]
    named(member, 1, lab="id-2")
    await eventually(lambda: states_of(member.hub) == {"lab": "Replaced"})
    await waiting.span(0.3, why="several looks")
    assert (await namespace_of(member, "lab"))["metadata"]["uid"] == before


# --- after a restore --------------------------------------------------------------------------------


async def test_a_job_carries_the_id_of_its_namespace(member):
    """Whoever adopts it learns the id that the hub had, whatever the member's namespace was created for."""
    member.start()
    await ran(member, "u-1", "id-1")
    await left_by_people(member)
    await member.accept("lab")
    job = a_job("u-2", "job-u-2", namespace="lab", namespace_id="id-2", run_seconds="600")
    member.hub.put(job)
    await member.hub.seen("u-2", "Applied")
    (live,) = member.cluster.store.list("jobs.batch", "lab")
    assert live["metadata"]["annotations"][labels.NAMESPACE_ID] == "id-2"


async def test_mode_report_uses_what_the_agent_created_without_an_id(member):
    """For a hub of before, which told none; once the hub tells ids, new Jobs go on there."""
    member.hub.put(a_job("u-1", "job-u-1", namespace="lab"))
    member.start(policy=MemberPolicy(consent="Report"))
    await member.hub.finished("u-1")
    await left_by_people(member)
    named(member, 1, lab="id-1")
    await eventually(lambda: states_of(member.hub) == {"lab": "Continued"})
    await ran(member, "u-2", "id-1")
