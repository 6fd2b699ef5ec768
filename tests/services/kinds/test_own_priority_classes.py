"""The priority class that a field of the kind names: judged as the label is, and used without one."""

import pytest

from agent.decide.member_policy import MemberPolicy
from shared import podsecurity
from shared.podsecurity import Rules
from tests.agent.parents import a_parent
from tests.agent.scripted_hub import an_object
from tests.api.people import a_user, bound
from tests.api.serving import served
from tests.services.build import a_class
from tests.services.hubs import a_queue
from tests.services.kinds.fleet import (
    a_fleet,
    a_pytorchjob,
    a_raycluster,
    a_rayjob,
    a_rayservice,
    an_appwrapper,
)
from tests.services.kinds.swarms import SERVED_WITH_SWARMS, a_definition, a_swarm, an_extension

pytestmark = pytest.mark.anyio
CLASS = "kueue.x-k8s.io/priority-class"
ROLES = {
    "JAXJob": ("v1", "jaxReplicaSpecs", "Worker"),
    "MPIJob": ("v2beta1", "mpiReplicaSpecs", "Launcher"),
    "PaddleJob": ("v1", "paddleReplicaSpecs", "Worker"),
    "PyTorchJob": ("v1", "pytorchReplicaSpecs", "Worker"),
    "TFJob": ("v1", "tfReplicaSpecs", "Worker"),
    "XGBoostJob": ("v1", "xgbReplicaSpecs", "Master"),
}
RAY_CLASS = "ray.io/priority-class-name"
LABEL = f"metadata.labels[{RAY_CLASS}]"
FIELD = "spec.runPolicy.schedulingPolicy.priorityClass"


def a_training(kind, named, queue="q", name="bert"):
    """A job of Kubeflow of one role that names the class of its PodGroup."""
    version, roles, role = ROLES[kind]
    made = a_pytorchjob(name, queue)
    template = made["spec"]["pytorchReplicaSpecs"]["Master"]
    policy = {"schedulingPolicy": {"priorityClass": named}}
    spec = {"runPolicy": policy, roles: {role: template}}
    return made | {"apiVersion": f"kubeflow.org/{version}", "kind": kind, "spec": spec}


def wrapping(inner):
    made = an_appwrapper()
    del inner["metadata"]["namespace"]
    made["spec"]["components"][1] = {"template": inner}
    return made


def labelled(made, named="high"):
    """KubeRay writes the class of this label into its pods."""
    made["metadata"].setdefault("labels", {})[RAY_CLASS] = named
    return made


ROWS = [
    *((a_training(kind, "high"), FIELD) for kind in ROLES),
    (
        wrapping(a_training("PyTorchJob", "high", "")),
        f"spec.components[1].template.{FIELD}",
    ),
    *((labelled(made), LABEL) for made in (a_raycluster(), a_rayjob(), a_rayservice())),
    (wrapping(labelled(a_rayjob(queue=""))), f"spec.components[1].template.{LABEL}"),
]


async def test_a_class_that_no_binding_lists_is_refused_with_its_field(tmp_path):
    """From a person who is bound to other classes, at each door; one who is bound to it submits."""
    async with served(tmp_path) as hub:
        for each in (*a_queue("q", quota={"cpu": "99", "memory": "999Gi"}), a_class("high", 9)):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        where = {"namespaces": ["team-a"], "priorityClasses": ["low"]}
        await bound(hub, "low", "submitter", users=["p"], **where)
        person = await a_user(hub, "p")
        for manifest, field in ROWS:
            refused = (await person.post("/v1/jobs", json=manifest)).json()
            assert refused["code"] == "PriorityNotAllowed", (field, refused)
            assert field in str(refused)
            (item,) = (await person.post("/v1/apply", json=manifest)).json()["items"]
            assert item["result"] == "rejected", field
        where = where | {"priorityClasses": ["high"]}
        await bound(hub, "high", "submitter", users=["p"], **where)
        reply = await (await a_user(hub, "p")).post("/v1/jobs", json=ROWS[3][0])
        assert reply.status_code == 201, reply.text


@pytest.mark.parametrize(
    ("manifest", "label", "priority"),
    [
        (a_training("PyTorchJob", "high"), "", 9),
        (a_training("PyTorchJob", "high"), "low", 5),
        (a_training("PyTorchJob", "podhigh"), "", 0),
        (ROWS[len(ROLES)][0], "", 9),
    ],
    ids=["field", "label first", "no such class", "wrapped"],
)
async def test_it_gives_the_priority_where_the_label_is_absent(
    tmp_path, manifest, label, priority
):
    """If the hub has a WorkloadPriorityClass of that name."""
    made = manifest | {"metadata": {**manifest["metadata"]}}
    if label:
        made["metadata"]["labels"] = {**made["metadata"]["labels"], CLASS: label}
    async with a_fleet(tmp_path) as fleet:
        await fleet.apply(*a_queue("q", quota={"cpu": "99", "memory": "999Gi"}))
        await fleet.apply(a_class("high", 9), a_class("low", 5))
        applied = await fleet.try_apply(made)
        assert applied.error is None, applied.error
        row = await fleet.job(applied.uid)
        assert row.priority == priority
        assert row.priority_class == {9: "high", 5: "low", 0: ""}[priority]


