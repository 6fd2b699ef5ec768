"""Questions for logs and pods that name a Job of others: the agent reports nothing of that Job."""

import pytest

from agent.decide.member_policy import MemberPolicy
from agent.objects.pods import job_owner
from tests import waiting
from tests.agent.scripted_hub import a_job, a_job_manifest

pytestmark = pytest.mark.anyio
SECRET = "quota of salaries-2026 is exceeded"


async def event_of(member, obj):
    """Kubernetes writes an event about an object."""
    metadata = obj["metadata"]
    about = {key: metadata[key] for key in ("name", "namespace", "uid")}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": "e-", "namespace": metadata["namespace"]},
        "involvedObject": {"apiVersion": "batch/v1", "kind": "Job", **about},
        "type": "Warning",
        "reason": "FailedCreate",
        "message": SECRET,
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    await member.kube.create(event, field_manager="job-controller")


async def a_job_of_people(member, name="payroll", namespace="finance", uid="none"):
    """People create a Job with the labels and the environment of work `uid`; it has pods and events."""
    manifest = a_job_manifest(name, namespace, uid=uid, run_seconds="300")
    made = await member.kube.create(manifest, field_manager="people")
    await event_of(member, made)
    await waiting.eventually(lambda: pods_of(member, made))
    return made


def pods_of(member, job):
    return [
        pod["metadata"]["name"]
        for pod in member.cluster.store.list("pods", job["metadata"]["namespace"])
        if job_owner(pod["metadata"]) == job["metadata"]["uid"]
    ]


async def answer(member, what, **asked):
    """The whole answer to a question."""
    stream = member.hub.streams.ask(what, **asked)
    await member.hub.streams.ended(stream)
    return [part.model_dump() for part in member.hub.streams.parts[stream]]


@pytest.mark.parametrize("logs", ["on", "off"])
@pytest.mark.parametrize("what", ["logs", "pods", "last"])
@pytest.mark.parametrize("uid", ["none", "other"])
async def test_a_job_of_people_is_as_if_it_were_absent(member, what, logs, uid):
    """The answer is that of an absent Job; copied labels and environment change nothing."""
    await member.namespace("finance", accept=False)
    await a_job_of_people(member)
    member.start(policy=MemberPolicy(logs=logs))
    asked = {"uid": uid, "namespace": "finance"}
    there = await answer(member, what, name="payroll", **asked)
    assert there == await answer(member, what, name="absent", **asked)
    assert SECRET not in str(there)


async def test_failed_pods_of_people_are_not_told(member):
    """A Job and a pod of people with a work's labels fail: the report has only the pods of the work."""
    member.start(policy=MemberPolicy(logs="on"))
    fails = {"sim.roadstead.dev/exit-code": "3", "sim.roadstead.dev/log-lines": SECRET}
    copy = a_job_manifest("copy", "team", uid="u-1", annotations=fails, backoffLimit=0)
    member.hub.put(a_job(run_seconds="1", annotations=fails, backoffLimit=0))
    await waiting.eventually(lambda: member.cluster.store.get("jobs.batch", "team", "job"))
    made = await member.kube.create(copy, field_manager="people")
    alone = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**copy["spec"]["template"]["metadata"], "name": "alone", "namespace": "team"},
        "spec": copy["spec"]["template"]["spec"],
    }
    await member.kube.create(alone, field_manager="people")
    await waiting.eventually(lambda: ended(member, *pods_of(member, made), "alone"))
    told = await waiting.eventually(lambda: member.hub.streams.failed)
    job = member.cluster.store.get("jobs.batch", "team", "job")
    assert {each.pod.name for each in told} == set(pods_of(member, job))


def ended(member, *names):
    """Tell if at least two pods are named, and all of these have failed."""
    pods = [member.cluster.store.get("pods", "team", name) for name in names]
    return len(pods) > 1 and all(pod["status"].get("phase") == "Failed" for pod in pods)


async def test_followed_logs_of_people_end_at_once(member):
    """The agent does not wait for pods of a foreign Job."""
    await a_job_of_people(member, "job", "team", "u-1")
    member.start(policy=MemberPolicy(logs="on"))
    stream = member.hub.streams.ask(follow=True)
    assert await member.hub.streams.ended(stream) == "PodsRemoved"


async def finished_and_removed(member):
    """Work u-1 ran as team/job, and its Job is deleted."""
    member.hub.put(a_job())
    await member.hub.finished("u-1")
    first = await member.job()
    told = await answer(member, "pods")
    member.hub.put(a_job(action="Withdraw"))
    await member.absent()
    return first, told


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_later_job_of_the_same_name_is_not_in_the_answer(member, restarted):
    """Once the Job of a work is deleted, only its own events remain; a restarted agent reports no events."""
    member.start(policy=MemberPolicy(logs="on"))
    _, told = await finished_and_removed(member)
    if restarted:
        await member.stop()
        member.start(policy=MemberPolicy(logs="on"))
    member.hub.put(a_job("u-2", run_seconds="300"))
    later = await waiting.eventually(lambda: member.cluster.store.get("jobs.batch", "team", "job"))
    await event_of(member, later)
    (name, *_) = await waiting.eventually(lambda: pods_of(member, later))
    (own,) = await answer(member, "pods", uid="u-1")
    assert own["pods"] == []
    assert SECRET not in str(own)
    assert name not in str(own)
    assert bool(own["events"]) is not restarted
    assert all(
        event in told[0]["events"] or event["about"] == "Job/job" for event in own["events"]
    )
    (theirs,) = await answer(member, "pods", uid="u-2")
    assert SECRET in str(theirs)
    assert [pod["name"] for pod in theirs["pods"]] == [name]


async def test_pods_of_a_copy_are_not_those_of_the_job(member):
    """Pods of a running Job's copy have the labels, and the report omits them."""
    member.start(policy=MemberPolicy(logs="on"))
    member.hub.put(a_job(run_seconds="300"))
    job = await waiting.eventually(lambda: member.cluster.store.get("jobs.batch", "team", "job"))
    own = await waiting.eventually(lambda: pods_of(member, job))
    await a_job_of_people(member, "copy", "team", "u-1")
    (told,) = await answer(member, "pods")
    assert [pod["name"] for pod in told["pods"]] == own
    assert SECRET not in str(told)
