"""The agent deletes objects that it created, and releases objects that it took over."""

from typing import Any

import pytest

from agent.decide.member_policy import MemberPolicy
from agent.member.applier import Applier
from shared import labels
from shared.clock import SystemClock
from shared.podsecurity import Rules
from tests.agent.build import a_config_map, a_namespace, edit
from tests.agent.placed import (
    applied,
    is_applied,
    is_there,
    marks_of,
    namespace_of,
    settings_of,
    withdrawn,
)
from tests.agent.scripted_hub import HUB_ID, a_job, an_object, eventually

pytestmark = pytest.mark.anyio
ENFORCE = "pod-security.kubernetes.io/enforce"


# --- created -------------------------------------------------------------------------------------


async def test_a_created_object_carries_the_mark_and_is_deleted(member):
    """The agent creates an absent object with `created-by`, and deletes it when the hub withdraws it."""
    member.start()
    await applied(member, a_config_map())
    assert marks_of(await settings_of(member))["created-by"] == HUB_ID
    await member.hub.until(lambda hub: hub.observed["o-1"].created is True)
    await withdrawn(member, a_config_map())
    assert not is_there(member, "configmaps", "team", "settings")


async def test_the_mark_survives_later_applies(member):
    """Server-side apply prunes a label that an apply omits: each later apply repeats the mark."""
    member.start()
    await applied(member, a_config_map())
    member.hub.put(an_object(a_config_map(colour="green"), "o-1", generation=2))
    await member.hub.until(lambda hub: hub.observed["o-1"].generation == 2)
    live = await settings_of(member)
    assert live["data"] == {"colour": "green"}
    assert marks_of(live)["created-by"] == HUB_ID
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "blue"}})
    await eventually(
        lambda: (
            member.cluster.store.get("configmaps", "team", "settings")["data"]
            == {"colour": "green"}
        )
    )
    assert marks_of(await settings_of(member))["created-by"] == HUB_ID


async def test_an_object_that_appears_meanwhile_does_not_become_created(member):
    """Other people create it between the agent's read, which found nothing, and its apply: refused."""
    work = an_object(a_config_map(), "o-1", when_to_take_over="Always")
    late: Any = Late(member.kube, a_config_map(colour="blue"))
    outcome = await Applier(late, HUB_ID, SystemClock()).apply(work, None, "")
    assert outcome.trouble.reason == "Retrying"
    live = await settings_of(member)
    assert (live["data"], marks_of(live)) == ({"colour": "blue"}, {})


class Late:
    """A client in whose member another client creates an object right before our first apply."""

    def __init__(self, kube, obj):
        self._kube, self._obj = kube, obj

    async def apply(self, *given, **options):
        await self._kube.create(self._obj, field_manager="someone")
        return await self._kube.apply(*given, **options)

    def __getattr__(self, name):
        return getattr(self._kube, name)


async def test_who_removes_the_mark_keeps_the_object(member):
    """Without `created-by` the agent has no right to delete: it releases the object."""
    member.start()
    await applied(member, a_config_map())
    await edit(
        member, "ConfigMap", "settings", {"metadata": {"labels": {labels.CREATED_BY: None}}}
    )
    await withdrawn(member, a_config_map())
    live = await settings_of(member)
    assert (live["data"], marks_of(live)) == ({"colour": "red"}, {})


# --- taken over ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["IfNoDiff", "Always"])
async def test_what_was_taken_over_is_released_and_never_deleted(member, rule):
    """After a withdrawal it stays with its values; our marks and managed fields are gone."""
    made = await member.kube.create(a_config_map(), field_manager="someone")
    member.start()
    await applied(member, a_config_map(), when_to_take_over=rule)
    assert "created-by" not in marks_of(await settings_of(member))
    await member.hub.until(lambda hub: hub.observed["o-1"].created is False)
    await withdrawn(member, a_config_map())
    live = await settings_of(member)
    assert (live["metadata"]["uid"], live["data"]) == (made["metadata"]["uid"], made["data"])
    assert marks_of(live) == {}
    managers = [entry["manager"] for entry in live["metadata"]["managedFields"]]
    assert managers == ["someone"]


async def test_a_manifest_cannot_claim_that_the_object_was_created(member):
    """`created-by` in the hub's manifest does not mark an object that is taken over."""
    await member.kube.create(a_config_map(), field_manager="someone")
    claiming = a_config_map()
    claiming["metadata"]["labels"] = {labels.CREATED_BY: HUB_ID}
    member.start()
    await applied(member, claiming, when_to_take_over="Always")
    assert "created-by" not in marks_of(await settings_of(member))


