"""A hub cluster marks Jobs as the hub's, so that its own Job controller leaves them alone."""

import time
from collections.abc import Iterator

import pytest

from shared import labels
from tests.kubesim.server.build import a_job
from tests.kubesim.server.kube import Kube
from tests.kubesim.simulated.conftest import Process

QUEUED = {"labels": {labels.QUEUE_NAME: "queue"}}


@pytest.fixture(scope="module")
def hub_process(tmp_path_factory) -> Iterator[Process]:
    process = Process(tmp_path_factory.mktemp("hub"), "--hub")
    yield process
    process.close()


@pytest.fixture
def hub(hub_process) -> Iterator[Kube]:
    kube = hub_process.kube()
    yield kube
    kube.http.delete(kube.url("jobs", propagationPolicy="Background"))


def managed_by(job):
    return job["spec"].get("managedBy")


@pytest.mark.parametrize("kind", ["labels", "annotations"])
def test_queued_jobs_are_the_hubs(hub, kind):
    """The queue name as a label or as an annotation sets managedBy."""
    job = hub.create("jobs", a_job(meta={kind: {labels.QUEUE_NAME: "queue"}}))
    assert managed_by(job) == labels.JOB_CONTROLLER


def test_so_are_all_others_of_the_people_who_use_it(hub):
    """Nothing but the hub runs Jobs of an embedded hub cluster."""
    assert managed_by(hub.create("jobs", a_job())) == labels.JOB_CONTROLLER


def test_jobs_of_the_system_are_not(hub_process):
    """Namespaces of Kubernetes itself are not selected."""
    system = hub_process.kube("kube-system")
    assert managed_by(system.create("jobs", a_job())) is None


def test_the_mark_survives_an_update(hub):
    """A write that leaves managedBy out keeps it."""
    job = hub.create("jobs", a_job(meta=QUEUED))
    spec = {name: value for name, value in job["spec"].items() if name != "managedBy"}
    reply = hub.put("jobs", {**job, "spec": {**spec, "backoffLimit": 2}})
    assert reply.status_code == 200, reply.text
    assert managed_by(reply.json()) == labels.JOB_CONTROLLER


def test_multikueue_jobs_are_left_as_they_are(hub):
    """A Job that MultiKueue manages keeps its managedBy."""
    job = hub.create("jobs", a_job(meta=QUEUED, managedBy=labels.MULTIKUEUE_CONTROLLER))
    assert managed_by(job) == labels.MULTIKUEUE_CONTROLLER


def test_who_waits_for_pods_is_told_what_to_type(hub):
    """`kubectl logs job/NAME` looks for the Job's pods, which are in a member: it ends at once."""
    job = hub.create("jobs", a_job(meta=QUEUED))
    told_to_be(hub, job, startTime="2026-05-01T00:00:00Z")
    assert f"type `roadstead logs {where_is(job)}`" in refused_pods(hub, job)


def test_a_job_that_waits_is_not_said_to_run(hub):
    """It has no pods anywhere: the answer says why it waits, in the hub's words."""
    job = hub.create("jobs", a_job(meta=QUEUED))
    assert "the hub has yet to place it; type `roadstead explain" in refused_pods(hub, job)
    waits = {
        "type": "Suspended",
        "status": "True",
        "reason": "WaitingForQuota",
        "message": "4 of 4",
    }
    told_to_be(hub, job, conditions=[waits])
    assert f"4 of 4; type `roadstead explain {where_is(job)}`" in refused_pods(hub, job)


def where_is(job):
    return f"{job['metadata']['namespace']}/{job['metadata']['name']}"


def told_to_be(hub, job, **status):
    """The hub writes this status."""
    url = f"{hub.url('jobs', job['metadata']['name'])}/status"
    kind = {"Content-Type": "application/merge-patch+json"}
    reply = hub.http.patch(url, json={"status": status}, headers=kind)
    assert reply.status_code == 200, reply.text


def refused_pods(hub, job):
    """The words for who waits for the Job's pods."""
    selector = f"batch.kubernetes.io/controller-uid={job['metadata']['uid']}"
    reply = hub.http.get(hub.url("pods", watch="1", labelSelector=selector))
    assert reply.status_code == 400
    return reply.json()["message"]


def test_jobs_of_a_controller_are_not(hub):
    """A Job with a controller owner belongs to that controller."""
    owner = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": "nightly",
        "uid": hub.create("configmaps", {"metadata": {"generateName": "owner-"}})["metadata"][
            "uid"
        ],
        "controller": True,
    }
    job = hub.create("jobs", a_job(meta={**QUEUED, "ownerReferences": [owner]}))
    assert managed_by(job) is None


def test_the_creator_does_not_own_the_mark(hub):
    """managedBy belongs to no field manager: applying the Job again keeps it."""
    job = a_job(meta=QUEUED)
    hub.apply("jobs", job, "one")
    again = hub.apply("jobs", job, "one")
    assert again.status_code == 200, again.text
    assert managed_by(again.json()) == labels.JOB_CONTROLLER


@pytest.mark.kubectl
def test_logs_of_a_job_that_runs_elsewhere_fail_at_once(hub):
    """kubectl would wait for a pod that never comes; it is told where to look."""
    told_to_be(hub, hub.create("jobs", a_job()), startTime="2026-05-01T00:00:00Z")
    began = time.monotonic()
    done = hub.run_kubectl("logs", "job/work")
    assert done.returncode != 0
    assert "it runs in a member cluster" in done.stderr
    assert time.monotonic() - began < 10


def submitter(job):
    return (job["metadata"].get("annotations") or {}).get(labels.SUBMITTED_BY)


def test_who_created_a_job_is_written_down_and_stays(hub):
    """As the API server knows them, whatever they say themselves; of Jobs that are not the hub's nothing."""
    forged = {**QUEUED, "annotations": {labels.SUBMITTED_BY: "olga"}}
    job = hub.create("jobs", a_job(meta=forged))
    assert submitter(job) == "kubernetes-admin"
    for said in ({labels.SUBMITTED_BY: "olga"}, {}):
        reply = hub.put("jobs", {**job, "metadata": {**job["metadata"], "annotations": said}})
        assert reply.status_code == 200, reply.text
        job = reply.json()
        assert submitter(job) == "kubernetes-admin"


def test_nobody_writes_anothers_name_on_jobs_that_are_not_the_hubs(hub_process):
    """There nothing is written down, and what is said is one's own name."""
    system = hub_process.kube("kube-system")
    assert submitter(system.create("jobs", a_job("unsigned"))) is None
    said = {"annotations": {labels.SUBMITTED_BY: "olga"}}
    reply = system.http.post(system.url("jobs"), json=a_job("forged", meta=said))
    assert reply.status_code == 422, reply.text
    assert "is who creates the Job" in reply.json()["message"]
