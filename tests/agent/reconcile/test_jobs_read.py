"""A session says that it has read all its Jobs only once a list past the caches proves it."""

import pytest

from agent.member.observer import KindKey
from agent.objects.holds import JOB
from agent.reconcile.jobs_read import AGAIN_S
from shared import labels
from shared.kubesim.operators.definitions import operator_crds
from tests.agent.scripted_hub import HUB_ID
from tests.agent.sessions import JOB_SET, SETTLED_S, Session, a_job, an_entry

pytestmark = pytest.mark.anyio


async def test_nothing_is_read_while_an_earlier_session_may_start_jobs(member):
    """A list that began before then may miss a Job that such a session starts."""
    session = Session(member.kube)
    await session.read.look()
    assert not session.read.done
    session.clock.advance(SETTLED_S)
    await session.read.look()
    assert session.read.done
    assert session.news == 1


async def test_a_job_that_the_report_lacks_keeps_the_session_from_saying_so(member):
    """The cache is behind the list: the session waits until the Job is reported."""
    await member.kube.create(a_job(), field_manager="test")
    session = Session(member.kube)
    session.clock.advance(SETTLED_S)
    await session.read.look()
    assert not session.read.done
    session.reported["u-1"] = an_entry("Gone")
    await session.read.look()
    assert not session.read.done, "an end of another epoch is no report of this Job"
    session.reported["u-1"] = an_entry("Applied")
    await session.read.look()
    assert session.read.done


async def test_an_api_server_that_does_not_answer_proves_nothing(member):
    """A refused list is retried; the session says nothing meanwhile."""
    session = Session(member.kube)
    session.clock.advance(SETTLED_S)
    member.cluster.faults.add("503", verb="list", resource="jobs", count=0)
    await session.read.look()
    assert not session.read.done


RAY_JOB: KindKey = ("ray.io/v1", "RayJob")
CRON_JOB = "batch/v1/CronJob"


def with_operators(member) -> None:
    """Have the member serve the kinds of operators."""
    for crd in operator_crds():
        member.cluster.store.create("customresourcedefinitions.apiextensions.k8s.io", crd)


async def test_a_kind_that_is_refused_is_named_and_keeps_no_other_from_being_read(member):
    """It is listed again after a while, as rights may be granted."""
    with_operators(member)
    session = Session(member.kube, kinds=(JOB, JOB_SET, RAY_JOB))
    session.clock.advance(SETTLED_S)
    member.cluster.faults.add("forbid", verb="list", resource="jobsets", count=1)
    await session.read.look()
    await session.read.look()
    assert session.read.told() == {
        "jobs_read": False,
        "kinds_unread": ["/".join(JOB_SET)],
    }
    session.clock.advance(AGAIN_S)
    await session.read.look()
    assert session.read.told() == {"jobs_read": True, "kinds_unread": []}


async def test_a_kind_that_the_member_does_not_serve_has_no_objects(member):
    """The API server says so when it is asked for the list."""
    session = Session(member.kube, kinds=(JOB, JOB_SET))
    session.clock.advance(SETTLED_S)
    await session.read.look()
    assert session.read.done


async def test_a_kind_that_is_told_later_is_unread(member):
    """A definition of an administrator: what was read before proves nothing of it."""
    with_operators(member)
    session = Session(member.kube)
    session.clock.advance(SETTLED_S)
    await session.read.look()
    session.kinds = None
    assert session.read.told() == {"jobs_read": False, "kinds_unread": None}
    session.kinds = [JOB, JOB_SET]
    assert session.read.told()["kinds_unread"] == ["/".join(JOB_SET)]
    await session.read.look()
    assert session.read.done


@pytest.mark.parametrize("places", [False, True])
async def test_cron_jobs_are_read_whatever_the_profile(member, places):
    """An agent of another profile may have placed one before: after a restore silence proves nothing."""
    session = Session(member.kube, places=places)
    session.clock.advance(SETTLED_S)
    await session.read.look()
    assert session.read.told() == {"jobs_read": True, "kinds_unread": []}


@pytest.mark.parametrize("places", [False, True])
async def test_a_placed_cron_job_that_the_report_lacks_leaves_cron_jobs_unread(member, places):
    """An earlier session created it, and the caches do not have it yet; an agent of jobs never has it."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    marks = {labels.MANAGED_BY: HUB_ID, labels.CREATED_BY: HUB_ID, labels.JOB_UID: "u-1"}
    made = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "team", "labels": marks},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}},
    }
    await member.kube.create(made, field_manager=labels.FIELD_MANAGER)
    session = Session(member.kube, places=places)
    session.clock.advance(SETTLED_S)
    await session.read.look()
    assert session.read.told() == {"jobs_read": True, "kinds_unread": [CRON_JOB]}
    session.reported["u-1"] = an_entry("Applied")
    session.clock.advance(AGAIN_S)
    await session.read.look()
    assert session.read.told() == {"jobs_read": True, "kinds_unread": []}


def a_pod(uid: str = "u-1") -> dict[str, object]:
    """A pod of a job whose object a person has deleted alone, and without its finalizer."""
    marks = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: uid, labels.EPOCH: "1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{uid}-0", "namespace": "team", "labels": marks},
        "spec": {"containers": [{"name": "main", "image": "busybox"}]},
    }


@pytest.mark.parametrize("ends", [True, False])
async def test_a_living_pod_of_a_job_that_the_report_lacks_leaves_all_kinds_unread(member, ends):
    """A person took the Job away alone: the member still runs it, until its pod has ended or is gone."""
    await member.kube.create(a_pod(), field_manager="test")
    session = Session(member.kube, kinds=(JOB, JOB_SET))
    session.clock.advance(SETTLED_S)
    await session.read.look()
    told = session.read.told()
    assert not told["jobs_read"]
    assert told["kinds_unread"] == ["/".join(JOB), "/".join(JOB_SET)]  # a CronJob has no such pods
    at = "v1", "Pod", "team", "u-1-0"
    if ends:
        over = {"status": {"phase": "Failed"}}
        await member.kube.merge_patch(*at, over, field_manager="test", subresource="status")
    else:
        await member.kube.delete(*at, grace_s=0)
    await session.read.look()
    assert session.read.done


async def test_a_living_pod_of_a_job_in_the_report_is_no_doubt(member):
    """The agent reports its job to the hub."""
    await member.kube.create(a_pod(), field_manager="test")
    session = Session(member.kube)
    session.reported["u-1"] = an_entry("Applied")
    session.clock.advance(SETTLED_S)
    await session.read.look()
    assert session.read.done


async def test_pods_are_looked_for_again_when_the_report_loses_a_job_without_its_end(member):
    """It was taken away after the session had read it all."""
    await member.kube.create(a_pod(), field_manager="test")
    session = Session(member.kube)
    session.reported["u-1"] = an_entry("Applied")
    session.clock.advance(SETTLED_S)
    await session.read.look()
    session.read.leaves("u-1")
    del session.reported["u-1"]
    assert not session.read.done
    await session.read.look()
    assert not session.read.done
