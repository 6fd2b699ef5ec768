"""The member's people list, adopt or drain the objects of an earlier hub."""

from typing import Any

import pytest

from agent.earlier.objects import EarlierHub
from shared import labels
from tests.agent.build import a_config_map, a_namespace
from tests.agent.placed import applied, is_there
from tests.agent.scripted_hub import HUB_ID, a_job, an_object, eventually

pytestmark = pytest.mark.anyio
FRESH = "hub-2"


async def left_by_a_hub(member: Any) -> None:
    """A Job runs, a namespace and a ConfigMap are created, another is taken over; the hub's agent is off."""
    theirs = a_config_map(colour="red")
    theirs["metadata"]["name"] = "theirs"
    await member.kube.create(theirs, field_manager="someone")
    member.start()
    member.hub.put(an_object(theirs, "o-2", when_to_take_over="Always"))
    await applied(member, a_config_map())
    member.hub.put(an_object(a_namespace("made"), "o-3"), a_job("u-1", "train", run_seconds="600"))
    await member.hub.seen("o-2", "Applied")
    await member.hub.seen("o-3", "Applied")
    await member.hub.until(
        lambda hub: (e := hub.observed.get("u-1")) and e.job is not None and e.job.active
    )
    await member.stop()


def earlier(member: Any, to: str = "") -> EarlierHub:
    return EarlierHub(member.kube, HUB_ID, to)


def live(member: Any, plural: str, namespace: str, name: str) -> Any:
    return member.cluster.store.get(plural, namespace, name)


async def test_a_list_says_what_would_happen_to_each_object(member):
    """Jobs first, Namespaces last; nothing is changed."""
    await left_by_a_hub(member)
    found, unread = await earlier(member).look()
    assert unread == []
    assert [(one.place, one.state, one.when_drained) for one in found] == [
        ("Job team/train", "Running", "its pods end, then it is deleted"),
        ("ConfigMap team/settings", "Created", "deleted"),
        ("ConfigMap team/theirs", "TakenOver", "released"),
        ("Namespace made", "Created", "deleted if nothing else is in it"),
    ]
    assert "roadstead admin adopt u-1" in found[0].when_adopted


async def test_a_drain_ends_jobs_deletes_what_was_created_and_releases_the_rest(member):
    """Only the mark of creation permits a deletion."""
    await left_by_a_hub(member)
    hub = earlier(member)
    found, _ = await hub.look()
    assert await hub.drain(found) == []
    await eventually(lambda: not is_there(member, "jobs.batch", "team", "train"))
    await eventually(lambda: not is_there(member, "namespaces", "", "made"))
    assert not is_there(member, "configmaps", "team", "settings")
    theirs = live(member, "configmaps", "team", "theirs")
    assert labels.MANAGED_BY not in (theirs["metadata"].get("labels") or {})
    assert is_there(member, "namespaces", "", "team")
    assert (await hub.look())[0] == []


async def test_an_adopted_job_keeps_its_uid_epoch_and_pods(member):
    """Its label names the fresh hub, and its incarnation says that this hub did not give it."""
    await left_by_a_hub(member)
    before = live(member, "jobs.batch", "team", "train")
    hub = earlier(member, FRESH)
    found, _ = await hub.look()
    assert await hub.adopt(found) == []
    after = live(member, "jobs.batch", "team", "train")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"] == before["spec"]
    assert after["status"]["active"] == 1
    assert after["metadata"]["labels"][labels.MANAGED_BY] == FRESH
    assert after["metadata"]["annotations"][labels.INCARNATION]


async def test_adopted_objects_may_be_taken_over_by_the_fresh_hub_alone(member):
    """They lose the earlier hub's marks; their namespace, or they themselves, accept the fresh hub."""
    await left_by_a_hub(member)
    hub = earlier(member, FRESH)
    found, _ = await hub.look()
    assert await hub.adopt(found) == []
    for plural, namespace, name in (
        ("configmaps", "team", "settings"),
        ("configmaps", "team", "theirs"),
        ("namespaces", "", "made"),
    ):
        marks = live(member, plural, namespace, name)["metadata"].get("labels") or {}
        assert not labels.RESERVED_LABELS & marks.keys(), name
    for space in ("team", "made"):
        assert live(member, "namespaces", "", space)["metadata"]["labels"][labels.ACCEPT] == FRESH


async def test_a_namespace_that_accepts_another_hub_is_not_changed(member):
    """Its people decide; nothing in it is adopted."""
    await left_by_a_hub(member)
    other = {"metadata": {"labels": {labels.ACCEPT: "hub-3"}}}
    await member.kube.merge_patch("v1", "Namespace", "", "team", other, field_manager="someone")
    hub = earlier(member, FRESH)
    found, _ = await hub.look()
    faults = await hub.adopt(found)
    assert len(faults) == 3
    assert all("accepts hub hub-3: label it yourself" in each for each in faults)
    marks = live(member, "jobs.batch", "team", "train")["metadata"]["labels"]
    assert marks[labels.MANAGED_BY] == HUB_ID


async def test_a_copy_with_the_labels_is_left(member):
    """No agent wrote it, so nothing is deleted, released or adopted."""
    copy = a_config_map()
    copy["metadata"] |= {
        "name": "copy",
        "labels": {labels.MANAGED_BY: HUB_ID, labels.CREATED_BY: HUB_ID},
    }
    await member.kube.create(copy, field_manager="someone")
    hub = earlier(member)
    (found,), _ = await hub.look()
    assert found.state == "Copied"
    assert await hub.drain([found]) == []
    assert (
        live(member, "configmaps", "team", "copy")["metadata"]["labels"]
        == copy["metadata"]["labels"]
    )
