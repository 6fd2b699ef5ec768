"""A definition of a kind writes the spec alone, and no pod, to hold and to run an object."""

import pytest

from hub.services.kinds import definitions
from shared.errors import Rejected
from shared.kinds.registry import parse
from tests.services.hubs import a_queue
from tests.services.kinds.fleet import a_fleet
from tests.services.kinds.swarms import SERVED_WITH_SWARMS, a_definition, a_swarm, an_extension

pytestmark = pytest.mark.anyio
POD = ".spec.agents.template.spec"


def actions(path, held="false", run="true"):
    """A Karta's part that writes there."""
    return {
        "suspendActions": [{"path": path, "value": held}],
        "resumeActions": [{"path": path, "value": run}],
    }


def refusal(karta):
    with pytest.raises(Rejected) as refused:
        definitions.check(parse(karta))
    return refused.value


@pytest.mark.parametrize("path", [".metadata.labels", ".status.x", ".spec", "."])
def test_an_action_beyond_the_spec_is_refused_with_its_field(path):
    """An object is held by fields of its spec."""
    refused = refusal(a_definition(suspendDefinition=actions(path)))
    assert refused.code == "InvalidValue"
    assert refused.field.endswith("suspendDefinition.suspendActions[0].path")


@pytest.mark.parametrize(
    "path", [f"{POD}.hostNetwork", POD, ".spec.agents", ".spec.agents.template"]
)
def test_an_action_that_writes_a_pod_template_is_refused(path):
    """Within it, all of it, or what is around it."""
    refused = refusal(a_definition(suspendDefinition=actions(path)))
    assert "pod template" in refused.detail


def test_an_action_beside_the_templates_is_taken():
    """As kinds are held."""
    definitions.check(parse(a_definition()))


@pytest.mark.parametrize(
    ("path", "run"),
    [
        (".spec.podLabels", '{"roadstead.dev/job-uid": "other"}'),
        (".spec.defaults", '{"hostNetwork": true}'),
        (".spec.defaults", '{"securityContext": {"windowsOptions": {"hostProcess": true}}}'),
    ],
)
async def test_the_hub_judges_the_object_as_it_runs(tmp_path, path, run):
    """A field that the definition writes at the start is refused as one that the object has."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.member("m1", kinds=SERVED_WITH_SWARMS)
        await fleet.apply(*a_queue("q", quota={"cpu": "100", "memory": "100Gi"}))
        await fleet.try_apply(a_definition(suspendDefinition=actions(path, "{}", run)))
        refused = await fleet.try_apply(a_swarm())
        assert refused.error is not None, refused.result
        assert path.removeprefix(".") in refused.error.detail


async def test_the_hub_judges_what_an_extension_fills_in(tmp_path):
    """Its defaults are written into the object of a member."""
    default = {"path": ".spec.agents.template.spec.hostNetwork", "value": "true"}
    async with a_fleet(tmp_path) as fleet:
        await fleet.member("m1", kinds=SERVED_WITH_SWARMS)
        await fleet.apply(*a_queue("q", quota={"cpu": "100", "memory": "100Gi"}))
        await fleet.try_all(a_definition(), an_extension(defaults=[default]))
        refused = await fleet.try_apply(a_swarm())
        assert refused.error is not None, refused.result
        assert "spec.agents.template.spec.hostNetwork" in refused.error.detail


async def test_a_definition_that_brings_containers_dispatches_nothing(tmp_path):
    """Their pods would carry no mark."""
    pods = '{"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}'
    async with a_fleet(tmp_path) as fleet:
        await fleet.member("m1", kinds=SERVED_WITH_SWARMS)
        await fleet.apply(*a_queue("q", quota={"cpu": "100", "memory": "100Gi"}))
        await fleet.try_all(
            a_definition(suspendDefinition=actions(".spec.extra", "{}", pods)), an_extension()
        )
        refused = await fleet.try_apply(a_swarm())
        assert "containers" in refused.error.detail
