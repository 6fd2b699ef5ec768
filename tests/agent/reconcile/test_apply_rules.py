"""The rules of an apply: whose fields are overwritten, who may own an object too, what is compared."""

import pytest

from agent.member.applier import Applier
from shared import labels
from shared.clock import SystemClock
from tests.agent.build import a_config_map, drifts_of, edit
from tests.agent.scripted_hub import HUB_ID, an_object

pytestmark = pytest.mark.anyio


async def held(member):
    return await member.kube.get("v1", "ConfigMap", "team", "settings")


def settings(generation=1, **fields):
    return an_object(
        a_config_map(**fields.pop("data", {})), "o-1", generation=generation, **fields
    )


async def test_fields_of_others_are_not_overwritten_where_force_is_off(member):
    """Who owns what is said; when they let go, the next try brings the declared value."""
    member.hub.put(settings(force=False))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "blue"}})
    entry = await member.hub.seen("o-1", "Failed", "ApplyConflict")
    assert "kubectl-edit manages .data.colour" in entry.message
    assert [each.path for each in entry.drift] == ["/data/colour"]
    assert (await held(member))["data"] == {"colour": "blue"}
    member.hub.put(settings(2))
    await member.hub.until(
        lambda hub: hub.observed["o-1"].phase == "Applied" and hub.observed["o-1"].generation == 2
    )
    assert (await held(member))["data"] == {"colour": "red"}


@pytest.mark.parametrize(
    ("force", "phase"), [(None, "Applied"), (True, "Applied"), (False, "Failed")]
)
async def test_a_strangers_fields_are_overwritten_as_force_says(member, force, phase):
    """Taken over under Always: by default and by force, not where force is off."""
    await member.kube.create(a_config_map(colour="blue"), field_manager="someone")
    member.hub.put(settings(force=force, when_to_take_over="Always"))
    member.start()
    entry = await member.hub.seen("o-1", phase)
    assert entry.reason == ("" if phase == "Applied" else "NameConflict")
    colour = (await held(member))["data"]["colour"]
    assert colour == ("red" if phase == "Applied" else "blue")


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "boss", "uid": "none"}


async def owner_of(member):
    made = await member.kube.create(a_config_map("boss"), field_manager="someone")
    return {**OWNER, "uid": made["metadata"]["uid"]}


@pytest.mark.parametrize(("allowed", "phase"), [(True, "Applied"), (False, "Failed")])
async def test_an_object_with_an_owner_is_taken_over_where_that_is_allowed(member, allowed, phase):
    """Else it is refused, naming the owner, whatever whenToTakeOver says."""
    owned = a_config_map()
    owned["metadata"]["ownerReferences"] = [await owner_of(member)]
    await member.kube.create(owned, field_manager="someone")
    member.hub.put(settings(co_ownership=allowed, when_to_take_over="Always"))
    member.start()
    entry = await member.hub.seen("o-1", phase)
    marks = (await held(member))["metadata"].get("labels") or {}
    assert (labels.MANAGED_BY in marks) is allowed
    if not allowed:
        assert entry.reason == "OwnedByOthers"
        assert "ConfigMap/boss owns it too" in entry.message


async def test_an_object_of_ours_that_gets_an_owner_is_written_no_more(member):
    """It stays as it is, and the next generation is refused with the owner's name."""
    member.hub.put(settings(co_ownership=False))
    member.start()
    await member.hub.seen("o-1", "Applied")
    owner = {"metadata": {"ownerReferences": [await owner_of(member)]}}
    await edit(member, "ConfigMap", "settings", owner)
    member.hub.put(settings(2, data={"colour": "green"}, co_ownership=False))
    await member.hub.seen("o-1", "Failed", "OwnedByOthers")
    assert (await held(member))["data"] == {"colour": "red"}


@pytest.mark.parametrize(("whole", "phase"), [(False, "Applied"), (True, "Failed")])
async def test_what_a_stranger_has_more_is_a_difference_of_a_full_comparison(member, whole, phase):
    """IfNoDiff takes over what has the declared fields, or what has exactly them."""
    await member.kube.create(a_config_map(colour="red", more="x"), field_manager="someone")
    member.hub.put(settings(compare_all=whole))
    member.start()
    entry = await member.hub.seen("o-1", phase)
    assert ("/data/more" in entry.message) is whole


async def test_an_addition_is_told_and_left_under_always(member):
    """No apply takes away what others own: Applied stays, and nothing is fought over."""
    member.hub.put(settings(compare_all=True))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await edit(member, "ConfigMap", "settings", {"data": {"more": "x"}})
    entry = await member.hub.until(lambda hub: hub.observed["o-1"].drift and hub.observed["o-1"])
    (told,) = entry.drift
    assert (entry.phase, told.path, told.hub, told.member) == (
        "Applied",
        "/data/more",
        None,
        '"x"',
    )
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "blue"}})
    await member.hub.until(lambda hub: "/data/colour" in {d.path for d in drifts_of(hub, "o-1")})
    await member.hub.until(
        lambda hub: [d.path for d in hub.observed["o-1"].drift] == ["/data/more"]
    )
    assert (await held(member))["data"] == {"colour": "red", "more": "x"}


async def test_an_addition_blocks_a_new_generation_under_if_not_drifted(member):
    """Until it is taken away, or ignored by its path."""
    rules = {"compare_all": True, "when_to_apply": "IfNotDrifted"}
    member.hub.put(settings(**rules))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await edit(member, "ConfigMap", "settings", {"data": {"more": "x"}})
    await member.hub.until(lambda hub: hub.observed["o-1"].drift)
    member.hub.put(settings(2, data={"colour": "green"}, **rules))
    await member.hub.seen("o-1", "Failed", "FoundDrifts")
    ignoring = settings(3, data={"colour": "green"}, ignore_drift=["/data/more"], **rules)
    member.hub.put(ignoring)
    await member.hub.seen("o-1", "Applied")
    assert (await held(member))["data"] == {"colour": "green", "more": "x"}


async def test_what_is_restored_is_written_over_drift_once(member):
    """Under IfNotDrifted too; what drifts afterwards is left again."""
    rules = {"when_to_apply": "IfNotDrifted"}
    member.hub.put(settings(**rules))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "blue"}})
    await member.hub.until(lambda hub: hub.observed["o-1"].drift)
    restored = settings(**rules, restore=True)
    restored.manifest["metadata"]["annotations"][labels.SPEC_HASH] = "once-more"
    member.hub.put(restored.model_copy(update={"hash": "once-more"}))
    await member.hub.until(lambda hub: hub.observed["o-1"].drift == [])
    assert (await held(member))["data"] == {"colour": "red"}
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "green"}})
    await member.hub.until(lambda hub: hub.observed["o-1"].drift)
    assert (await held(member))["data"] == {"colour": "green"}


async def test_a_drift_that_comes_in_between_is_not_overwritten_under_if_not_drifted(member):
    """The apply carries the version that was looked at; it is refused and decided about anew."""
    applier = Applier(member.kube, HUB_ID, SystemClock())
    rule = {"when_to_apply": "IfNotDrifted"}
    live = (await applier.apply(settings(**rule), None, "")).live
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "blue"}})
    outcome = await applier.apply(settings(2, data={"colour": "green"}, **rule), live, "")
    assert outcome.trouble.reason == "Retrying"
    assert (await held(member))["data"] == {"colour": "blue"}
    outcome = await applier.apply(settings(2, data={"colour": "green"}), live, "")
    assert outcome.live["data"] == {"colour": "green"}
