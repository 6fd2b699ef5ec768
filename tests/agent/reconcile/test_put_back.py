"""Entries of others that a put-back removes: those alone for which the API server refuses the manifest."""

import copy

import pytest

from tests.agent.build import a_config_map, a_deployment, edit
from tests.agent.scripted_hub import an_object

pytestmark = pytest.mark.anyio

OURS = {"httpGet": {"path": "/", "port": 80}}
THEIRS = {"exec": {"command": ["true"]}}


def probed(handler):
    """A Deployment whose container has this handler of a readiness probe."""
    made = a_deployment()
    made["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] = handler
    return made


async def container_of(member):
    live = await member.kube.get("apps/v1", "Deployment", "team", "web")
    return live["spec"]["template"]["spec"]["containers"][0]


async def handler_of(member):
    """The handler alone, without the defaults of the probe."""
    probe = (await container_of(member))["readinessProbe"]
    return {key for key in probe if key in {"httpGet", "exec"}}


async def edited_by_hand(member):
    """Somebody puts another handler in the place of ours, and adds an entry that harms nothing."""
    changed = copy.deepcopy(probed(THEIRS)["spec"]["template"]["spec"]["containers"])
    changed[0]["env"] = [{"name": "THEIRS", "value": "1"}]
    patch = {"spec": {"template": {"spec": {"containers": changed}}}}
    await edit(member, "Deployment", "web", patch, api_version="apps/v1")


@pytest.mark.parametrize("taken_over", [False, True])
async def test_under_always_what_makes_the_manifest_invalid_is_removed_and_nothing_else(
    member, taken_over
):
    """The second handler of a probe goes; an environment variable of the same people stays."""
    if taken_over:
        await member.kube.create(probed(OURS), field_manager="someone")
    rules = {"when_to_apply": "Always", "when_to_take_over": "Always"}
    member.hub.put(an_object(probed(OURS), "o-1", **rules))
    member.start()
    await member.hub.seen("o-1", "Applied")
    before = await member.kube.get("apps/v1", "Deployment", "team", "web")
    await edited_by_hand(member)
    await member.hub.until(lambda hub: any(e.drift for e in hub.told if e.uid == "o-1"))
    await member.hub.until(lambda hub: not hub.observed["o-1"].drift)
    after = await member.kube.get("apps/v1", "Deployment", "team", "web")
    assert await handler_of(member) == {"httpGet"}
    assert (await container_of(member))["env"] == [{"name": "THEIRS", "value": "1"}]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


async def test_under_if_not_drifted_no_entry_of_others_is_removed(member):
    """The agent reports it as drift and leaves it."""
    member.hub.put(an_object(probed(OURS), "o-1", when_to_apply="IfNotDrifted"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await edited_by_hand(member)
    await member.hub.until(lambda hub: hub.observed["o-1"].drift)
    assert await handler_of(member) == {"exec"}


async def test_of_a_foreign_object_no_entry_is_removed(member):
    """Without a take-over the agent does not write it at all."""
    await member.kube.create(probed(THEIRS), field_manager="someone")
    rules = {"when_to_apply": "Always", "when_to_take_over": "Never"}
    member.hub.put(an_object(probed(OURS), "o-1", **rules))
    member.start()
    await member.hub.seen("o-1", "Failed", "NameConflict")
    assert await handler_of(member) == {"exec"}


async def test_of_a_map_the_key_in_the_way_is_removed_and_no_other(member):
    """Somebody moved a key of ours to `binaryData`: it goes from there, and keys of theirs stay in both."""
    member.hub.put(an_object(a_config_map(), "o-1", when_to_apply="Always"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    theirs = {
        "data": {"colour": None, "size": "big"},
        "binaryData": {"colour": "eA==", "icon": "eA=="},
    }
    await edit(member, "ConfigMap", "settings", theirs)
    await member.hub.until(lambda hub: any(e.drift for e in hub.told if e.uid == "o-1"))
    await member.hub.until(lambda hub: not hub.observed["o-1"].drift)
    live = await member.kube.get("v1", "ConfigMap", "team", "settings")
    assert live["data"] == {"colour": "red", "size": "big"}
    assert live["binaryData"] == {"icon": "eA=="}
