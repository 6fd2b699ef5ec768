"""The agent reads the fence of an object in its pod templates alone."""

import fnmatch

import pytest

from agent.objects.facts import TEMPLATES, epoch_of, makes_pods_of, owner_of
from agent.objects.holds import WRAPPED
from shared import labels
from shared.kinds.dispatched import DISPATCHED
from shared.podsecurity.appwrapper import WITH_PODS
from shared.workkinds.catalog import builtin_catalog
from shared.workkinds.definition import KindName
from tests.agent.parents import KINDS, created
from tests.agent.scripted_hub import HUB_ID

FOREIGN = [
    {
        "name": "other",
        "env": [
            {"name": labels.JOB_UID_VARIABLE, "value": "u-2"},
            {"name": labels.EPOCH_VARIABLE, "value": "9"},
        ],
    }
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("field", ["containers", "network", "alsoTemplate"])
def test_our_variables_elsewhere_in_an_object_say_nothing(kind, field):
    """A user wrote them where the hub overwrites none, nearer to the root than any template."""
    live = created(kind)
    live["spec"] = {
        field: FOREIGN if field == "containers" else {"spec": {"containers": FOREIGN}},
        **live["spec"],
    }
    assert owner_of(live, HUB_ID) == "u-1"
    assert epoch_of(live) == 1
    assert makes_pods_of(live, "u-1")
    assert not makes_pods_of(live, "u-2")


def test_every_template_is_asked_whose_pods_an_object_makes():
    """One of several is enough, as of an object that others made."""
    live = created("JobSet")
    jobs = live["spec"]["replicatedJobs"]
    jobs[1]["template"]["spec"]["template"]["spec"]["containers"] = FOREIGN
    assert makes_pods_of(live, "u-1")
    assert makes_pods_of(live, "u-2")


WRAPPERS = {("workload.codeflare.dev/v1beta2", "AppWrapper")}


def test_the_templates_of_a_wrapper_are_those_of_each_kind_in_it():
    """A Pod is its own template."""
    of_pods = {"spec/components/*/template"}
    for key in WITH_PODS - {("v1", "Pod")}:
        of_pods |= {f"spec/components/*/template/{path}" for path in TEMPLATES[key]}
    (wrapper,) = WRAPPERS
    assert of_pods <= set(TEMPLATES[wrapper])
    assert WITH_PODS - {("v1", "Pod")} <= set(WRAPPED)


@pytest.mark.parametrize(("api_version", "kind"), sorted(DISPATCHED - WRAPPERS))
def test_the_templates_of_every_dispatched_kind_are_those_of_its_definition(api_version, kind):
    """The hub writes the variables there, and the agent reads them there."""
    group, _, version = api_version.partition("/")
    definition = builtin_catalog().find(KindName(group, version, kind))
    paths = {_path(each.template) for each in definition.karta.components if each.template}
    patterns = TEMPLATES[api_version, kind]
    assert all(any(fnmatch.fnmatch(each, one) for one in patterns) for each in paths)
    assert all(any(fnmatch.fnmatch(each, one) for each in paths) for one in patterns)


def _path(expression: str) -> str:
    """A path of jq, without the condition in front of it, as the agent writes it."""
    plain = expression.rpartition("| ")[2].strip()
    return plain.lstrip(".").replace("[]", ".*").replace(".", "/")
