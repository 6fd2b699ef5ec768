"""Jobs on a hub cluster older than Kubernetes 1.36: refused where they could run there, and mirrored."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from hub.bridge import protection
from hub.bridge.job_status import DISPATCHED
from hub.services.context import hub_cluster
from hub.services.questions import jobs
from shared import labels
from shared.errors import Rejected
from shared.kinds import parse
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.kubesim.cluster import ADMIN
from shared.kubesim.server import job_guard, mirror_guard
from tests.bridge.defined import with_hub_kinds, without_hub_kinds
from tests.bridge.guide import absent, apply_guide, condition, status, workload
from tests.bridge.hub_cluster import FIELDS, World, until, world
from tests.bridge.policies import GUARD
from tests.bridge.rights import HUB, guarded
from tests.services.members.hubs import ran

pytestmark = pytest.mark.anyio
JOB = ("batch/v1", "Job", "compute-jobs", "mock-workload")
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x", "controller": True}


def a_job(name: str = "mock-workload", *, queued: bool = True, **spec: Any) -> dict[str, Any]:
    """A Job of the guide's queue; as it is, Kubernetes would start it."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "compute-jobs",
            "labels": {labels.QUEUE_NAME: "local-queue"} if queued else {"plain": "yes"},
        },
        "spec": {
            "completions": 3,
            "parallelism": 3,
            **spec,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "busybox"}],
                }
            },
        },
    }


@contextlib.asynccontextmanager
async def older(tmp_path: Path, kubernetes: str = "1.30", **options: Any) -> AsyncIterator[World]:
    """Everything running, the guide's queues among it, on a hub cluster of that Kubernetes."""
    cluster = with_hub_kinds(kubernetes=kubernetes, **options)
    await cluster.start()
    try:
        async with world(tmp_path, cluster) as it:
            await apply_guide(it, last=5)
            yield it
    finally:
        await cluster.stop()


async def create(it: World, job: dict[str, Any]) -> dict[str, Any]:
    return await it.kube.create(job, field_manager=FIELDS)


async def patch(it: World, change: dict[str, Any], part: str | None = None) -> dict[str, Any]:
    return await it.kube.merge_patch(*JOB, change, field_manager=FIELDS, subresource=part)


async def whereabouts(it: World) -> str:
    job = await it.get("Job", "mock-workload", "compute-jobs")
    found = [c for c in job.get("status", {}).get("conditions", ()) if c["type"] == DISPATCHED]
    return f"{found[0]['status']} {found[0]['reason']} {found[0]['message']}" if found else ""


async def pods(it: World) -> Sequence[Any]:
    return (await it.kube.list("v1", "Pod", "compute-jobs")).items


@pytest.mark.parametrize(
    ("kubernetes", "policy", "jobs", "keeps_mark", "words"),
    [
        ("1.36", True, "Marked", True, "marked as the hub's"),
        ("1.36", False, "None", True, "job-guard.yaml"),
        ("1.35", True, "Refused", True, "refused without spec.managedBy: roadstead.dev/hub"),
        ("1.32", False, "None", True, "job-guard.yaml"),
        ("1.31", True, "Refused", False, "refused without spec.suspend: true"),
        ("1.30", False, "None", False, "job-guard.yaml"),
    ],
)
async def test_what_is_in_force_is_found_out_by_asking(
    tmp_path: Path, kubernetes: str, policy: bool, jobs: str, keeps_mark: bool, words: str
):
    """By dry run: nothing is left behind."""
    cluster = without_hub_kinds(kubernetes=kubernetes, job_policy=policy)
    await cluster.start()
    try:
        (tmp_path / "kubeconfig").write_text(cluster.kubeconfig_text())
        async with await KubeClient.connect(tmp_path / "kubeconfig") as kube:
            assert (await kube.version()).git_version.startswith(f"v{kubernetes}.")
            found = await protection.ask(kube)
            assert (found.jobs, found.keeps_mark) == (jobs, keeps_mark)
            assert words in found.message
            assert found.in_force is policy
            assert (await kube.list("batch/v1", "Job")).items == []
    finally:
        await cluster.stop()


