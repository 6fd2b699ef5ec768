"""The hub cluster's policies judge the stored Job: nothing that a request brings opens the way for it.

A real API server gets the same requests in `tests/realkube/test_gates.py`.
"""

from typing import Any

import pytest

from shared.kubesim.server import job_guard, kind_guard, mirror_guard, queue_guard
from tests import manifests
from tests.deploy.policies import HUB_ACCOUNT, JOB_GUARD, MIRROR_GUARD, refusals

Json = dict[str, Any]
QUEUED = {"kueue.x-k8s.io/queue-name": "main"}
ENDING: Json = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def job(labels: Json | None = None, spec: Json | None = None, **metadata: Any) -> Json:
    template = {"spec": {"containers": [{"name": "main", "image": "example.test/job"}]}}
    return {
        "metadata": {"name": "train", "namespace": "team", "labels": labels or {}, **metadata},
        "spec": {"suspend": True, "template": template, **(spec or {})},
    }


OURS = {"managedBy": "roadstead.dev/hub"}


def test_a_deletion_that_the_request_claims_does_not_free_a_job_of_its_queue() -> None:
    """A server-side apply may bring `deletionTimestamp`; the stored Job decides."""
    old = job(QUEUED, OURS)
    claimed = job({}, OURS, **ENDING)
    assert refusals(JOB_GUARD, "roadstead-queues", claimed, old) == [queue_guard.KEEPS]
    deleted = job(QUEUED, OURS, **ENDING)
    assert refusals(JOB_GUARD, "roadstead-queues", claimed, deleted) == []


def owned(version: str, kind: str) -> Json:
    owner = {"apiVersion": version, "kind": kind, "name": "c", "uid": "u", "controller": True}
    return {"ownerReferences": [owner]}


OWNED = owned("batch/v1", "CronJob")
MANAGED_NAMESPACE = {"kueue.x-k8s.io/managed-namespace": "true"}


@pytest.mark.parametrize("manager", ["kubernetes.io/job-controller", "example.com/another"])
@pytest.mark.parametrize("suspend", [True, False])
def test_no_other_manager_runs_a_job_of_roadstead(manager: str, suspend: bool) -> None:
    """The cluster's own controller has a name too: a Job that writes it would run there."""
    spec = {"managedBy": manager, "suspend": suspend}
    refused = [job_guard.UNMARKED]
    assert refusals(JOB_GUARD, "roadstead-jobs", job(QUEUED, spec)) == refused
    assert refusals(JOB_GUARD, "roadstead-jobs", job(annotations=QUEUED, spec=spec)) == refused
    made = job(spec=spec)
    told = refusals(JOB_GUARD, "roadstead-jobs", made, namespace_labels=MANAGED_NAMESPACE)
    assert told == refused
    assert refusals(JOB_GUARD, "roadstead-jobs", job(spec=spec)) == []
    stored = job(QUEUED, {"managedBy": manager})
    started = job(QUEUED, {"managedBy": manager, "suspend": False})
    assert refusals(JOB_GUARD, "roadstead-jobs", started, stored) == [job_guard.STARTED]


@pytest.mark.parametrize(
    ("owner", "may", "counts"),
    [
        (owned("batch/v1", "CronJob"), True, True),
        (owned("jobset.x-k8s.io/v1alpha2", "JobSet"), True, True),
        (owned("jobset.x-k8s.io/v1alpha2", "JobSet"), False, False),
        (owned("example.com/v1", "Bogus"), False, False),
        (owned("batch/v1", "Job"), True, False),
        (owned("kueue.x-k8s.io/v1beta2", "LocalQueue"), True, False),
    ],
)
@pytest.mark.parametrize("suspend", [True, False])
def test_an_owner_counts_only_where_its_creator_may_change_it(
    owner: Json, may: bool, counts: bool, suspend: bool
) -> None:
    """Controllers' Jobs run on the hub cluster; a submitter could name any owner."""
    made = job(QUEUED, {"suspend": suspend}, **owner)
    told = refusals(JOB_GUARD, "roadstead-jobs", made, may=may)
    assert (job_guard.NO_OWNER in told) is not counts
    assert (job_guard.UNMARKED in told) is not (counts or suspend)
    assert refusals(JOB_GUARD, "roadstead-jobs", job(**owner), may=may) == []
    told = refusals(
        JOB_GUARD, "roadstead-jobs", job(**owner), may=may, namespace_labels=MANAGED_NAMESPACE
    )
    assert (told == []) is counts


def by(name: str) -> Json:
    return {"annotations": {"roadstead.dev/submitted-by": name}}


