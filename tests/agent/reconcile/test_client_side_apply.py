"""What users of client-side apply (KubeFleet's default type) rely on holds of server-side apply too."""

import pytest

from tests.agent.build import a_config_map, edit
from tests.agent.scripted_hub import an_object

pytestmark = pytest.mark.anyio


async def held(member):
    return await member.kube.get("v1", "ConfigMap", "team", "settings")


async def applied(member, generation=1, **data):
    """This manifest is applied, as the given generation."""
    member.hub.put(an_object(a_config_map(**data), "o-1", generation=generation))
    if generation == 1:
        member.start()
    await member.hub.until(
        lambda hub: (
            hub.observed.get("o-1")
            and hub.observed["o-1"].phase == "Applied"
            and hub.observed["o-1"].generation == generation
        )
    )
    return (await held(member))["data"]


async def test_a_field_that_leaves_the_manifest_leaves_the_member(member):
    """Whether or not it was changed there meanwhile, as long as nobody else has taken it."""
    await applied(member, colour="red", old="1")
    assert await applied(member, 2, colour="red") == {"colour": "red"}


async def test_fields_that_others_add_stay(member):
    """Through any number of newer manifests; ours among them are kept as declared."""
    await applied(member, colour="red")
    await edit(member, "ConfigMap", "settings", {"data": {"theirs": "x"}})
    assert await applied(member, 2, colour="green") == {"colour": "green", "theirs": "x"}
    assert await applied(member, 3, size="9") == {"size": "9", "theirs": "x"}


async def test_a_field_that_others_own_as_well_is_no_conflict(member):
    """A newer manifest writes over it; one that has the same value shares it."""
    await applied(member, colour="red")
    await member.kube.apply(a_config_map(colour="red"), field_manager="gitops", force=False)
    assert await applied(member, 2, colour="green") == {"colour": "green"}


async def test_a_field_that_others_own_as_well_stays_when_the_manifest_drops_it(member):
    """Here server-side apply differs: client-side apply would take it from them."""
    await applied(member, colour="red", shared="1")
    await member.kube.apply(a_config_map(shared="1"), field_manager="gitops", force=False)
    assert await applied(member, 2, colour="red") == {"colour": "red", "shared": "1"}


async def test_a_manifest_too_large_for_an_annotation_is_applied(member):
    """No copy of it is kept on the object: 256 KiB is no limit."""
    large = "x" * 300_000
    assert await applied(member, colour="red", large=large) == {"colour": "red", "large": large}
    assert await applied(member, 2, colour="red") == {"colour": "red"}
    notes = (await held(member))["metadata"]["annotations"]
    assert not [key for key in notes if "last-applied" in key]
