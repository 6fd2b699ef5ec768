"""That a version of a kind is not served proves no absence: the objects are there in another one."""

import pytest

from agent.member.applier import Applier
from agent.member.pods_left import pods_left
from agent.objects.holds import APP_WRAPPER, JOB
from agent.objects.manifests import unstarted
from shared import labels
from shared.clock import SystemClock
from shared.kube import errors
from shared.kubesim.operators.definitions import operator_crds
from tests.agent.parents import RESOURCES, a_parent, serve_in
from tests.agent.scripted_hub import HUB_ID, an_object
from tests.agent.sessions import JOB_SET, SETTLED_S, Session, an_entry

pytestmark = pytest.mark.anyio
CRDS = "customresourcedefinitions.apiextensions.k8s.io"


@pytest.fixture
async def member(member):
    """The member serves the kinds of operators."""
    for crd in operator_crds():
        member.cluster.store.create(CRDS, crd)
    return member


@pytest.fixture
def applier(member):
    return Applier(member.kube, HUB_ID, SystemClock())


async def made(member, work):
    """The object of the work, as an earlier session of the agent created it."""
    return await member.kube.create(
        unstarted(work, HUB_ID, ""), field_manager=labels.FIELD_MANAGER
    )


async def test_a_client_tells_a_kind_from_a_version_that_is_not_served(member):
    """Of the kind there is nothing; of the version nothing is proven, also if the group is not told whole."""
    serve_in(member, "JobSet", "v1")
    with pytest.raises(errors.VersionNotServed) as other:
        await member.kube.list(*JOB_SET)
    assert other.value.served == ["jobset.x-k8s.io/v1"]
    assert not isinstance(other.value, errors.NotFound)
    member.cluster.store.delete(CRDS, "", RESOURCES["JobSet"])
    await member.kube.server_resources(refresh=True)
    with pytest.raises(errors.KindNotServed):
        await member.kube.list(*JOB_SET)


async def test_an_object_of_another_version_keeps_its_kind_unread(member):
    """A restored hub: the kind counts as read once the object is in the report, and never by a 404."""
    await made(member, a_parent())
    serve_in(member, "JobSet", "v1")
    session = Session(member.kube, kinds=(JOB, JOB_SET), places=True)
    session.clock.advance(SETTLED_S)
    await session.read.look()
    assert "/".join(JOB_SET) in session.read.told()["kinds_unread"]
    session.reported["u-1"] = an_entry("Applied")
    await session.read.look()
    assert session.read.done


async def test_a_kind_without_objects_is_read_in_the_version_that_is_served(member):
    """All versions of a kind show the same objects: a list of one that is empty proves it."""
    serve_in(member, "JobSet", "v1")
    session = Session(member.kube, kinds=(JOB, JOB_SET))
    session.clock.advance(SETTLED_S)
    await session.read.look()
    assert session.read.done


@pytest.mark.parametrize("knows", [True, False])
async def test_a_read_back_in_another_version_is_no_absence(member, applier, knows):
    """The client knows the old path, which answers 404 then, or asks anew."""
    work = a_parent()
    await made(member, work)
    serve_in(member, "JobSet", "v1")
    if not knows:
        await member.kube.server_resources(refresh=True)
    outcome = await applier.read_back(work, "")
    assert outcome.absent_at is None
    assert outcome.trouble is not None
    assert outcome.trouble.reason == "KindNotServed"


async def test_an_object_that_the_other_version_lacks_is_absent(member, applier):
    """So that a job that was withdrawn does not wait for a version that may never be served again."""
    serve_in(member, "JobSet", "v1")
    assert (await applier.read_back(a_parent(), "")).absent_at is not None


async def test_an_abandoned_object_of_another_version_is_not_gone(member, applier):
    """Our marks are on it still."""
    work = a_parent()
    live = await made(member, work)
    serve_in(member, "JobSet", "v1")
    outcome = await applier.abandon(work, live["metadata"]["uid"])
    assert (outcome.absent_at, outcome.trouble and outcome.trouble.reason) == (
        None,
        "KindNotServed",
    )


async def test_a_maker_of_another_version_counts(member):
    """An AppWrapper's JobSet may still make pods."""
    await made(member, a_parent())
    serve_in(member, "JobSet", "v1")
    found = await pods_left(member.kube, "team", "u-1", "parent", APP_WRAPPER)
    assert found == "JobSet parent still exists"


@pytest.mark.parametrize("action", ["Apply", "Withdraw"])
async def test_a_started_job_waits_while_its_version_is_not_served(member, action):
    """It is neither Missing nor Gone, and continues when the version is served again."""
    member.hub.put(a_parent(run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "active")
    await member.stop()
    serve_in(member, "JobSet", "v1")
    member.hub.observed.clear()
    member.hub.put(a_parent(run_seconds="600", action=action, seen=True, fresh=False))
    agent = member.start()
    entry = await member.hub.seen("u-1", "Waiting", "KindNotServed")
    assert "jobset.x-k8s.io/v1" in entry.message
    assert member.cluster.store.get(RESOURCES["JobSet"], "team", "parent") is not None
    serve_in(member, "JobSet", "v1alpha2")
    agent.reconciler.observer.rediscover()
    await member.hub.seen("u-1", "Applied" if action == "Apply" else "Gone")


async def test_a_placed_object_of_another_version_is_not_gone(member):
    """A withdrawal deletes it once the agent can read it, and says no sooner that it is gone."""
    manifest = {
        "apiVersion": "/".join(JOB_SET[:1]),
        "kind": "JobSet",
        "metadata": {"name": "placed", "namespace": "team"},
        "spec": {"replicatedJobs": []},
    }
    member.hub.put(an_object(manifest, "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await member.stop()
    serve_in(member, "JobSet", "v1")
    member.hub.observed.clear()
    member.hub.put(an_object(manifest, "o-1", action="Withdraw"))
    member.start()
    await member.hub.seen("o-1", "Waiting", "KindNotServed")
    assert member.cluster.store.get(RESOURCES["JobSet"], "team", "placed") is not None