async def test_a_members_own_namespace_is_released_with_everything_inside(member):
    """A placement takes over a namespace that accepts the hub; the end of it deletes nothing there."""
    await member.namespace("finance")
    await member.kube.create(a_config_map(namespace="finance"), field_manager="someone")
    member.start()
    await applied(member, a_namespace("finance"))
    await withdrawn(member, a_namespace("finance"))
    assert marks_of(await namespace_of(member, "finance")) == {"accept": HUB_ID}
    assert (await settings_of(member, "finance"))["data"] == {"colour": "red"}


async def test_an_orphan_that_was_taken_over_is_released(member):
    """The hub orders an orphan away: the agent deletes a created one and releases the other."""
    member.start()
    await member.kube.create(a_config_map(), field_manager="someone")
    await applied(member, a_config_map(), when_to_take_over="Always")
    await applied(member, a_config_map("created"), "o-2")
    await member.stop()
    member.hub.drop("o-1")
    member.hub.drop("o-2")
    member.hub.put(an_object(a_config_map("other"), "o-3"))
    member.start()
    await eventually(lambda: not is_there(member, "configmaps", "team", "created"))
    await eventually(
        lambda: marks_of(member.cluster.store.get("configmaps", "team", "settings")) == {}
    )


# --- consent -------------------------------------------------------------------------------------


async def test_a_namespace_that_withdraws_consent_gets_no_new_version(member):
    """Nothing new is written to an object that was taken over, once its people withdraw consent."""
    await member.namespace("finance")
    member.start()
    await applied(member, a_namespace("finance"))
    await member.accept("finance", False)
    await eventually(lambda: "accept" not in _marks(member, "finance"))
    held = await namespace_of(member, "finance")
    member.hub.put(an_object(a_namespace("finance"), "o-1", generation=2))
    entry = await member.hub.seen("o-1", "Failed", "NotAccepted")
    assert f"kubectl label namespace finance {labels.ACCEPT}={HUB_ID}" in entry.message
    assert await namespace_of(member, "finance") == held
    await withdrawn(member, a_namespace("finance"))
    assert marks_of(await namespace_of(member, "finance")) == {}


def _marks(member, name):
    return marks_of(member.cluster.store.get("namespaces", "", name))


@pytest.mark.parametrize("rule", ["Never", "Always"])
async def test_an_abandoned_namespace_is_foreign_when_its_placement_comes_back(member, rule):
    """The agent forgets that it created it: to take it over again needs consent and the rule."""
    member.start()
    await applied(member, a_namespace("finance"))
    member.hub.put(an_object(a_namespace("finance"), "o-1", action="Keep"))
    await member.hub.seen("o-1", "Gone")
    released = await namespace_of(member, "finance")
    member.hub.put(an_object(a_namespace("finance"), "o-1", generation=2, when_to_take_over=rule))
    await member.hub.seen("o-1", "Failed")
    assert await namespace_of(member, "finance") == released


@pytest.mark.parametrize("rule", ["IfNoDiff", "Always"])
async def test_nothing_is_taken_over_without_consent(member, rule):
    """The refusal names the command with which the member's people consent; then it is taken over."""
    await member.namespace("finance", accept=False)
    made = await member.kube.create(a_config_map(namespace="finance"), field_manager="someone")
    member.hub.put(an_object(a_config_map(namespace="finance"), "o-1", when_to_take_over=rule))
    member.start()
    entry = await member.hub.seen("o-1", "Failed", "NotAccepted")
    assert f"kubectl label namespace finance {labels.ACCEPT}={HUB_ID}" in entry.message
    assert await settings_of(member, "finance") == made


async def test_without_consent_a_difference_is_not_told(member):
    """An equal object and a different one get the same answer: the hub cannot guess values."""
    await member.namespace("finance", accept=False)
    for name, colour in (("same", "red"), ("other", "blue")):
        foreign = a_config_map(name, namespace="finance", colour=colour)
        await member.kube.create(foreign, field_manager="someone")
        member.hub.put(an_object(a_config_map(name, namespace="finance"), f"o-{name}"))
    member.start()
    same = await member.hub.seen("o-same", "Failed", "NotAccepted")
    other = await member.hub.seen("o-other", "Failed", "NotAccepted")
    assert same.message == other.message


