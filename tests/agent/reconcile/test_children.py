"""What an operator makes of an object of ours is its own: it is not taken over, and goes with its owner."""

import pytest

from shared import labels
from shared.kubesim.operators.definitions import operator_crds
from tests.agent.parents import API, RESOURCES, a_parent
from tests.agent.scripted_hub import a_job, an_object, eventually

pytestmark = pytest.mark.anyio
CRDS = "customresourcedefinitions.apiextensions.k8s.io"
FORCED = {"when_to_take_over": "Always", "co_ownership": True}
# The child that its operator makes of each, by kind and name.
CHILDREN = {
    "RayJob": ("RayCluster", "parent-raycluster"),
    "AppWrapper": ("JobSet", "parent-set"),
}


@pytest.fixture
async def member(member):
    """The member serves the kinds, and its scripted operators run them."""
    for crd in operator_crds():
        member.cluster.store.create(CRDS, crd)
    return member


def there(member, kind, name):
    return member.cluster.store.get(RESOURCES[kind], "team", name)


async def running(member, parent):
    """The object runs; its child."""
    kind, name = CHILDREN[parent]
    member.hub.put(a_parent(parent, run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "ready")
    found = await eventually(lambda: there(member, kind, name))
    assert found["metadata"]["ownerReferences"][0]["kind"] == parent
    return kind, name, found["metadata"]["uid"]


@pytest.mark.parametrize("parent", CHILDREN)
async def test_a_child_of_our_object_is_not_taken_over(member, parent):
    """By no rule and with consent: a placement has its name, and gets a NameConflict that names the owner."""
    kind, name, uid = await running(member, parent)
    before = there(member, kind, name)["spec"]
    named = {
        "apiVersion": API[kind],
        "kind": kind,
        "metadata": {"name": name, "namespace": "team"},
    }
    placed = {**named, "spec": {"suspend": True}}
    member.hub.put(an_object(placed, "o-1", **FORCED))
    await member.hub.seen("o-1", "Failed", "NameConflict")
    assert f"{parent} parent" in member.hub.observed["o-1"].message
    assert there(member, kind, name)["spec"] == before
    member.hub.put(an_object(placed, "o-1", action="Withdraw"))
    await member.hub.seen("o-1", "Gone")
    assert there(member, kind, name)["metadata"]["uid"] == uid


@pytest.mark.parametrize("parent", CHILDREN)
async def test_a_child_goes_with_its_owner_and_by_no_request_of_ours(member, parent):
    """The agent deletes the object that it created, in the foreground; the member deletes the rest."""
    kind, name, _ = await running(member, parent)
    plural = RESOURCES[kind].partition(".")[0]
    unused = member.cluster.faults.add("forbid", verb="delete", resource=plural, count=1)
    member.hub.put(a_parent(parent, action="Withdraw"))
    await member.hub.seen("u-1", "Gone")
    assert there(member, kind, name) is None
    assert unused in member.cluster.faults.active()


async def test_a_cron_job_of_people_keeps_its_name_and_its_jobs(member):
    """The hub runs a CronJob of that name: its Job meets theirs of the same minute, and goes elsewhere."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    theirs = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "team"},
        "spec": {
            "schedule": "0 3 1 1 *",
            "suspend": True,
            "jobTemplate": {"spec": {"template": {"spec": pod}}},
        },
    }
    cron_job = await member.kube.create(theirs, field_manager="someone")
    owner = {key: cron_job[key] for key in ("apiVersion", "kind")}
    owner |= {"name": "nightly", "uid": cron_job["metadata"]["uid"], "controller": True}
    run = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "nightly-29000000", "namespace": "team", "ownerReferences": [owner]},
        "spec": {"suspend": True, "template": {"spec": pod}},
    }
    made = await member.kube.create(run, field_manager="cronjob-controller")
    member.hub.put(a_job(name="nightly-29000000"))
    member.start()
    await member.hub.seen("u-1", "Failed", "NameConflict")
    member.hub.put(a_job(name="nightly-29000000", action="Withdraw"))
    await member.hub.seen("u-1", "Gone")
    live = await member.kube.get("batch/v1", "Job", "team", "nightly-29000000")
    assert live["metadata"]["uid"] == made["metadata"]["uid"]
    assert live["metadata"].get("labels", {}).get(labels.MANAGED_BY) is None
    assert (await member.kube.get("batch/v1", "CronJob", "team", "nightly"))["spec"] == cron_job[
        "spec"
    ]
