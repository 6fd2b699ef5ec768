"""Bad jobs and objects by the command line: exit code 3 and the code of REST, never a traceback."""

import json

import pytest

from tests.bad_inputs import objects
from tests.bad_inputs.cases import Case, job_cases, labelled_namespace

# About requests, not about files: lengths, encodings and chunks are the client's own.
REQUESTS = {6, 7, 8}
# A file may hold several documents, each answered by itself; `null` is YAML for no document at all.
OTHERWISE = {"3.1": "Required", "12.2": "EmptyBody"}
CASES = [case for case in job_cases() if case.number not in REQUESTS]


def _written(tmp_path, case: Case) -> str:
    ending = "yaml" if "yaml" in case.content_type else "json"
    path = tmp_path / f"job.{ending}"
    name = f'"ok-{case.number}-{case.variant}"'.encode()
    path.write_bytes(case.body.replace(b'"ok"', name))
    return str(path)


@pytest.fixture
def label(hub, tmp_path):
    """Sets the level of the namespace; other tests on this hub have theirs without one."""
    path = tmp_path / "namespace.json"

    def apply(manifest) -> None:
        path.write_text(json.dumps(manifest))
        assert hub.run("apply", "-f", str(path)).code == 0

    yield lambda level: apply(labelled_namespace(level))
    plain = labelled_namespace("privileged")
    plain["metadata"]["labels"] = {}
    apply(plain)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_bad_job_is_refused_by_the_command(hub, label, tmp_path, case):
    """`roadstead submit` says the code of the list; what only looks bad is submitted."""
    path = _written(tmp_path, case)
    label(case.namespace_level or "baseline")
    for _ in range(case.times):
        done = hub.run("submit", path)
    assert "Traceback" not in done.err
    if case.status == 201:
        assert done.code == 0, done.err
        return
    assert done.code == 3
    code = OTHERWISE.get(case.id, case.code)
    assert code is None or f"[{code}]" in done.err


def _file(tmp_path, manifest) -> str:
    path = tmp_path / "object.json"
    path.write_text(json.dumps(manifest))
    return str(path)


@pytest.mark.parametrize("case", objects.CASES, ids=lambda case: case.id)
def test_a_bad_object_is_refused_by_the_command(hub, tmp_path, case):
    """`roadstead apply` ends with 3 and says code and field."""
    done = hub.run("apply", "-f", _file(tmp_path, case.manifest))
    assert (done.code, done.out) == (3, "")
    assert f"[{case.code}]" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("name", "manifest"), objects.TAKEN, ids=[name for name, _ in objects.TAKEN]
)
def test_an_object_that_only_looks_bad_is_applied(hub, tmp_path, name, manifest):
    """It is taken, and waits where it has to."""
    named = manifest["metadata"] | {"name": f"taken-{name.replace(' ', '-')}"}
    done = hub.run("apply", "-f", _file(tmp_path, manifest | {"metadata": named}))
    assert done.code == 0, done.err


def test_a_quota_that_no_pod_can_use_is_warned_of_by_the_command(hub, tmp_path):
    """The command applies it, and standard error names the resource."""
    named = objects.UNASKED | {"metadata": {"name": "unasked"}}
    done = hub.run("apply", "-f", _file(tmp_path, named))
    assert done.code == 0
    assert "no container can ask for warp-cores" in done.err


@pytest.mark.parametrize("queue", ["absent", "theirs"])
def test_a_queue_that_is_not_there_is_refused_by_the_command(hub, tmp_path, queue):
    """One of another namespace is as if it were not there."""
    assert hub.run("apply", "-f", _file(tmp_path, objects.THEIRS)).code == 0
    done = hub.run("submit", _file(tmp_path, objects.queued(queue)))
    assert done.code == 3
    assert "[QueueNotFound]" in done.err


def test_a_cycle_of_cohorts_is_refused_by_the_command(hub, tmp_path):
    """The path is said; those before it are applied."""
    items = [
        {
            "apiVersion": objects.KUEUE,
            "kind": "Cohort",
            "metadata": {"name": name},
            "spec": {"parentName": parent},
        }
        for name, parent in (("ring-a", "ring-b"), ("ring-b", "ring-a"))
    ]
    done = hub.run(
        "apply", "-f", _file(tmp_path, {"apiVersion": "v1", "kind": "List", "items": items})
    )
    assert (done.code, done.lines) == (3, ["Cohort ring-a created"])
    assert "[CohortCycle]" in done.err
    assert "ring-a -> ring-b -> ring-a" in done.err or "ring-b -> ring-a -> ring-b" in done.err


@pytest.mark.parametrize(("name", "code"), [("c1", "AlreadyExists"), ("Prod", "InvalidName")])
def test_a_bad_member_is_refused_by_the_command(hub, name, code):
    """A name that is taken, and one in capitals."""
    done = hub.run("clusters", "add", name)
    assert done.code == 3
    assert f"[{code}]" in done.err


def test_a_job_may_be_cancelled_again(hub, tmp_path):
    """Twice ends alike."""
    job = objects.queued("default") | {}
    job["metadata"] |= {"name": "twice", "labels": {}}
    assert hub.run("submit", _file(tmp_path, job)).code == 0
    assert [hub.run("jobs", "cancel", "team-a/twice").code for _ in range(2)] == [0, 0]
