"""Labels, environment and finalizer make no object the agent's: the managed fields must name the agent."""

import pytest

from agent.member.applier import Applier
from agent.objects.manifests import unstarted
from shared import labels
from shared.clock import SystemClock
from tests.agent.build import a_config_map
from tests.agent.scripted_hub import HUB_ID, a_job, an_object

pytestmark = pytest.mark.anyio
MARKS = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: "o-1", labels.CREATED_BY: HUB_ID}


@pytest.fixture
def applier(member):
    return Applier(member.kube, HUB_ID, SystemClock())


def theirs():
    """A ConfigMap of people with all our labels, as an export of ours has them."""
    made = a_config_map(colour="blue")
    made["metadata"]["labels"] = dict(MARKS)
    return made


async def settings_of(member):
    return await member.kube.get("v1", "ConfigMap", "team", "settings")


@pytest.mark.parametrize("rule", ["Never", "IfNoDiff", "Always"])
async def test_an_object_that_only_carries_our_labels_is_not_taken_over(member, applier, rule):
    """It is foreign: without consent nothing is written, whatever the take-over rule."""
    refused = {"metadata": {"labels": {labels.ACCEPT: None}}}
    await member.kube.merge_patch("v1", "Namespace", "", "team", refused, field_manager="test")
    made = await member.kube.create(theirs(), field_manager="someone")
    work = an_object(a_config_map(), "o-1", when_to_take_over=rule)
    outcome = await applier.apply(work, None, "")
    assert outcome.trouble.reason == "NameConflict"
    assert await settings_of(member) == made


async def test_with_consent_its_fields_are_not_forced(member, applier):
    """`IfNoDiff` applies to it as to every foreign object: it differs, so nothing is written."""
    made = await member.kube.create(theirs(), field_manager="someone")
    work = an_object(a_config_map(), "o-1", when_to_take_over="IfNoDiff")
    outcome = await applier.apply(work, None, "")
    assert "differs in 1 fields: /data/colour" in outcome.trouble.message
    assert await settings_of(member) == made


async def test_an_agent_that_sees_it_in_its_watch_leaves_it_alone(member):
    """The watch does not make it the work's object: the work fails, and its withdrawal writes nothing."""
    made = await member.kube.create(theirs(), field_manager="someone")
    member.hub.put(an_object(a_config_map(), "o-1", when_to_take_over="Never"))
    member.start()
    await member.hub.seen("o-1", "Failed", "NameConflict")
    member.hub.put(an_object(a_config_map(), "o-1", action="Withdraw"))
    await member.hub.seen("o-1", "Gone")
    assert await settings_of(member) == made


async def test_what_only_carries_our_labels_is_not_abandoned(member, applier):
    """A release would change it."""
    made = await member.kube.create(theirs(), field_manager="someone")
    outcome = await applier.abandon(an_object(a_config_map(), "o-1", action="Keep"), "")
    assert outcome.absent_at is not None
    assert await settings_of(member) == made


async def test_a_conflict_does_not_call_this_hub_another(member, applier):
    """The message describes an object with this hub's label that this hub did not write as such."""
    await member.kube.create(theirs(), field_manager="someone")
    work = an_object(a_config_map(), "o-1", when_to_take_over="Never")
    outcome = await applier.apply(work, None, "")
    assert "another hub" not in outcome.trouble.message
    assert f"carries {labels.MANAGED_BY}={HUB_ID}, managed by someone," in outcome.trouble.message


async def test_a_job_of_people_with_our_finalizer_and_environment_gets_no_labels(member, applier):
    """A Job that people made from our export, under the same name, is not the work's Job."""
    copied = unstarted(a_job(), HUB_ID)
    copied["metadata"]["labels"] = {"team": "red"}
    await member.kube.create(copied, field_manager="someone")
    outcome = await applier.read_back(a_job(), "")
    assert (outcome.live, outcome.absent_at is not None) == (None, True)
    assert (await member.job())["metadata"]["labels"] == {"team": "red"}
