"""Golden pairs of the Job controller's step: a Job and its pods in, its plan and status out.

Each document of golden/*.yaml is one case: `job` and `pods` as the API has them (what a case does not
care about is filled in), `now`, and what is `expected`: the new `status`, how many pods to `create`
(or which indexes), which to `delete`, whose end was `counted`, and in how many seconds to look again.
"""

import datetime as dt
from pathlib import Path

import pytest
import yaml

from shared.kubesim.apimachinery.pods import TRACKING_FINALIZER
from shared.kubesim.jobs import next_step
from shared.kubesim.jobs.plan import Backoff
from shared.kubesim.jobs.pods import JobPod

_GOLDEN = Path(__file__).parent / "golden"
_NOW = dt.datetime(2026, 1, 1, 0, 1, tzinfo=dt.UTC)


def _cases():
    for path in sorted(_GOLDEN.glob("*.yaml")):
        for case in yaml.safe_load_all(path.read_text()):
            yield pytest.param(case, id=f"{path.stem}: {case['case']}")


def _job(given):
    spec = {"parallelism": 1, "completions": 1, "backoffLimit": 6, **given.get("spec", {})}
    spec.setdefault("template", {"spec": {"restartPolicy": "Never", "containers": []}})
    meta = {"name": "job", "namespace": "default", "uid": "job-uid", **given.get("metadata", {})}
    return {"metadata": meta, "spec": spec, "status": given.get("status", {})}


def _pod(number, given):
    meta = {
        "name": given.get("name", f"pod-{number}"),
        "namespace": "default",
        "uid": f"uid-{number}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": [TRACKING_FINALIZER] if given.get("held", True) else [],
    }
    if given.get("deleting"):
        meta |= {"deletionTimestamp": "2026-01-01T00:00:50Z", "deletionGracePeriodSeconds": 30}
    annotations = {}
    if "index" in given:
        annotations["batch.kubernetes.io/job-completion-index"] = str(given["index"])
    if "failures" in given:
        annotations["batch.kubernetes.io/job-index-failure-count"] = str(given["failures"])
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:10Z"}
    status = {"phase": given["phase"], "conditions": [ready] if given.get("ready") else []}
    if given["phase"] in ("Succeeded", "Failed"):
        ended = {"exitCode": given.get("exit", 0), "finishedAt": "2026-01-01T00:00:55Z"}
        status["containerStatuses"] = [{"name": "main", "state": {"terminated": ended}}]
    return {"metadata": {**meta, "annotations": annotations}, "spec": {}, "status": status}


@pytest.mark.parametrize("case", list(_cases()))
def test_golden_pair(case):
    """The step decides what the case says, and writes that status."""
    pods = [JobPod(_pod(number, given)) for number, given in enumerate(case.get("pods", ()))]
    plan = next_step.plan(_job(case.get("job", {})), pods, _NOW, Backoff())
    for condition in plan.status.get("conditions", ()):
        condition.pop("lastProbeTime", None)
    indexes = [new.index for new in plan.create]
    waits = (plan.again_at - _NOW).total_seconds() if plan.again_at else None
    expected = case["expected"]
    assert plan.status == expected["status"]
    assert (indexes if any(i is not None for i in indexes) else len(indexes)) == expected.get(
        "create", 0
    )
    assert [pod.name for pod in plan.delete] == expected.get("delete", [])
    assert [pod.name for pod in plan.counted] == expected.get("counted", [])
    assert waits == expected.get("look_again_s")


def test_the_plan_changes_nothing_that_it_was_given():
    """The Job's own status stays as it was: versions of objects are shared."""
    condition = {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "x"}
    job = _job({"status": {"conditions": [condition]}})
    next_step.plan(job, [], _NOW, Backoff())
    assert job["status"] == {"conditions": [condition]}
    assert condition["status"] == "True"


@pytest.mark.parametrize(
    ("failures", "wait_s"), [(0, 0), (1, 10), (2, 20), (3, 40), (7, 600), (100, 600)]
)
def test_the_back_off_doubles_up_to_ten_minutes(failures, wait_s):
    """10 s after the first failure, twice that after each further one, ten minutes at most."""
    assert Backoff(failures, _NOW).remaining_s(_NOW, 10.0) == wait_s
