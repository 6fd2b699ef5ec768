"""What becomes of a manifest on its way in: everything of the draft, and by which level it is judged."""

import datetime as dt
from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.domain.workloads.demand import CLUSTER_SELECTOR
from hub.domain.workloads.origin import Origin
from hub.services.reading.draft import Draft, draft
from hub.services.reading.pod_security import Gatekeeper
from hub.store import objects
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.kinds.parsed import Parsed
from shared.kinds.registry import parse
from shared.podsecurity import Rules
from shared.podsecurity.rules import ENFORCE
from shared.secrecy import LAST_APPLIED
from tests.store.build import START, an_object, opened

MADE = START - dt.timedelta(days=1)
OWNER = {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}
OWNERS = [OWNER | {"controller": True}, OWNER | {"name": "y"}]
WRITTEN = {"uid": "u", "resourceVersion": "7", "generation": 3, "creationTimestamp": "t"}
WRITTEN |= {"managedFields": [], "ownerReferences": OWNERS}
POD = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
QUEUE = "kueue.x-k8s.io/queue-name"


def stored(manifest: Any) -> Parsed:
    """As an API server gives it."""
    return parse(manifest, strict=False, origin="hub-cluster")


def a_manifest(kind: str, version: str, spec: Any, **metadata: Any) -> dict[str, Any]:
    found = {"apiVersion": version, "kind": kind, "metadata": {"name": "n", **metadata}}
    return found | ({} if spec is None else {"spec": spec})


def a_job(pod: Any = None, **metadata: Any) -> dict[str, Any]:
    spec = {"template": {"spec": {**POD, **(pod or {})}}}
    return a_manifest("Job", "batch/v1", spec, **{"namespace": "team-a"} | metadata)


def a_bare(pod: Any = None, queue: str = "q", **metadata: Any) -> dict[str, Any]:
    pod_set = {"name": "main", "count": 1, "template": {"spec": {**POD, **(pod or {})}}}
    spec: dict[str, Any] = {"podSets": [pod_set]} | ({"queueName": queue} if queue else {})
    found = a_manifest("Workload", "kueue.x-k8s.io/v1beta2", spec, **metadata)
    found["metadata"].setdefault("namespace", "team-a")
    return found


def a_map(**metadata: Any) -> dict[str, Any]:
    return a_manifest("ConfigMap", "v1", None, namespace="team-a", **metadata) | {"data": {}}


@pytest.mark.parametrize(("make", "owners"), [(a_job, []), (a_bare, OWNERS), (a_map, OWNERS[:1])])
def test_a_draft_is_what_was_sent_without_what_servers_write(make: Any, owners: Any) -> None:
    """Labels and annotations stay; of owners those that matter; the same content has the same hash."""
    given = {"labels": {"a": "1"}, "annotations": {"b": "2"}}
    sent = make(**given) | {"status": {"x": 1}}
    sent["metadata"] |= WRITTEN
    sent["metadata"]["annotations"] = {LAST_APPLIED: "{}", "b": "2"}
    parsed = stored(sent)
    found = draft(parsed, START, origin=Origin.HUB_CLUSTER, uid="given", created_at=MADE, index=4)
    manifest = make(**given)
    if owners:
        manifest["metadata"]["ownerReferences"] = owners
    again = draft(stored(manifest), START)
    assert found == Draft(
        parsed=parsed,
        manifest=manifest,
        body=orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS),
        hash=again.hash,
        name="n",
        uid="given",
        origin=Origin.HUB_CLUSTER,
        created_at=MADE,
        index=4,
    )
    assert (again.origin, again.created_at, again.index) == (Origin.REST, None, 0)
    assert again.uid not in ("", draft(parsed, START).uid)
    other = draft(parse(make(labels={"a": "2"})), START)
    assert other.hash != found.hash


def test_a_draft_without_a_name_gets_one_of_its_own() -> None:
    """After its prefix, and the manifest bears it."""
    sent = a_job()
    del sent["metadata"]["name"]
    sent["metadata"]["generateName"] = "run-"
    one, two = (draft(parse(sent), START) for _ in range(2))
    assert one.name != two.name
    for each in (one, two):
        assert each.name.startswith("run-")
        assert len(each.name) > len("run-")
        assert each.manifest["metadata"] == {"name": each.name, "namespace": "team-a"}