@pytest.mark.parametrize(("mirrors", "told"), [(True, "Guarded"), (False, "None")])
async def test_whether_mirrors_are_guarded_is_found_out_by_asking(
    tmp_path: Path, mirrors: bool, told: str
):
    """Whoever asks: the policy refuses one label of anybody."""
    cluster = without_hub_kinds(mirror_policy=mirrors)
    await cluster.start()
    try:
        for user in ("admin", HUB):
            (tmp_path / "kubeconfig").write_text(cluster.kubeconfig_text(user))
            async with await KubeClient.connect(tmp_path / "kubeconfig") as kube:
                assert (await protection.ask(kube)).mirrors == told
    finally:
        await cluster.stop()


@pytest.mark.parametrize("label_first", [True, False])
async def test_in_a_labelled_namespace_no_job_names_a_queue(tmp_path: Path, label_first: bool):
    """All its suspended Jobs are taken, also those that were there before the label."""
    label = {"metadata": {"labels": {labels.MANAGED_NAMESPACE: "true"}}}
    namespace = ("v1", "Namespace", "", "compute-jobs")
    async with older(tmp_path) as it:
        if label_first:
            await it.kube.merge_patch(*namespace, label, field_manager=FIELDS)
        await create(it, a_job(queued=False, suspend=True))
        if not label_first:
            await it.kube.merge_patch(*namespace, label, field_manager=FIELDS)
        await until(lambda: whereabouts(it))
        job = await it.get("Job", "mock-workload", "compute-jobs")
        assert labels.FINALIZER in job["metadata"]["finalizers"]


async def test_who_may_not_ask_does_not_know(tmp_path: Path):
    """As with an account whose rights are of an earlier version: that protects nothing."""
    cluster = without_hub_kinds()
    await cluster.start()
    try:
        cluster.faults.add("403", verb="create", resource="jobs", count=4)
        (tmp_path / "kubeconfig").write_text(cluster.kubeconfig_text())
        async with await KubeClient.connect(tmp_path / "kubeconfig") as kube:
            found = await protection.ask(kube)
            assert (found.jobs, found.in_force) == ("Unknown", False)
            assert found.mirrors == "Unknown"
            assert "is not known" in found.message
    finally:
        await cluster.stop()


@pytest.mark.parametrize("question", [protection._of_jobs, protection._of_mirrors])
async def test_no_answer_is_no_verdict(tmp_path: Path, question: Any):
    """An API server that is away for a moment says nothing of what is in force: it is asked again."""
    cluster = without_hub_kinds()
    await cluster.start()
    try:
        cluster.faults.add("503", verb="create", resource="jobs", count=0)
        (tmp_path / "kubeconfig").write_text(cluster.kubeconfig_text())
        async with await KubeClient.connect(tmp_path / "kubeconfig") as kube:
            with pytest.raises(errors.Unavailable):
                await question(kube)
    finally:
        await cluster.stop()


async def test_a_hub_that_is_installed_elsewhere_asks_in_the_namespace_that_all_have(
    tmp_path: Path,
):
    """Its account may not ask in `roadstead`, which need not even be there."""
    cluster, rights = guarded(without="roadstead-hub-jobs")
    await cluster.start()
    try:
        (tmp_path / "kubeconfig").write_text(cluster.kubeconfig_text(HUB))
        rights.asks_in = "default"
        async with await KubeClient.connect(tmp_path / "kubeconfig") as kube:
            assert (await protection.ask(kube)).jobs == "Marked"
        assert set(rights.denied) == {(HUB, "create", "jobs", "roadstead")}
    finally:
        await cluster.stop()


def test_the_simulated_policy_has_the_words_of_the_real_one():
    """What `kubectl` prints in a test is what it prints in production."""
    policy, *_ = yaml.safe_load_all(GUARD.read_text())
    assert policy["metadata"]["name"] == protection.POLICY == job_guard.POLICY
    told = [each["message"] for each in policy["spec"]["validations"]]
    assert told == [
        job_guard.UNMARKED,
        job_guard.STARTED,
        job_guard.TAKEN_AWAY,
        job_guard.NO_OWNER,
        job_guard.NO_CONTROLLER,
    ]


