"""Objects that never end: started, scaled, kept in their size, and gone, against a simulated member."""

import pytest

from agent.objects.facts import is_unstarted
from shared import labels
from shared.kubesim.operators.definitions import operator_crds
from tests.agent.parents import API, RESOURCES, SERVICES, a_parent, a_rule
from tests.agent.scripted_hub import eventually

pytestmark = pytest.mark.anyio
CRDS = "customresourcedefinitions.apiextensions.k8s.io"
PODS = {"LeaderWorkerSet": 6, "RayCluster": 3, "RayService": 3}
LWS = "LeaderWorkerSet"


@pytest.fixture
async def member(member):
    """The member serves the kinds, and its scripted operators run them."""
    for crd in operator_crds():
        member.cluster.store.create(CRDS, crd)
    return member


def live_of(member, kind=LWS):
    return member.cluster.store.get(RESOURCES[kind], "team", "parent")


def pods_of(member):
    return member.cluster.store.list("pods", "team")


def an_lws(replicas, **fields):
    """The work of a LeaderWorkerSet of this many groups of three pods."""
    work = a_parent(LWS, **fields)
    templates = work.kind_rule.templates
    rule = a_rule(LWS, templates, 3 * replicas, replicas)
    if work.manifest is not None:
        work.manifest["spec"]["replicas"] = replicas
    return work.model_copy(update={"kind_rule": rule})


async def all_ready(hub, pods):
    def is_told(hub):
        entry = hub.observed.get("u-1")
        job = None if entry is None else entry.job
        return job is not None and (job.ready, job.active, job.terminating) == (pods, pods, 0)

    await hub.until(is_told)
    return hub.observed["u-1"]


@pytest.mark.parametrize("kind", SERVICES)
async def test_a_service_is_started_and_never_ends(member, kind):
    """All its pods count, whoever of its operator made them; that they run on is no result."""
    member.hub.put(a_parent(kind))
    member.start()
    entry = await all_ready(member.hub, PODS[kind])
    assert (entry.phase, entry.epoch, entry.job.result) == ("Applied", 1, None)
    assert entry.job.running_since
    assert labels.NOT_STARTED not in live_of(member, kind)["metadata"]["annotations"]


@pytest.mark.parametrize("kind", SERVICES)
async def test_gone_is_told_when_nothing_of_a_service_is_left(member, kind):
    """Neither pods nor what makes them."""
    member.hub.put(a_parent(kind))
    member.start()
    await all_ready(member.hub, PODS[kind])
    member.hub.put(a_parent(kind, action="Withdraw"))
    await member.hub.seen("u-1", "Gone")
    await eventually(lambda: live_of(member, kind) is None)
    assert pods_of(member) == []
    assert member.cluster.store.list("statefulsets.apps", "team") == []


async def test_a_post_that_lands_late_makes_no_pod_of_a_leaderworkerset(member):
    """It is made with no replicas; its operator makes a StatefulSet of none."""
    member.hub.put(a_parent(LWS))
    member.cluster.faults.add("503", verb="patch", resource="leaderworkersets", count=0)
    member.start()
    live = await eventually(lambda: live_of(member))
    await eventually(lambda: member.cluster.store.get("statefulsets.apps", "team", "parent"))
    assert live["spec"]["replicas"] == 0
    assert is_unstarted(live)
    assert pods_of(member) == []


async def test_a_later_epoch_of_a_service_meets_no_pod_of_the_earlier_one(member):
    """At no time are there pods of two epochs."""
    member.hub.put(a_parent(LWS))
    member.start()
    await all_ready(member.hub, 6)
    seen = set()

    def note(_):
        epochs = {pod["metadata"]["labels"][labels.EPOCH] for pod in pods_of(member)}
        seen.add(frozenset(epochs))

    member.cluster.store.subscribe(note)
    member.hub.put(a_parent(LWS, epoch=2))
    await eventually(lambda: len(pods_of(member)) == 6 and frozenset({"2"}) in seen)
    assert frozenset({"1", "2"}) not in seen


@pytest.mark.parametrize(("replicas", "pods"), [(3, 9), (1, 3)], ids=["more", "fewer"])
async def test_a_service_follows_the_number_that_its_work_has(member, replicas, pods):
    """One patch writes it and the marks of the new generation; the object stays."""
    member.hub.put(an_lws(2))
    member.start()
    await all_ready(member.hub, 6)
    uid = live_of(member)["metadata"]["uid"]
    member.hub.put(an_lws(replicas, generation=2))
    await all_ready(member.hub, pods)
    live = live_of(member)
    assert (live["metadata"]["uid"], live["spec"]["replicas"]) == (uid, replicas)
    assert live["metadata"]["annotations"][labels.GENERATION] == "2"
    assert member.hub.observed["u-1"].generation == 2


async def test_a_number_that_somebody_else_writes_is_taken_back(member):
    """An autoscaler in the member gets no more pods than are reserved, whatever the object ignores."""
    member.hub.put(an_lws(2, ignore_drift=["/spec/replicas"], when_to_apply="IfNotDrifted"))
    member.start()
    await all_ready(member.hub, 6)
    await member.kube.merge_patch(
        API[LWS], LWS, "team", "parent", {"spec": {"replicas": 5}}, field_manager="scaler"
    )
    await eventually(lambda: live_of(member)["spec"]["replicas"] == 2)
    await all_ready(member.hub, 6)


async def test_one_that_a_person_deletes_is_told_as_missing(member):
    """It is not made again: the hub decides."""
    member.hub.put(a_parent(LWS))
    member.start()
    await all_ready(member.hub, 6)
    await member.kube.delete(API[LWS], LWS, "team", "parent")
    await member.hub.seen("u-1", "Missing")
    await eventually(lambda: live_of(member) is None)
    assert pods_of(member) == []