async def test_priority_paths_of_a_declared_kind_count_alike(tmp_path):
    """As the extension of its Karta says; a job keeps what it was read with."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.member("m1", kinds=SERVED_WITH_SWARMS)
        await fleet.apply(*a_queue("q", quota={"cpu": "99", "memory": "999Gi"}))
        await fleet.apply(a_class("high", 9))
        await fleet.try_all(a_definition(), an_extension(priorityPaths=[".spec.rank"]))
        applied = await fleet.try_apply(a_swarm(rank="high"))
        assert (await fleet.job(applied.uid)).priority == 9


async def _a_person_of_low(hub):
    """One who may name class low alone, a queue, and Swarms whose class is an annotation or a rank."""
    paths = ['.metadata.annotations["x/class"]', ".spec.ranks[]"]
    declared = (a_definition(), an_extension(priorityPaths=paths))
    for each in (*a_queue("q", quota={"cpu": "99", "memory": "999Gi"}), *declared):
        assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
    where = {"namespaces": ["team-a"], "priorityClasses": ["low"]}
    await bound(hub, "low", "submitter", users=["p"], **where)
    return await a_user(hub, "p")


async def _applied(client, manifest):
    """The result of one manifest, with the code of its refusal."""
    (item,) = (await client.post("/v1/apply", json=manifest)).json()["items"]
    return item["result"], item.get("code", "")


def _annotated(named, **labels):
    made = a_swarm()
    made["metadata"]["annotations"] = {"x/class": named}
    made["metadata"]["labels"] |= labels
    return made


async def test_a_class_beside_the_spec_is_judged_with_each_change(tmp_path):
    """One that an administrator gave stays, with what its owner changes beside it."""
    async with served(tmp_path) as hub:
        person = await _a_person_of_low(hub)
        assert await _applied(person, a_swarm()) == ("created", "")
        assert await _applied(person, _annotated("low")) == ("configured", "")
        assert await _applied(person, _annotated("high")) == ("rejected", "PriorityNotAllowed")
        assert await _applied(hub.admin, _annotated("high")) == ("configured", "")
        assert await _applied(person, _annotated("high", tier="gold")) == ("configured", "")
        assert await _applied(person, _annotated("top")) == ("rejected", "PriorityNotAllowed")


async def test_each_of_several_classes_of_one_expression_is_judged(tmp_path):
    """Not the last one alone."""
    async with served(tmp_path) as hub:
        person = await _a_person_of_low(hub)
        refused = await _applied(person, a_swarm(ranks=["high", "low"]))
        assert refused == ("rejected", "PriorityNotAllowed")
        assert await _applied(person, a_swarm(ranks=["low", "low"])) == ("created", "")


def test_a_class_of_the_system_is_refused_at_every_gate():
    """As in a pod template: no PodGroup is more urgent than the cluster's own pods."""
    made = a_training("PyTorchJob", "system-node-critical")
    found = podsecurity.check_pods(made, "team-a", "privileged", Rules())
    assert [(each.field, each.code) for each in found] == [(FIELD, "PriorityNotAllowed")]
    work = a_parent("PyTorchJob")
    work.manifest["spec"]["runPolicy"] |= made["spec"]["runPolicy"]
    assert FIELD in MemberPolicy().refuse(work, "Create").message


async def test_a_label_of_ray_may_not_change_to_such_a_class(tmp_path):
    """Labels of a job may change; one that is there stays."""
    async with served(tmp_path) as hub:
        for each in a_queue("q", quota={"cpu": "99", "memory": "999Gi"}):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        where = {"namespaces": ["team-a"], "priorityClasses": ["low"]}
        await bound(hub, "low", "submitter", users=["p"], **where)
        person = await a_user(hub, "p")
        made = labelled(a_raycluster(), "low")
        assert (await person.post("/v1/jobs", json=made)).status_code == 201
        (item,) = (await person.post("/v1/apply", json=labelled(made))).json()["items"]
        assert item["result"] == "rejected", item
        assert LABEL in str(item)


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        (RAY_CLASS, "system-node-critical", "PriorityNotAllowed"),
        ("ray.io/scheduler-name", "mine", "PlacementFieldForbidden"),
    ],
)
def test_labels_of_ray_are_judged_as_the_fields_of_pods_that_they_become(key, value, code):
    """By hub and agent, also in an object without a queue."""
    made = a_raycluster(queue="")
    made["metadata"]["labels"] = {key: value}
    found = podsecurity.check_pods(made, "team-a", "privileged", Rules())
    assert [(each.field, each.code) for each in found] == [(f"metadata.labels[{key}]", code)]
    assert key in MemberPolicy().refuse(an_object(made, "o"), "Apply").message