def test_the_simulated_guard_of_mirrors_has_the_words_of_the_real_one():
    """The same for what shows REST's objects; a label is the only thing that it refuses of anybody."""
    mirrors, account, *_ = yaml.safe_load_all(GUARD.with_name("mirror-guard.yaml").read_text())
    assert mirrors["metadata"]["name"] == protection.MIRROR_POLICY == mirror_guard.POLICY
    words = [each["message"] for each in mirrors["spec"]["validations"]]
    assert words == [mirror_guard.KEPT, mirror_guard.RESERVED, mirror_guard.GUARDED]
    assert account["metadata"]["name"] == mirror_guard.HUBS
    _, *words = [each["message"] for each in account["spec"]["validations"]]
    assert words == [mirror_guard.NOT_STARTED, mirror_guard.NOT_CHANGED]


@pytest.mark.parametrize("spec", [{}, {"managedBy": labels.JOB_CONTROLLER}, {"suspend": False}])
async def test_a_job_that_could_run_there_is_refused_with_what_to_write(
    tmp_path: Path, spec: dict[str, Any]
):
    """Before 1.32 the mark is dropped: to be suspended is what keeps it."""
    async with older(tmp_path) as it:
        with pytest.raises(errors.Invalid, match=r"write spec\.managedBy.*spec\.suspend: true"):
            await create(it, a_job(**spec))
        await create(it, a_job("plain", queued=False))
        await until(lambda: pods(it))
        assert await workload(it, "plain") is None


async def test_a_marked_job_is_taken_where_the_mark_is_known(tmp_path: Path):
    """From 1.32 on, without a policy that writes it."""
    async with older(tmp_path, "1.33") as it:
        made = await create(it, a_job(managedBy=labels.JOB_CONTROLLER))
        row = await until(lambda: workload(it, "mock-workload"))
        assert row.uid == made["metadata"]["uid"]
        assert await pods(it) == []


async def test_a_suspended_job_runs_in_a_member_and_says_so(tmp_path: Path):
    """From its queue to its end; nothing of it ever runs on the hub cluster."""
    async with older(tmp_path) as it:
        await create(it, a_job(suspend=True))
        row = await until(lambda: workload(it, "mock-workload"))
        await until(lambda: starts(it, "False"))
        agent = await it.hub.join("north")
        await it.hub.place(row.uid, "north")
        await agent.sync()
        await agent.sync(ran(row.uid, active=3, ready=3, running_since="2026-05-01T00:00:01Z"))
        where = f"Running in north (roadstead logs {row.namespace}/mock-workload)"
        await until(lambda: starts(it, f"True Running {where}: 3 active"))
        assert not await status(it, "active", 3), "counts are the Job controller's"
        await agent.sync(ran(row.uid, succeeded=3, result="Succeeded"))
        job = await until(lambda: condition(it, "Complete"))
        assert job["status"]["succeeded"] == 3
        assert [each["type"] for each in job["status"]["conditions"]] == ["Complete"]
        assert await pods(it) == []


async def starts(it: World, words: str) -> bool:
    return (await whereabouts(it)).startswith(words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"spec": {"suspend": False}}, "stays suspended on the hub cluster"),
        ({"spec": {"suspend": None}}, "stays suspended on the hub cluster"),
        (
            {"metadata": {"labels": None, "finalizers": None}},
            "stays Roadstead's: delete it",
        ),
        (
            {"metadata": {"labels": None}, "spec": {"suspend": False}},
            "stays suspended on the hub cluster",
        ),
        (
            {"metadata": {"ownerReferences": [OWNER]}, "spec": {"suspend": False}},
            "stays suspended on the hub cluster",
        ),
    ],
)
async def test_a_job_of_the_hub_is_not_started_by_hand(
    tmp_path: Path, change: dict[str, Any], words: str
):
    """Neither directly nor by taking away what it is known by."""
    async with older(tmp_path) as it:
        await create(it, a_job(suspend=True))
        await until(lambda: workload(it, "mock-workload"))
        with pytest.raises(errors.Invalid, match=words):
            await patch(it, change)
        await patch(it, {"spec": {"parallelism": 2}})


