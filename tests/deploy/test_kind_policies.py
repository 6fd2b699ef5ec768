"""The hub cluster's policies about JobSets and their kin: who submitted one, and that it keeps its queue."""

from typing import Any

import pytest

from shared.kinds.dispatched import BY_REST, DISPATCHED
from shared.kubesim.server import kind_guard, kind_queues, kind_submitters
from tests import manifests
from tests.deploy.policies import HUB_ACCOUNT, JOB_GUARD, refusals
from tests.house.sources import REPOSITORY

Json = dict[str, Any]
QUEUED = {"kueue.x-k8s.io/queue-name": "main"}
JOB_POLICY = REPOSITORY / "deploy/hub-cluster/job-policy.yaml"
SUBMITTED, QUEUES = kind_submitters.POLICY, kind_queues.POLICY
LEFT_ALONE = {"managedBy": "kueue.x-k8s.io/multikueue"}
KINDS = pytest.mark.parametrize("kind", ["JobSet", "PyTorchJob", "RayJob"])


def an_object(kind: str, queued: Json | None = None, by: str = "", **metadata: Any) -> Json:
    """One that the operators of the hub cluster leave alone."""
    notes = {"roadstead.dev/submitted-by": by} if by else {}
    spec: Json = {"runPolicy": LEFT_ALONE} if kind == "PyTorchJob" else LEFT_ALONE
    given = {"labels": queued or {}, "annotations": notes, **metadata}
    return {
        "kind": kind,
        "metadata": {"name": "train", "namespace": "team", **given},
        "spec": spec,
    }


@KINDS
def test_nobody_writes_anothers_name(kind: str) -> None:
    """On creation it is the caller's, or left out."""
    for by, user, told in (
        ("", "bob", []),
        ("bob", "bob", []),
        ("ana", "bob", [kind_submitters.NOT_OTHERS]),
        ("ana", HUB_ACCOUNT, []),
    ):
        assert refusals(JOB_GUARD, SUBMITTED, an_object(kind, QUEUED, by), user=user) == told


@KINDS
def test_who_submitted_an_object_stays(kind: str) -> None:
    """An update neither takes the name away nor writes another."""
    stored = an_object(kind, QUEUED, "ana")
    for by, told in (("ana", []), ("", [kind_submitters.STAYS]), ("bob", [kind_submitters.STAYS])):
        changed = an_object(kind, QUEUED, by)
        assert refusals(JOB_GUARD, SUBMITTED, changed, stored, user="bob") == told


@KINDS
def test_who_gives_an_object_its_queue_submits_it(kind: str) -> None:
    """Ana's object becomes Roadstead's by Bob: its quota is not used in her name."""
    stored = an_object(kind, by="ana")
    told = refusals(JOB_GUARD, SUBMITTED, an_object(kind, QUEUED, "ana"), stored, user="bob")
    assert told == [kind_submitters.NOT_OTHERS]
    assert not refusals(JOB_GUARD, SUBMITTED, an_object(kind, QUEUED, "bob"), stored, user="bob")


@KINDS
@pytest.mark.parametrize("queued", [{}, {"kueue.x-k8s.io/queue-name": ""}])
def test_an_object_keeps_its_queue(kind: str, queued: Json) -> None:
    """Without its name the quota would not count; another name is judged by the hub."""
    stored = an_object(kind, QUEUED)
    assert refusals(JOB_GUARD, QUEUES, an_object(kind, queued), stored) == [kind_queues.KEEPS]
    other = an_object(kind, {"kueue.x-k8s.io/queue-name": "other"})
    assert refusals(JOB_GUARD, QUEUES, other, stored) == []
    assert refusals(JOB_GUARD, QUEUES, an_object(kind, queued), stored, user=HUB_ACCOUNT) == []
    leaving = an_object(kind, QUEUED, deletionTimestamp="2026-01-01T00:00:00Z")
    assert refusals(JOB_GUARD, QUEUES, an_object(kind, queued), leaving) == []


def test_an_object_that_an_operator_runs_there_may_lose_its_queue() -> None:
    """Roadstead never took it: only the hub's finalizer says that it did."""
    theirs = {**an_object("JobSet", QUEUED), "spec": {}}
    loses = {**an_object("JobSet"), "spec": {}}
    assert refusals(JOB_GUARD, QUEUES, loses, theirs) == []
    taken = {**an_object("JobSet", QUEUED, finalizers=["roadstead.dev/hub"]), "spec": {}}
    assert refusals(JOB_GUARD, QUEUES, loses, taken) == [kind_queues.KEEPS]


MANAGED = pytest.mark.parametrize("kind", sorted(kind_guard.OF_SPEC | kind_guard.OF_RUN_POLICY))