@pytest.mark.parametrize("queued", [job(QUEUED), job(annotations=QUEUED)])
def test_who_gives_a_job_its_queue_submits_it(queued: Json) -> None:
    """Ana's Job becomes Roadstead's by Bob: it is not hers. One that is Roadstead's already stays hers."""
    submitted = "roadstead-submitted-by"
    notes = queued["metadata"].get("annotations", {})
    stored = job(**by("ana"))

    def says(name: str) -> Json:
        given = {"annotations": {**notes, **by(name)["annotations"]}}
        return {**queued, "metadata": {**queued["metadata"], **given}}

    assert refusals(JOB_GUARD, submitted, says("ana"), stored, user="bob")
    assert refusals(JOB_GUARD, submitted, says("bob"), stored, user="bob") == []
    assert refusals(JOB_GUARD, submitted, says("ana"), stored, user="ana") == []
    ours = {**stored, "spec": {**stored["spec"], **OURS}}
    assert refusals(JOB_GUARD, submitted, says("ana"), ours, user="bob") == []
    assert refusals(JOB_GUARD, submitted, says("bob"), ours, user="bob")


HELD: Json = {"finalizers": ["roadstead.dev/hub"]}
HOSTILE: Json = {"finalizers": ["example.com/never"]}
FLOOD: Json = {"labels": {f"k{number}": "v" for number in range(17_000)}}


def with_template(given: Json, metadata: Json) -> Json:
    """The Job, with that metadata in its pod template."""
    template = {**given["spec"]["template"], "metadata": metadata}
    return {**given, "spec": {**given["spec"], "template": template}}


def test_no_controller_is_written_into_a_job_of_roadstead() -> None:
    """The request after it would find a Job that a controller owns, and start it on the hub cluster."""
    old = job(QUEUED)
    assert refusals(JOB_GUARD, "roadstead-jobs", job(QUEUED, **OWNED), old) == [
        job_guard.NO_CONTROLLER
    ]
    selected = refusals(
        JOB_GUARD, "roadstead-jobs", job(**OWNED), job(), namespace_labels=MANAGED_NAMESPACE
    )
    assert selected == [job_guard.NO_CONTROLLER]
    assert refusals(JOB_GUARD, "roadstead-jobs", job(**OWNED), job()) == []


@pytest.mark.parametrize(
    "stored",
    [
        job(QUEUED, OURS),
        job(QUEUED, {"managedBy": "kueue.x-k8s.io/multikueue"}),
        job(QUEUED),  # where spec.managedBy is not known, once the hub's finalizer was taken off
        job(QUEUED, {"suspend": False}, **HELD),
    ],
)
@pytest.mark.parametrize("annotation", [None, {"kueue.x-k8s.io/queue-name": ""}])
def test_each_job_of_roadstead_keeps_its_queue(stored: Json, annotation: Json | None) -> None:
    """By every way to become Roadstead's, and with every replacement of the label."""
    metadata = {k: v for k, v in stored["metadata"].items() if k != "labels"}
    changed = {**stored, "metadata": {**metadata, "annotations": annotation or {}}}
    assert refusals(JOB_GUARD, "roadstead-queues", changed, stored) == [queue_guard.KEEPS]


@pytest.mark.parametrize("becomes", [{"labels": QUEUED}, {"annotations": QUEUED}, HELD])
def test_a_job_that_becomes_roadsteads_is_judged_whole(becomes: Json) -> None:
    """A template written before the Job had a queue does not pass with the queue."""
    hostile, flooded = with_template(job(), HOSTILE), with_template(job(), FLOOD)
    for policy, stored in (("roadstead-pod-templates", hostile), ("roadstead-labels", flooded)):
        assert refusals(JOB_GUARD, policy, stored) == []
        changed = {**stored, "metadata": {**stored["metadata"], **becomes}}
        assert len(refusals(JOB_GUARD, policy, changed, stored)) == 1
        assert refusals(JOB_GUARD, policy, changed, changed) == []


@pytest.mark.parametrize(
    ("given", "namespace"),
    [
        (job(spec={"managedBy": "kueue.x-k8s.io/multikueue"}), {}),
        (job(), {"kueue.x-k8s.io/managed-namespace": "true"}),
    ],
)
def test_every_job_of_roadstead_is_judged_when_it_is_created(given: Json, namespace: Json) -> None:
    """Also with MultiKueue's manager name, and in a namespace that makes every Job Roadstead's."""
    for policy, metadata in (("roadstead-pod-templates", HOSTILE), ("roadstead-labels", FLOOD)):
        made = with_template(given, metadata)
        assert len(refusals(JOB_GUARD, policy, made, namespace_labels=namespace)) == 1
        owned = {**made, "metadata": {**made["metadata"], **OWNED}}
        judged = refusals(JOB_GUARD, policy, owned, namespace_labels=namespace)
        assert bool(judged) is ("managedBy" in given["spec"])


@pytest.mark.parametrize(
    ("new", "old", "refused"),
    [
        (job(QUEUED), None, True),
        (job(QUEUED), job(), True),
        (job(QUEUED), job(QUEUED), False),  # from before the policy
        (job(annotations=QUEUED), None, True),
        (job(annotations=QUEUED), job(), True),
        (job(annotations=QUEUED), job(QUEUED), False),
        (job(annotations=QUEUED), job(annotations=QUEUED), False),
        (job(annotations={"kueue.x-k8s.io/queue-name": ""}), None, False),
        (job(annotations=QUEUED, **OWNED), None, False),
        (job({"kueue.x-k8s.io/queue-name": ""}), None, False),
        (job(), None, False),
        (job(QUEUED, **OWNED), None, False),
    ],
)
def test_what_runs_pods_and_is_no_job_gets_no_queue(
    new: Json, old: Json | None, refused: bool
) -> None:
    """The hub makes no workload of a Pod or a Deployment: in a queue it would wait for ever."""
    pod, was = {**new, "kind": "Pod"}, old and {**old, "kind": "Pod"}
    assert refusals(JOB_GUARD, "roadstead-kinds", pod, was) == [kind_guard.WAITS] * refused