@pytest.mark.parametrize(
    ("manifest", "queue", "job", "bare"),
    [
        (a_job(), "", True, False),
        (a_job(labels={QUEUE: "l"}, annotations={QUEUE: "a"}), "l", True, False),
        (a_job(annotations={QUEUE: "a"}), "a", True, False),
        (a_bare(), "q", False, True),
        (a_bare(queue="", labels={QUEUE: "l"}), "", False, False),
        (a_bare(ownerReferences=OWNERS[1:]), "q", False, False),
        (a_map(labels={QUEUE: "l"}), "l", False, False),
        (a_manifest("Job", "other.io/v1", {}, namespace="team-a"), "", False, False),
    ],
)
def test_what_a_draft_is_and_which_queue_it_names(
    manifest: Any, queue: str, job: bool, bare: bool
) -> None:
    """A Job by its label before its annotation, a Workload by its spec; one with an owner is not bare."""
    found = draft(stored(manifest), START)
    assert (found.queue, found.is_job, found.is_bare) == (queue, job, bare)


def test_a_selector_that_can_not_be_read_is_refused_by_rest_alone() -> None:
    """With the annotation as field; what an API server has is taken, and waits."""
    parsed = parse(a_job(annotations={CLUSTER_SELECTOR: "a in ("}))
    assert draft(parsed, START, origin=Origin.HUB_CLUSTER).manifest == parsed.raw
    with pytest.raises(Rejected) as found:
        draft(parsed, START)
    assert (found.value.code, found.value.field) == (
        "InvalidSelector",
        f"metadata.annotations[{CLUSTER_SELECTOR}]",
    )


PRIVILEGED = {"hostNetwork": True}
RULES = Rules(level="privileged", levels="team-b=baseline", denied_namespaces="kube-*")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("manifest", "code"),
    [
        (a_job(PRIVILEGED, namespace="free"), None),
        (a_job(PRIVILEGED, namespace="team-b"), "PolicyViolation"),  # as the hub's rules have it
        (a_job(PRIVILEGED, namespace="team-a"), "PolicyViolation"),  # as its own label has it
        (a_job(PRIVILEGED, namespace="odd"), "PolicyViolation"),  # like Kubernetes: restricted
        (a_job(namespace="team-a"), None),
        (a_bare(PRIVILEGED), None),  # whoever made it runs it
        (a_bare(namespace="kube-system"), "NamespaceNotAllowed"),
        (a_job(PRIVILEGED, namespace="kube-system"), "NamespaceNotAllowed"),
        (a_manifest("Namespace", "v1", None, labels={ENFORCE: "baseline"}), None),
        (a_manifest("Namespace", "v1", None, labels={ENFORCE: "strict"}), "UnsupportedValue"),
        (a_manifest("ClusterRole", "rbac.authorization.k8s.io/v1", None,
                    labels={ENFORCE: "strict"}), None),
    ],
)  # fmt: skip
async def test_pods_are_judged_by_the_level_of_their_namespace(
    tmp_path: Path, manifest: Any, code: str | None
):
    """By its label, else by the hub's rule of it, else by the hub's level; each in one transaction."""
    async with opened(tmp_path) as db:

        def judge(tx: Transaction) -> None:
            for name, level in (("team-a", "baseline"), ("odd", "misspelt")):
                labels = {ENFORCE: level}
                objects.add(tx, an_object(name, kind="Namespace", namespace="", labels=labels))
            objects.add(tx, an_object("free", kind="Namespace", namespace=""))
            gate = Gatekeeper(tx, RULES)
            gate.require(draft(parse(a_job(PRIVILEGED, namespace="free")), START))
            given = draft(parse(manifest), START)
            found = gate.refuse(given)
            assert (found and found.code) == code
            if found is not None:
                with pytest.raises(Rejected) as raised:
                    gate.require(given)
                assert (raised.value.code, raised.value.field) == (found.code, found.field)

        await db.write(judge)


def test_what_a_clusters_controllers_note_declares_nothing():
    """The count of a Deployment's revisions changes after each change: it makes no second revision here."""
    counted = {"deployment.kubernetes.io/revision": "2"}
    first, second = (
        draft(stored(a_manifest("Deployment", "apps/v1", {}, annotations=given)), START)
        for given in ({"team": "a"}, {"team": "a"} | counted)
    )
    assert second.manifest["metadata"]["annotations"] == {"team": "a"}
    assert second.hash == first.hash
