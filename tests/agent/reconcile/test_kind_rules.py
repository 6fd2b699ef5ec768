"""A hub that was taken over writes pods' fields by the rule of a kind: nothing of it reaches the member."""

import pytest

from shared.kubesim.operators.definitions import operator_crds
from shared.wire.kind_rules import FieldValue
from tests.agent.parents import RESOURCES, a_parent

pytestmark = pytest.mark.anyio
CRDS = "customresourcedefinitions.apiextensions.k8s.io"
AT = {
    "AppWrapper": "/spec/components/0/template/spec",
    "JobSet": "/spec/replicatedJobs/0/template/spec/template/spec",
    "RayCluster": "/spec/headGroupSpec/template/spec",
}


@pytest.fixture
async def member(member):
    """The member serves the kinds, and its scripted operators run them."""
    for crd in operator_crds():
        member.cluster.store.create(CRDS, crd)
    return member


def ruled(work, part, path, value):
    rule = work.kind_rule
    update = {part: [*getattr(rule, part), FieldValue(path=path, value=value)]}
    return work.model_copy(update={"kind_rule": rule.model_copy(update=update)})


@pytest.mark.parametrize("kind", AT)
@pytest.mark.parametrize("part", ["held", "run"])
async def test_the_object_is_not_created(member, kind, part):
    """RefusedByMember, with the field, and no pod."""
    member.hub.put(ruled(a_parent(kind), part, f"{AT[kind]}/hostPID", True))
    member.start()
    entry = await member.hub.seen("u-1", "Failed", "RefusedByMember")
    assert ".hostPID: " in entry.message
    assert member.cluster.store.list(RESOURCES[kind], "team") == []
    assert member.cluster.store.list("pods", "team") == []


async def test_a_rule_asks_for_no_token_in_a_namespace_that_gives_none(member):
    """TokenNotAllowed, as for the same field in the manifest."""
    await member.namespace("finance")
    work = a_parent().model_copy(update={"namespace": "finance"})
    work.manifest["metadata"]["namespace"] = "finance"
    work.manifest["spec"]["podDefaults"] = {"securityContext": {"runAsNonRoot": True}}
    at = "/spec/podDefaults/automountServiceAccountToken"
    member.hub.put(ruled(work, "run", at, True))
    member.start()
    entry = await member.hub.seen("u-1", "Failed", "TokenNotAllowed")
    assert "spec.podDefaults.automountServiceAccountToken" in entry.message
    assert member.cluster.store.list(RESOURCES["JobSet"], "finance") == []
