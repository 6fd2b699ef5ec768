"""AppWrappers that name no queue and are placed as they are: held to the same kinds and fields as jobs."""

import copy

import pytest

from agent.decide.member_policy import MemberPolicy
from hub.services.context.settings import Settings
from shared import podsecurity
from shared.podsecurity import Rules
from tests.agent.scripted_hub import an_object
from tests.api.serving import served
from tests.services.kinds.fleet import a_rayjob, a_template, an_appwrapper

pytestmark = pytest.mark.anyio
AT = "spec.components[0]"
TOLERATIONS = [{"tolerations": [{"operator": "Exists"}]}]
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "x"},
    "roleRef": {"kind": "ClusterRole", "name": "admin"},
}
TOKEN = {
    "apiVersion": "v1",
    "kind": "Secret",
    "type": "kubernetes.io/service-account-token",
    "metadata": {"name": "x"},
}
ELSEWHERE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "x", "namespace": "kube-system"},
}
MANAGED = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "x"},
    "spec": {"managedBy": "example.org/mine", "template": a_template()},
}
KEPT = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "finalizers": ["a/b"]}}
ADDRESS = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "x"},
    "spec": {"externalIPs": ["10.0.0.1"]},
}


def wrapping(template, name="both", **component):
    """An AppWrapper without a queue."""
    made = an_appwrapper(name, queue="")
    made["spec"]["components"] = [{"template": copy.deepcopy(template), **component}]
    return made


ROWS = [
    (wrapping(BINDING), f"{AT}.template.kind"),
    (wrapping(TOKEN), f"{AT}.template.kind"),
    (wrapping(ELSEWHERE), f"{AT}.template.metadata.namespace"),
    (wrapping(KEPT), f"{AT}.template.metadata.finalizers"),
    (wrapping(ADDRESS), f"{AT}.template.spec.externalIPs"),
    (wrapping(MANAGED), f"{AT}.template.spec.managedBy"),
    (wrapping(MANAGED["spec"]), f"{AT}.template.kind"),
    (wrapping(ADDRESS | {"spec": {}}, podSetInfos=TOLERATIONS), f"{AT}.podSetInfos"),
]
EACH = pytest.mark.parametrize(("manifest", "field"), ROWS, ids=[field for _, field in ROWS])


@EACH
@pytest.mark.parametrize("profile", ["jobs", "objects"])
def test_the_agent_refuses_each_as_an_object_and_as_a_job(manifest, field, profile):
    """Its operator would make what is wrapped with its own rights."""
    for epoch in (0, 1):
        work = an_object(manifest, "o").model_copy(update={"epoch": epoch})
        trouble = MemberPolicy(profile=profile).refuse(work, "Create" if epoch else "Apply")
        assert trouble is not None
        if not epoch and profile == "objects":
            assert field in trouble.message


async def test_the_hub_refuses_each_where_it_is_applied(tmp_path):
    """With the field, and stores none."""
    async with served(tmp_path, Settings()) as hub:
        for manifest, field in ROWS:
            (applied,) = (await hub.admin.post("/v1/apply", json=manifest)).json()["items"]
            assert applied["result"] == "rejected", field
            assert field in str(applied), applied
        (taken,) = (await hub.admin.post("/v1/apply", json=an_appwrapper(queue=""))).json()[
            "items"
        ]
        assert taken["result"] == "created", taken


@pytest.mark.parametrize(("manifest", "field"), ROWS[:1], ids=["RoleBinding"])
def test_an_envelope_hides_no_wrapper(manifest, field):
    """An AppWrapper in a ResourceEnvelope is judged as one that is applied."""
    envelope = {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ResourceEnvelope",
        "metadata": {"name": "e", "namespace": "team-a"},
        "data": {"w": manifest},
    }
    found = podsecurity.check_pods(envelope, "team-a", "baseline", Rules())
    assert [each.field for each in found] == [f"data.w.{field}"]


def test_an_earlier_version_is_not_taken():
    """Its objects stand elsewhere in it."""
    made = an_appwrapper(queue="") | {"apiVersion": "workload.codeflare.dev/v1beta1"}
    found = podsecurity.check_pods(made, "team-a", "privileged", Rules())
    assert [each.field for each in found] == ["apiVersion"]


@pytest.mark.parametrize("empty", [None, []])
def test_what_is_empty_or_ordinary_passes(empty):
    """Empty podSetInfos, declared pod sets, a RayJob, and a Service within the cluster."""
    inner = a_rayjob("both-ray", "")
    made = wrapping(inner, podSetInfos=empty)
    made["spec"]["components"].append({"template": ADDRESS | {"spec": {"ports": [{"port": 80}]}}})
    assert podsecurity.check_pods(made, "team-a", "baseline", Rules()) == []
    assert MemberPolicy().refuse(an_object(made, "o"), "Apply") is None