async def test_a_namespace_is_not_taken_over_without_consent(member):
    """A bare Namespace never differs: only its own label lets the hub mark it."""
    await member.namespace("finance", accept=False)
    before = await namespace_of(member, "finance")
    member.hub.put(an_object(a_namespace("finance"), "o-1"))
    member.start()
    entry = await member.hub.seen("o-1", "Failed", "NameConflict")
    assert f"kubectl label namespace finance {labels.ACCEPT}={HUB_ID}" in entry.message
    assert await namespace_of(member, "finance") == before


async def test_an_object_of_another_hub_is_not_taken_over(member):
    """Consent covers objects of no hub: this one keeps its marks and its values."""
    theirs = a_config_map()
    theirs["metadata"]["labels"] = dict.fromkeys((labels.MANAGED_BY, labels.CREATED_BY), "hub-z")
    made = await member.kube.create(theirs, field_manager="another-agent")
    member.hub.put(an_object(a_config_map(), "o-1", when_to_take_over="Always"))
    member.start()
    entry = await member.hub.seen("o-1", "Failed", "NameConflict")
    assert "belongs to another hub" in entry.message
    assert await settings_of(member) == made


async def test_another_hubs_consent_is_not_ours(member):
    """The label's value names the accepted hub."""
    await member.namespace("finance", accept=False)
    mark = {"metadata": {"labels": {labels.ACCEPT: "hub-2"}}}
    await member.kube.merge_patch("v1", "Namespace", "", "finance", mark, field_manager="test")
    member.hub.put(an_object(a_namespace("finance"), "o-1", when_to_take_over="Always"))
    member.start()
    await member.hub.seen("o-1", "Failed", "NameConflict")


@pytest.mark.parametrize("mark", sorted(labels.CONSENT))
async def test_a_hub_does_not_consent_for_the_member(member, mark):
    """A manifest with a consent label is refused, on an object that would be created too."""
    claiming = a_namespace("finance")
    claiming["metadata"]["labels"] = {mark: HUB_ID}
    member.hub.put(an_object(claiming, "o-1"))
    member.start()
    entry = await member.hub.seen("o-1", "Failed", "RefusedByMember")
    assert mark in entry.message
    assert not is_there(member, "namespaces", "", "finance")


# --- pod security level --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels_asked", "told"),
    [
        ({ENFORCE: "baseline"}, "enforces restricted"),
        ({ENFORCE: "privileged"}, "enforces restricted"),
        ({ENFORCE: "restricted", f"{ENFORCE}-version": "v1.0"}, "would pin v1.0"),
    ],
    ids=["baseline", "privileged", "an older version"],
)
async def test_a_take_over_does_not_lower_the_pod_security_level(member, labels_asked, told):
    """whenToTakeOver Always overwrites fields, and not the level that the member enforces."""
    policy = MemberPolicy(Rules(level="privileged"))
    mark = {"metadata": {"labels": {ENFORCE: "restricted"}}}
    await member.namespace("finance")
    await member.kube.merge_patch("v1", "Namespace", "", "finance", mark, field_manager="test")
    wanted = a_namespace("finance")
    wanted["metadata"]["labels"] = labels_asked
    member.hub.put(an_object(wanted, "o-1", when_to_take_over="Always"))
    member.start(policy=policy)
    entry = await member.hub.seen("o-1", "Failed", "RefusedByMember")
    assert told in entry.message
    held = (await namespace_of(member, "finance"))["metadata"]["labels"]
    assert held[ENFORCE] == "restricted"


async def test_a_created_namespace_keeps_its_pod_security_level(member):
    """A manifest that no longer sets the level would remove it: it is refused."""
    wanted = a_namespace("fresh")
    wanted["metadata"]["labels"] = {ENFORCE: "restricted"}
    member.start()
    await applied(member, wanted)
    member.hub.put(an_object(a_namespace("fresh"), "o-1", generation=2))
    entry = await member.hub.seen("o-1", "Failed", "RefusedByMember")
    assert "would remove it" in entry.message
    held = (await namespace_of(member, "fresh"))["metadata"]["labels"]
    assert held[ENFORCE] == "restricted"


# --- namespaces ----------------------------------------------------------------------------------


