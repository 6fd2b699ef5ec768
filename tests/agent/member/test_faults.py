"""A member whose API server fails, hangs or forgets: nothing is lost, nothing runs twice."""

import pytest

from agent.member.refusals import refused
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.kubesim.cluster import SimCluster
from tests.agent.build import a_config_map, drifts_of, edit
from tests.agent.conftest import POOLS, Member
from tests.agent.scripted_hub import a_job, an_object

pytestmark = pytest.mark.anyio


@pytest.fixture
def jobs_made(member):
    """Names of every Job that is ever created in the member, in order."""
    made = []

    def note(event):
        if event.resource_key == "jobs.batch" and event.type == "ADDED":
            made.append(event.object["metadata"]["name"])

    member.cluster.store.subscribe(note)
    return made


@pytest.mark.parametrize("action", ["504-after", "drop-after"])
async def test_a_create_that_took_place_without_an_answer_is_adopted(member, jobs_made, action):
    """An unanswered POST is read back: the Job that it made is ours, and no second one is made."""
    member.cluster.faults.add(action, verb="create", resource="jobs")
    member.hub.put(a_job())
    member.start()
    await member.hub.finished("u-1")
    assert jobs_made == ["job"]


@pytest.mark.parametrize("action", ["503", "drop", "429", "500"])
async def test_a_create_that_did_not_take_place_is_tried_again(member, jobs_made, action):
    """A refused or cut POST is repeated until the Job is there, once."""
    member.cluster.faults.add(action, verb="create", resource="jobs", count=3)
    member.hub.put(a_job())
    member.start()
    await member.hub.finished("u-1")
    assert jobs_made == ["job"]


async def test_a_deletion_without_an_answer_is_completed(member):
    """A withdrawal whose DELETE is cut off ends in Gone all the same."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    member.cluster.faults.add("503", verb="delete", resource="jobs", count=2)
    member.cluster.faults.add("drop-after", verb="delete", resource="jobs")
    member.hub.put(a_job(action="Withdraw"))
    await member.hub.seen("u-1", "Gone")


async def test_a_watch_that_was_forgotten_is_made_good_by_listing(member):
    """410 on every watch loses no result."""
    member.hub.put(*(a_job(f"u-{n}", f"job-{n}", run_seconds="1") for n in range(5)))
    member.start()
    await member.hub.seen("u-0", "Applied")
    for _ in range(3):
        member.cluster.faults.add("compact")
        member.cluster.faults.add("cut")
    for number in range(5):
        await member.hub.finished(f"u-{number}")


async def test_an_apply_that_conflicts_for_a_moment_is_tried_again(member):
    """409 of a stale write is no name conflict: the object is there soon."""
    member.cluster.faults.add("409", verb="patch", resource="configmaps", count=2)
    member.hub.put(an_object(a_config_map(), "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")


async def test_a_hundred_jobs_survive_a_flaky_member(member, jobs_made):
    """Refusals, lost replies and cut watches among a hundred Jobs: each runs once and ends."""
    faults = member.cluster.faults
    faults.add("504-after", verb="create", resource="jobs", count=10)
    faults.add("503", verb="create", resource="jobs", count=10)
    faults.add("drop-after", verb="create", resource="jobs", count=10)
    member.hub.put(*(a_job(f"u-{n}", f"job-{n}", run_seconds="0.1") for n in range(100)))
    member.start()
    await member.hub.seen("u-50", "Applied", timeout_s=60)
    faults.add("cut")
    faults.add("compact")
    for number in range(100):
        await member.hub.finished(f"u-{number}")
    assert sorted(jobs_made) == sorted(f"job-{n}" for n in range(100))


async def test_drift_is_still_found_when_our_managed_fields_were_wiped(member):
    """Without our ownership entries a dry run tells what has drifted."""
    member.hub.put(an_object(a_config_map(), "o-1", when_to_apply="IfNotDrifted"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    wipe = {"metadata": {"managedFields": [{}]}, "data": {"colour": "blue"}}
    await edit(member, "ConfigMap", "settings", wipe)
    (drift,) = await member.hub.until(lambda hub: drifts_of(hub, "o-1")[:1])
    assert (drift.path, drift.member) == ("/data/colour", '"blue"')


async def test_a_restarted_api_server_is_followed_on(tmp_path):
    """The member's API server goes away and comes back: Jobs before and after end and are told."""
    cluster = SimCluster("member", pools=POOLS, data_dir=tmp_path / "data")
    await cluster.start()
    (tmp_path / "kubeconfig").write_text(cluster.kubeconfig_text())
    async with await KubeClient.connect(tmp_path / "kubeconfig") as kube:
        member = Member(tmp_path, cluster, kube)
        await member.namespace()
        member.hub.put(a_job("u-1", "one", run_seconds="2"))
        member.start()
        await member.hub.seen("u-1", "Applied")
        await cluster.stop()
        member.hub.put(a_job("u-2", "two"))
        again = SimCluster("member", pools=POOLS, data_dir=tmp_path / "data")
        await again.start()
        try:
            await member.hub.finished("u-1")
            await member.hub.finished("u-2")
        finally:
            await member.stop()
            await again.stop()


async def test_a_manifest_that_no_server_can_decode_is_refused_for_good(member):
    """The hub may then end the job: it would be refused in every other member, for ever."""
    work = a_job()
    claims = [{"name": "x", "resourceClaimTemplateName": True}]
    work.manifest["spec"]["template"]["spec"]["resourceClaims"] = claims
    member.hub.put(work)
    member.start()
    entry = await member.hub.seen("u-1", "Failed")
    assert entry.reason == "Invalid"
    assert "resourceClaimTemplateName" in entry.message


def test_a_policys_refusal_is_the_members_own():
    """Of a manifest it is final, with the reason of the agent's own gate: the job goes to another member."""
    text = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no"
    for status in (403, 422):
        refusal = errors.from_status(status, {"message": f'jobs.batch "x" is forbidden: {text}'})
        trouble = refused(refusal, hopeless=True)
        assert (trouble.reason, trouble.final) == ("RefusedByMember", True)
        assert not refused(refusal).final, "of a change, another may follow"


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [
        (400, 'Job in version "v1" cannot be handled as a Job: json: cannot unmarshal', "Invalid"),
        (422, 'Job.batch "x" is invalid: spec.completions', "Invalid"),
        (
            400,
            'Job in version "v1" cannot be handled as a Job: strict decoding error',
            "ApplyFailed",
        ),
        (400, 'admission webhook "w" denied the request: no', "ApplyFailed"),
        (403, 'jobs.batch "x" is forbidden: exceeded quota', "ApplyFailed"),
    ],
)
def test_only_what_is_wrong_everywhere_is_refused_for_good(status, message, reason):
    """What a webhook, a quota or an older server refuses today may be taken elsewhere or tomorrow."""
    refusal = errors.from_status(status, {"message": message})
    trouble = refused(refusal, hopeless=True)
    assert (trouble.reason, trouble.final) == (reason, reason == "Invalid")
    assert not refused(refusal).final, "of a change, another may follow"
