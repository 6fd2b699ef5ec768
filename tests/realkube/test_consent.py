"""On a real API server the shipped policies deny creations in a namespace that does not accept the hub."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from shared import labels
from tests.charts import helm
from tests.realkube.gate import Gate, marked
from tests.realkube.plane import Plane, PlaneError

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(500)]

HUB: Final = "hub-1"  # as `marked` says
MADE: Final = {labels.MANAGED_BY: HUB, labels.CREATED_BY: HUB}
DENIED: Final = "denied request: NotAccepted: namespace"


@pytest.fixture(scope="module")
def gate(real_control_plane: Plane) -> Iterator[Gate]:
    """The agent's chart, with a pattern of accepted namespaces that also matches `default`."""
    made = Gate(real_control_plane, {"acceptedNamespaces": "named-*,def*"})
    yield made
    helm.uninstall(made.release, real_control_plane.kubeconfig)


def a_namespace(name: str, marks: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": name, "labels": marks}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def a_secret(namespace: str) -> dict[str, Any]:
    metadata = {"name": "mine", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


def a_job(namespace: str, token: bool | None = False) -> dict[str, Any]:
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "busybox:1.36"}],
    }
    if token is not None:
        pod["automountServiceAccountToken"] = token
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "mine", "namespace": namespace},
        "spec": {"suspend": True, "template": {"spec": pod}},
    }


@pytest.mark.parametrize(
    ("name", "marks", "is_usable"),
    [
        ("theirs", {}, False),
        ("of-another", {labels.ACCEPT: "hub-2"}, False),
        ("labelled", {labels.ACCEPT: HUB}, True),
        ("made", MADE, True),
        ("made-by-another", {labels.MANAGED_BY: "hub-2", labels.CREATED_BY: "hub-2"}, False),
        ("taken-over", {labels.MANAGED_BY: HUB, labels.JOB_UID: "u-1"}, False),
        ("named-a", {}, True),
        ("default", None, False),
    ],
)
def test_only_a_namespace_that_accepts_the_hub_takes_its_objects(
    gate: Gate, name: str, marks: dict[str, str] | None, is_usable: bool
) -> None:
    """The label, the mark of creation or the value accepts it; no pattern matches `default`."""
    if marks is not None:
        gate.plane.create(a_namespace(name, marks))
    else:  # it is there, and other tests may have labelled it
        gate.plane.kubectl("label", "namespace", name, f"{labels.ACCEPT}-")
    for manifest in (a_secret(name), a_job(name)):
        answer = gate.said(marked(manifest))
        assert (DENIED in answer) is not is_usable, answer
        assert ("created" in answer) is is_usable, answer


@pytest.mark.parametrize(
    ("name", "marks", "gives"),
    [
        ("no-tokens", {labels.ACCEPT: HUB}, False),
        ("tokens", {labels.ACCEPT: HUB, labels.ACCEPT_TOKENS: "true"}, True),
        ("made-for-tokens", MADE, True),
    ],
)
def test_pods_get_a_token_only_where_people_allow_it_or_the_agent_made_the_namespace(
    gate: Gate, name: str, marks: dict[str, str], gives: bool
) -> None:
    """A Job that leaves the field out would get the token of its ServiceAccount."""
    gate.plane.create(a_namespace(name, marks))
    answer = gate.said(marked(a_job(name, token=None)))
    assert ("denied request: TokenNotAllowed" in answer) is not gives, answer
    assert "created" in gate.said(marked(a_job(name)))


@pytest.mark.parametrize(
    ("before", "after", "is_denied"),
    [("id-1", "id-1", False), ("id-1", "id-2", True), ("id-1", None, True), (None, "id-1", True)],
)
def test_the_agent_never_changes_the_id_of_a_namespace(
    gate: Gate, before: str | None, after: str | None, is_denied: bool
) -> None:
    """With another id it could use leftovers of an earlier tenant there."""
    name = f"of-{before}-to-{after}".lower()
    space = a_namespace(name, MADE)
    space["metadata"]["annotations"] = {} if before is None else {labels.NAMESPACE_ID: before}
    gate.as_agent(space)
    marks = {} if after is None else {labels.NAMESPACE_ID: after}
    changed = a_namespace(name, {**MADE, "team": "blue"})
    changed["metadata"]["annotations"] = marks
    answer = gate.said(changed, "replace")
    assert ("ForbiddenField: roadstead.dev/namespace-id" in answer) is is_denied, answer
    assert ("replaced" in answer) is not is_denied, answer


