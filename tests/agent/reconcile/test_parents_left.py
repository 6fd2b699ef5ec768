"""Objects of other kinds that run as jobs, where a cluster, a namespace or its consent goes: as of Jobs."""

import pytest

from agent.decide.member_policy import MemberPolicy
from agent.member.namespaces import delete_namespace
from agent.objects.facts import is_held_by_us, is_unstarted
from agent.release import _run as release
from shared import labels
from shared.kubesim.operators.definitions import operator_crds
from shared.wire.consent import NamedNamespaces
from tests.agent.build import a_namespace
from tests.agent.parents import KINDS, RESOURCES, a_parent, a_template
from tests.agent.scripted_hub import HUB_ID, eventually

pytestmark = pytest.mark.anyio
CRDS = "customresourcedefinitions.apiextensions.k8s.io"
ENDED = {
    "JobSet": {"conditions": [{"type": "Completed", "status": "True"}]},
    "PyTorchJob": {"conditions": [{"type": "Succeeded", "status": "True"}]},
    "RayJob": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"},
    "AppWrapper": {"phase": "Succeeded"},
    "SparkApplication": {"applicationState": {"state": "COMPLETED"}},
}


@pytest.fixture
async def member(member):
    """The member serves the kinds, and its scripted operators run them."""
    for crd in operator_crds():
        member.cluster.store.create(CRDS, crd)
    return member


def states_of(hub):
    """The last report of consent."""
    told = [r.capacity.consent for r in hub.requests if r.capacity and r.capacity.consent]
    return told[-1].states if told else {}


def live_of(member, kind, namespace="team"):
    return member.cluster.store.get(RESOURCES[kind], namespace, "parent")