def cron_job(template: Json | None = None) -> Json:
    """A CronJob whose Job template has these metadata."""
    given = {} if template is None else {"metadata": template}
    metadata = {"name": "nightly"}
    return {
        "kind": "CronJob",
        "metadata": metadata,
        "spec": {"jobTemplate": {**given, "spec": {}}},
    }


@pytest.mark.parametrize(
    ("new", "old", "refused"),
    [
        (cron_job({"labels": QUEUED}), None, True),
        (cron_job({"annotations": QUEUED}), None, True),
        (cron_job({"labels": QUEUED}), cron_job(), True),
        (cron_job({"labels": QUEUED}), cron_job({"labels": QUEUED}), False),
        (cron_job({"labels": {"team": "a"}}), None, False),
        (cron_job({}), None, False),
        (cron_job(), None, False),
    ],
)
def test_a_cron_job_whose_job_template_names_a_queue_is_refused(
    new: Json, old: Json | None, refused: bool
) -> None:
    """Its controller there would run it beside the hub: no field keeps that controller from it."""
    assert (
        refusals(JOB_GUARD, "roadstead-kinds", new, old) == [kind_guard.CRON_JOB_WAITS] * refused
    )


def test_the_simulated_hub_cluster_judges_the_same_kinds() -> None:
    """Groups and resources of the policy are those of its equivalent."""
    (spec,) = [
        each["spec"]
        for each in manifests.kept(JOB_GUARD)
        if each["metadata"]["name"] == kind_guard.POLICY and "matchConstraints" in each["spec"]
    ]
    rules = spec["matchConstraints"]["resourceRules"]
    groups = [group for rule in rules if rule["resources"] == ["*"] for group in rule["apiGroups"]]
    keys = {
        f"{plural}.{group}".rstrip(".")
        for rule in rules
        for group in rule["apiGroups"]
        for plural in rule["resources"]
        if plural != "*"
    }
    assert tuple(groups) == kind_guard.GROUPS
    assert keys == set(kind_guard.KEYS)


FOREIGN = job()
SHOWN = job({"roadstead.dev/origin": "rest"})


@pytest.mark.parametrize("changed", [None, job(**HELD), job({"roadstead.dev/origin": "rest"})])
def test_the_hub_leaves_jobs_alone_that_are_not_roadsteads(changed: Json | None) -> None:
    """The policy denies both: to mark such a Job first, and to delete it at once."""
    found = refusals(MIRROR_GUARD, "roadstead-hub-account", changed, FOREIGN, user=HUB_ACCOUNT)
    assert found == [mirror_guard.NOT_CHANGED]


@pytest.mark.parametrize("stored", [job(QUEUED), job(spec=OURS), job(**HELD), SHOWN])
def test_the_hub_starts_no_job_there(stored: Json) -> None:
    """It changes and deletes Jobs of Roadstead; none of them is started."""

    def asked(changed: Json | None) -> list[str]:
        return refusals(MIRROR_GUARD, "roadstead-hub-account", changed, stored, user=HUB_ACCOUNT)

    started = {**stored, "spec": {**stored["spec"], "suspend": False}}
    assert asked(started) == [mirror_guard.NOT_STARTED]
    assert asked(stored) == []
    assert asked(None) == []


LABELLED = {"metadata": {"name": "team", "labels": MANAGED_NAMESPACE}}
UNLABELLED: Json = {"metadata": {"name": "team", "labels": {}}}


def test_the_hub_makes_no_jobs_its_own_by_their_namespace() -> None:
    """The label of a Namespace makes every Job in it Roadstead's: people write it."""
    policy = "roadstead-hub-namespaces"
    assert len(refusals(MIRROR_GUARD, policy, LABELLED, UNLABELLED, user=HUB_ACCOUNT)) == 1
    assert refusals(MIRROR_GUARD, policy, LABELLED, LABELLED, user=HUB_ACCOUNT) == []
    assert refusals(MIRROR_GUARD, policy, LABELLED, UNLABELLED) == []


def test_a_job_that_a_controller_owns_is_not_roadsteads_by_its_queue() -> None:
    """Neither the queue's name nor the namespace gives the hub's account access."""
    stored = job(QUEUED, **OWNED)
    found = refusals(
        MIRROR_GUARD,
        "roadstead-hub-account",
        stored,
        stored,
        user=HUB_ACCOUNT,
        namespace_labels=MANAGED_NAMESPACE,
    )
    assert found == [mirror_guard.NOT_CHANGED]