def marked(kind: str, manager: str | None, queued: Json | None = None, **metadata: Any) -> Json:
    """One with this managedBy; None: without the field."""
    mark = {} if manager is None else {"managedBy": manager}
    spec: Json = {"runPolicy": mark} if kind in kind_guard.OF_RUN_POLICY else mark
    made = {"name": "train", "namespace": "team", "labels": queued or {}, **metadata}
    return {"kind": kind, "metadata": made, "spec": spec}


OURS = "kueue.x-k8s.io/multikueue"
HELD: Json = {"finalizers": ["roadstead.dev/hub"]}


@MANAGED
@pytest.mark.parametrize("manager", [None, "", "ray.io/kuberay-operator"])
@pytest.mark.parametrize(("queued", "metadata"), [(QUEUED, {}), ({}, HELD)])
def test_an_object_that_is_dispatched_keeps_its_manager(
    kind: str, manager: str | None, queued: Json, metadata: Json
) -> None:
    """Without managedBy the operator there would run it beside the member: removal and change are refused."""
    stored = marked(kind, OURS, queued, **metadata)
    changed = marked(kind, manager, queued, **metadata)
    assert refusals(JOB_GUARD, QUEUES, changed, stored) == [kind_queues.KEEPS_MARK]
    assert refusals(JOB_GUARD, QUEUES, stored, stored) == []


@MANAGED
def test_the_manager_does_not_go_with_what_it_is_in(kind: str) -> None:
    """Neither with the run policy nor with the whole spec."""
    stored = marked(kind, OURS, QUEUED)
    specless = {"kind": kind, "metadata": stored["metadata"]}
    for changed in (specless, {**specless, "spec": {}}):
        assert refusals(JOB_GUARD, QUEUES, changed, stored) == [kind_queues.KEEPS_MARK]


@MANAGED
def test_the_manager_of_what_is_not_dispatched_may_change(kind: str) -> None:
    """Of what names no queue, of what had lost it before this policy, and of what gets it back."""
    assert refusals(JOB_GUARD, QUEUES, marked(kind, None), marked(kind, OURS)) == []
    lost = marked(kind, None, QUEUED, **HELD)
    assert refusals(JOB_GUARD, QUEUES, lost, lost) == []
    assert refusals(JOB_GUARD, QUEUES, marked(kind, OURS, QUEUED, **HELD), lost) == []


@MANAGED
def test_an_object_that_is_dispatched_gets_no_controller(kind: str) -> None:
    """The next update would find an object that a controller owns, and not be judged."""
    owners = [{"kind": "Any", "name": "any", "controller": True}]
    stored, owned = marked(kind, OURS, QUEUED), marked(kind, OURS, QUEUED, ownerReferences=owners)
    assert refusals(JOB_GUARD, QUEUES, owned, stored) == [kind_queues.NO_CONTROLLER]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        *((kind, kind_guard.OF_SPEC_WAITS) for kind in sorted(kind_guard.OF_SPEC)),
        *((kind, kind_guard.OF_RUN_POLICY_WAITS) for kind in sorted(kind_guard.OF_RUN_POLICY)),
        *((kind, kind_guard.UNMANAGED_WAITS) for _, kind in sorted(BY_REST)),
        ("Deployment", kind_guard.WAITS),
        ("TrainJob", kind_guard.WAITS),
    ],
)
def test_a_refusal_names_what_to_do_with_an_object_of_its_kind(kind: str, told: str) -> None:
    """One remedy, and the simulated hub cluster has the same words."""
    queued = marked(kind, None, QUEUED)
    assert refusals(JOB_GUARD, kind_guard.POLICY, queued) == [told] == [kind_guard.waits(queued)]


@pytest.mark.parametrize(
    ("path", "name"), [(JOB_GUARD, SUBMITTED), (JOB_GUARD, QUEUES), (JOB_POLICY, SUBMITTED)]
)
def test_the_policies_are_of_the_dispatched_kinds(path: Any, name: str) -> None:
    """As the simulated hub cluster has them, and as the hub dispatches them."""
    (spec,) = [
        each["spec"]
        for each in manifests.kept(path)
        if each["metadata"]["name"] == name and "matchConstraints" in each["spec"]
    ]
    keys = {
        f"{plural}.{group}"
        for rule in spec["matchConstraints"]["resourceRules"]
        for group in rule["apiGroups"]
        for plural in rule["resources"]
    }
    assert keys == kind_guard.DISPATCHED_KEYS
    taken = DISPATCHED - BY_REST
    assert keys == {f"{kind.lower()}s.{api.partition('/')[0]}" for api, kind in taken}