async def test_a_job_of_a_controller_is_left_alone(tmp_path: Path):
    """As a CronJob's: it is its owner's to start and to stop."""
    async with older(tmp_path) as it:
        owner = await it.kube.get("v1", "Namespace", "", "compute-jobs")
        reference = {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "name": "nightly",
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        job = a_job(suspend=True)
        job["metadata"]["ownerReferences"] = [reference]
        await create(it, job)
        await patch(it, {"spec": {"suspend": False}})
        assert await workload(it, "mock-workload") is None


async def test_who_submitted_a_job_is_kept_with_it(tmp_path: Path):
    """The hub cluster's policies keep the annotation to the truth; by REST it is nobody's to write."""
    said = {labels.SUBMITTED_BY: ADMIN.name}
    async with older(tmp_path) as it:
        job = a_job(suspend=True)
        job["metadata"]["annotations"] = {labels.SUBMITTED_BY: "ann"}
        with pytest.raises(errors.Invalid, match="is who creates the Job"):
            await create(it, job)
        job["metadata"]["annotations"] = said
        made = await create(it, job)
        with pytest.raises(errors.Invalid, match="stays as it was"):
            await patch(it, {"metadata": {"annotations": {labels.SUBMITTED_BY: None}}})
        await until(lambda: workload(it, "mock-workload"))
        shown = await it.hub.hub.read(jobs.get_job, made["metadata"]["uid"])
        assert (shown["annotations"], shown["owner"]) == (said, ADMIN.name)
    with pytest.raises(Rejected, match="users may set the annotations"):
        parse(job)


async def test_a_job_goes_when_it_is_deleted(tmp_path: Path):
    """The policy does not hold what its finalizer lets go."""
    async with older(tmp_path) as it:
        await create(it, a_job(suspend=True))
        await until(lambda: workload(it, "mock-workload"))
        await it.delete("Job", "mock-workload", "compute-jobs")
        await until(lambda: absent(it, "Job", "mock-workload", "compute-jobs"))
        assert await workload(it, "mock-workload") is None


async def test_without_protection_no_job_is_taken_that_could_run_there(tmp_path: Path):
    """It is told so, and what is in force is shown; a Job that has the mark is taken."""
    async with older(tmp_path, "1.33", job_policy=False) as it:
        await create(it, a_job(suspend=True))
        await create(it, a_job("marked", managedBy=labels.JOB_CONTROLLER))
        await until(lambda: workload(it, "marked"))
        told = await until(lambda: whereabouts(it))
        assert told.startswith("False JobsUnprotected")
        assert "job-guard.yaml" in told
        job = await it.get("Job", "mock-workload", "compute-jobs")
        assert "finalizers" not in job["metadata"]
        assert await workload(it, "mock-workload") is None
        shown = await it.hub.hub.read(hub_cluster.show)
        assert (shown["jobs"], shown["running"]) == ("None", True)
        await patch(it, {"spec": {"suspend": False}})
        await until(lambda: pods(it))
        assert await workload(it, "mock-workload") is None


async def test_a_job_that_was_started_all_the_same_is_suspended_again(tmp_path: Path):
    """Where the policy was taken away afterwards: it is the hub's, and runs in one place."""
    async with older(tmp_path) as it:
        await create(it, a_job(suspend=True))
        await until(lambda: workload(it, "mock-workload"))
        admissions = it.cluster.store.admissions
        admissions[:] = [
            each
            for each in admissions
            if not isinstance(getattr(each, "__self__", None), job_guard.JobGuard)
        ]
        await patch(it, {"spec": {"suspend": False}})

        async def suspended() -> bool:
            job = await it.get("Job", "mock-workload", "compute-jobs")
            return bool(job["spec"]["suspend"])

        await until(suspended)
        assert await workload(it, "mock-workload") is not None