# --- the cluster leaves -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_an_object_that_an_agent_left_behind_is_released_by_command(
    member, kind, tmp_path, capsys
):
    """It is listed with its kind, and released with the Jobs."""
    member.hub.put(a_parent(kind, run_seconds="600"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    await member.stop()
    assert await release(tmp_path / "kubeconfig", "", do=False) == 0
    assert is_held_by_us(live_of(member, kind))
    assert await release(tmp_path / "kubeconfig", HUB_ID, do=True) == 0
    assert not is_held_by_us(live_of(member, kind))
    line = f"{kind}/team/parent"
    told = [line, "held: 1; --yes releases them", line, "released: 1 of 1"]
    assert capsys.readouterr().out.splitlines()[-4:] == told


async def test_a_name_without_a_kind_is_of_a_job(member, tmp_path, capsys):
    """A JobSet of the same name stays held, until it is named with its kind."""
    member.hub.put(a_parent(run_seconds="600"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    await member.stop()
    kubeconfig = tmp_path / "kubeconfig"
    assert await release(kubeconfig, "", do=True, only=["team/parent"]) == 1
    assert is_held_by_us(live_of(member, "JobSet"))
    assert await release(kubeconfig, "", do=True, only=["JobSet/team/parent"]) == 0
    assert not is_held_by_us(live_of(member, "JobSet"))


async def test_a_kind_that_may_not_be_listed_is_named(member, tmp_path, capsys):
    """Objects of it may still be held: the exit code says that not all is done."""
    member.cluster.faults.add("403", verb="list", resource="jobsets", count=0)
    assert await release(tmp_path / "kubeconfig", "", do=True) == 1
    assert "JobSet: not listed" in capsys.readouterr().err


# --- a namespace is emptied -------------------------------------------------------------------------


async def emptied(member, kind, status, **metadata):
    """Delete a namespace that holds an object of a job, which no operator runs; the outcome."""
    body = a_namespace("shop")
    body["metadata"]["labels"] = dict.fromkeys((labels.MANAGED_BY, labels.CREATED_BY), HUB_ID)
    space = await member.kube.create(body, field_manager=labels.FIELD_MANAGER)
    made = a_parent(kind).manifest
    made["metadata"] |= {"namespace": "shop", **metadata}
    spec = made["spec"]["runPolicy"] if kind == "PyTorchJob" else made["spec"]
    spec["managedBy"] = "kueue.x-k8s.io/multikueue"
    await member.kube.create(made, field_manager=labels.FIELD_MANAGER)
    live = {**live_of(member, kind, "shop"), "status": status}
    member.cluster.store.update(RESOURCES[kind], live, subresource="status", trusted=True)
    return await delete_namespace(member.kube, space, HUB_ID, 0.0, may_delete=True)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_ended_object_of_a_job_holds_no_namespace(member, kind):
    """By its definition it has ended, and without our finalizer the hub has its end: both go."""
    told = await emptied(member, kind, ENDED[kind])
    assert (told.trouble, told.kept) == (None, "")
    await eventually(lambda: member.cluster.store.get("namespaces", "", "shop") is None)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_running_object_of_a_job_holds_its_namespace(member, kind):
    """It is the hub's own: the namespace waits for it."""
    told = await emptied(member, kind, {})
    assert f"{kind}/parent" in told.trouble.message
    assert told.kept == ""


async def test_an_ended_object_whose_end_the_hub_lacks_holds_its_namespace(member):
    """Our finalizer tells it, as on a Job."""
    told = await emptied(member, "JobSet", ENDED["JobSet"], finalizers=[labels.MEMBER_FINALIZER])
    assert "JobSet/parent" in told.trouble.message


# --- consent is withdrawn ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_an_object_is_not_started_where_consent_is_withdrawn(member, kind):
    """It was created held; when its start comes, the namespace accepts the hub no longer."""
    fault = member.cluster.faults.add(
        "503", verb="patch", resource=RESOURCES[kind].partition(".")[0], count=0
    )
    member.hub.put(a_parent(kind))
    member.start()
    await eventually(lambda: live_of(member, kind))
    await member.accept("team", False)
    await member.hub.seen("u-1", "Failed", "NotAccepted")
    member.cluster.faults.remove(fault.id)
    assert is_unstarted(live_of(member, kind))
    assert member.cluster.store.list("pods", "team") == []


async def test_a_running_object_runs_to_its_end_where_consent_is_withdrawn(member):
    """Like a Job that ever ran it is left alone, and the agent reports its end."""
    member.hub.put(a_parent(run_seconds="1"))
    member.start()
    await member.hub.job_says("u-1", "ready")
    await member.accept("team", False)
    entry = await member.hub.finished("u-1")
    assert entry.phase == "Applied"


@pytest.mark.parametrize("kind", KINDS)
async def test_mode_report_lets_namespaces_with_objects_of_jobs_continue(member, kind):
    """One that holds such an object of ours when the agent starts takes more; another does not."""
    member.hub.put(a_parent(kind, run_seconds="600"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    await member.stop()
    await member.accept("team", False)
    await member.namespace("other", accept=False)
    ids = {"team": "id-1", "other": "id-2"}
    member.hub.named = NamedNamespaces(revision=1, names=sorted(ids), ids=ids)
    member.start(policy=MemberPolicy(consent="Report"))
    wanted = {"team": "Continued", "other": "NotAccepted"}
    await eventually(lambda: states_of(member.hub) == wanted)


# --- pods that outlive their object's end -----------------------------------------------------------


async def test_pods_that_run_on_after_the_end_are_reported_as_bound(member):
    """With cleanPodPolicy None workers outlive the master's success: the report still counts their room."""
    work = a_parent("PyTorchJob")
    roles = work.manifest["spec"]["pytorchReplicaSpecs"]
    roles["Worker"] = {"replicas": 2, "template": a_template("u-1", 1, 600)}
    work.manifest["spec"]["runPolicy"]["cleanPodPolicy"] = "None"
    member.hub.put(work)
    member.start()
    await member.hub.job_says("u-1", "ready")
    await member.hub.finished("u-1")

    def is_counted(hub):
        told = [(each.uid, each.epoch, each.bound) for each in hub.capacity.bound]
        nodes = [node for pool in hub.capacity.pools for node in pool.nodes]
        used = sum(sum(node.allocatable) - sum(node.free) > 0 for node in nodes)
        return told == [("u-1", 1, 2)] and used

    await member.hub.until(is_counted)
    assert len(member.cluster.store.list("pods", "team")) == 3