async def test_a_created_namespace_goes_after_what_was_placed_in_it(member):
    """Of a withdrawn placement the agent deletes the objects first, then the empty namespace."""
    inside = a_config_map(namespace="fresh")
    member.start()
    await applied(member, a_namespace("fresh"), "o-1")
    await applied(member, inside, "o-2")
    member.hub.put(
        an_object(a_namespace("fresh"), "o-1", action="Withdraw"),
        an_object(inside, "o-2", action="Withdraw"),
    )
    await member.hub.seen("o-1", "Gone")
    assert not is_there(member, "configmaps", "fresh", "settings")
    assert not is_there(member, "namespaces", "", "fresh")


async def test_a_namespace_waits_for_the_work_of_the_hub_inside(member):
    """It stays and names the Job of a queue that runs in it, and is deleted once the Job is gone."""
    member.start()
    await applied(member, a_namespace("fresh"), "o-1")
    member.hub.put(a_job("u-1", namespace="fresh", run_seconds="600"))
    await member.hub.seen("u-1", "Applied")
    member.hub.put(an_object(a_namespace("fresh"), "o-1", action="Withdraw"))
    entry = await member.hub.until(
        lambda hub: hub.observed["o-1"].reason == "NamespaceNotEmpty" and hub.observed["o-1"]
    )
    assert "Job/job" in entry.message
    live = await namespace_of(member, "fresh")
    assert "deletionTimestamp" not in live["metadata"]
    member.hub.put(a_job("u-1", namespace="fresh", action="Withdraw"))
    await member.hub.seen("u-1", "Gone")
    await member.hub.seen("o-1", "Gone")
    assert not is_there(member, "namespaces", "", "fresh")


async def test_a_namespace_with_objects_of_others_stays(member):
    """It is kept, the report names what is inside, and only the marks of the work are gone."""
    member.start()
    await applied(member, a_namespace("fresh"), "o-1")
    await member.kube.create(a_config_map(namespace="fresh"), field_manager="someone")
    entry = await withdrawn(member, a_namespace("fresh"))
    assert entry.reason == "NamespaceKept"
    assert "ConfigMap/settings" in entry.message
    marks = marks_of(await namespace_of(member, "fresh"))
    assert marks == {"managed-by": HUB_ID, "created-by": HUB_ID}


async def test_a_kept_namespace_may_be_placed_again(member):
    """It needs no consent: this hub's agent created it."""
    member.start()
    await applied(member, a_namespace("fresh"), "o-1")
    await member.kube.create(a_config_map(namespace="fresh"), field_manager="someone")
    await withdrawn(member, a_namespace("fresh"))
    await applied(member, a_namespace("fresh"), "o-2", when_to_take_over="Never")
    await member.kube.delete("v1", "ConfigMap", "fresh", "settings")
    await withdrawn(member, a_namespace("fresh"), "o-2")
    assert not is_there(member, "namespaces", "", "fresh")


async def test_an_agent_that_cannot_list_everything_deletes_no_namespace(member):
    """A kind that it may not list may be inside: the namespace is kept, and the report says why."""
    member.start()
    await applied(member, a_namespace("fresh"), "o-1")
    member.cluster.faults.add("403", verb="list", resource="secrets", count=100)
    entry = await withdrawn(member, a_namespace("fresh"))
    assert entry.reason == "NamespaceKept"
    assert "cannot tell what is inside" in entry.message
    assert is_there(member, "namespaces", "", "fresh")


# --- upgrade -------------------------------------------------------------------------------------


async def test_objects_of_an_earlier_release_are_kept_up_to_date_and_released(member):
    """They carry our labels and no `created-by`: applied as before, and left when withdrawn."""
    earlier = an_object(a_config_map(), "o-1").manifest
    await member.kube.apply(earlier, field_manager=labels.FIELD_MANAGER, force=True)
    member.hub.put(an_object(a_config_map(colour="green"), "o-1", generation=2))
    member.start()
    await member.hub.until(lambda hub: is_applied(hub, "o-1", generation=2))
    live = await settings_of(member)
    assert live["data"] == {"colour": "green"}
    assert "created-by" not in marks_of(live)
    await withdrawn(member, a_config_map())
    live = await settings_of(member)
    assert (live["data"], marks_of(live)) == ({"colour": "green"}, {})


async def test_a_job_of_an_earlier_release_is_still_deleted(member):
    """Jobs go by their uid and epoch, and carry no `created-by`."""
    member.hub.put(a_job("u-1", run_seconds="600"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    assert "created-by" not in marks_of(await member.job())
    member.hub.put(a_job("u-1", action="Withdraw"))
    await member.hub.seen("u-1", "Gone")
    await member.absent()