@pytest.mark.parametrize("queue", ["real", None])
def test_no_queue_gets_a_job_once_consent_is_withdrawn(gate: Gate, queue: str | None) -> None:
    """An unstarted Job is in a queue that does not exist; a queue manager could start it elsewhere."""
    name = f"queue-{queue}".lower()
    gate.plane.create(a_namespace(name, {labels.ACCEPT: HUB}))
    job = marked(a_job(name))
    job["metadata"]["labels"] |= {labels.QUEUE_NAME: labels.NO_QUEUE}
    gate.as_agent(job)
    gate.plane.kubectl("label", "namespace", name, f"{labels.ACCEPT}-")
    given = f"{labels.QUEUE_NAME}-" if queue is None else f"{labels.QUEUE_NAME}={queue}"
    at = ("label", "job", "mine", "-n", name, given, "--overwrite", "--dry-run=server")
    with pytest.raises(PlaneError, match=DENIED):
        gate.plane.kubectl(*at, kubeconfig=gate.account)


@pytest.mark.parametrize(
    ("change", "is_denied"),
    [
        ('{"spec": {"template": {"spec": {"nodeSelector": {"zone": "a"}}}}}', True),
        ('{"metadata": {"annotations": {"roadstead.dev/consent-withdrawn": "true"}}}', False),
    ],
    ids=["other pods", "a note"],
)
def test_a_suspended_job_gets_no_other_pods_once_consent_is_withdrawn(
    gate: Gate, change: str, is_denied: bool
) -> None:
    """Kubernetes allows other pods while the Job is suspended; the agent may only mark its withdrawal."""
    name = "other-pods" if is_denied else "a-note"
    gate.plane.create(a_namespace(name, {labels.ACCEPT: HUB}))
    gate.as_agent(marked(a_job(name)))
    gate.plane.kubectl("label", "namespace", name, f"{labels.ACCEPT}-")
    at = ("patch", "job", "mine", "-n", name, "--type=merge", "-p", change, "--dry-run=server")
    if is_denied:
        with pytest.raises(PlaneError, match=DENIED):
            gate.plane.kubectl(*at, kubeconfig=gate.account)
    else:
        assert "patched" in gate.plane.kubectl(*at, kubeconfig=gate.account)


def test_a_release_changes_nothing_but_our_marks(gate: Gate) -> None:
    """The request that removes the mark is the agent's last one: it brings no other data."""
    name = "released"
    gate.plane.create(a_namespace(name, {labels.ACCEPT: HUB}))
    gate.as_agent(marked(a_secret(name)))
    gate.plane.kubectl("label", "namespace", name, f"{labels.ACCEPT}-")
    off = '"metadata": {"labels": {"roadstead.dev/managed-by": null}}'
    at = ("patch", "secret", "mine", "-n", name, "--type=merge", "--dry-run=server", "-p")
    changed = f'{{{off}, "data": {{"a": "MQ=="}}}}'
    with pytest.raises(PlaneError, match="changes nothing but Roadstead's marks"):
        gate.plane.kubectl(*at, changed, kubeconfig=gate.account)
    assert "patched" in gate.plane.kubectl(*at, f"{{{off}}}", kubeconfig=gate.account)


def test_a_job_tells_by_its_generation_whether_it_was_unsuspended(gate: Gate) -> None:
    """It proves that a Job only waited: a deletion raises the generation too, an annotation does not."""
    plane, name = gate.plane, "counted"
    plane.create(a_namespace(name, {labels.ACCEPT: HUB}))
    job = marked(a_job(name))
    job["metadata"]["finalizers"] = [labels.MEMBER_FINALIZER]
    gate.as_agent(job)
    at = ("job", "mine", "-n", name)

    def generation() -> int:
        return int(plane.kubectl("get", *at, "-o", "jsonpath={.metadata.generation}"))

    plane.kubectl("annotate", *at, f"{labels.CONSENT_WITHDRAWN}=true")
    found = [generation()]
    for suspend in ("false", "true"):
        change = f'{{"spec": {{"suspend": {suspend}}}}}'
        plane.kubectl("patch", *at, "--type=merge", "-p", change)
        found.append(generation())
    plane.kubectl("delete", *at, "--wait=false")
    assert [*found, generation()] == [1, 2, 3, 4]
