"""`roadstead get` and `diff`: objects of any kind, and what applying files would change."""

import json

import pytest
import yaml

from roadstead.cli.export import hidden_in
from tests.cli.build import a_job, text
from tests.cli.commands import GUIDE

SPACE = "get-and-diff"
CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "c", "namespace": SPACE},
    "data": {"a": "1", "b": "2"},
}


@pytest.fixture
def made(hub, tmp_path):
    """A ConfigMap, a Secret and a Job that the hub holds, and the file they came from."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": SPACE},
        "stringData": {"password": "hunter2"},
    }
    file = tmp_path / "all.yaml"
    file.write_text(text(CONFIG, secret, a_job("j", SPACE)))
    assert hub.run("apply", "-f", str(file)).code == 0
    return file


def test_all_of_a_kind_and_one(hub, made):
    """A table with conditions; one by name, in a namespace or with it; -o yaml prints it alone."""
    listed = hub.run("get", "clusterqueues")
    assert listed.lines[0].split() == ["NAME", "CONDITIONS", "AGE"]
    assert "Active" in hub.run("get", "cq", "cluster-queue").out
    for given in (("cm", "c", "-n", SPACE), ("configmap", f"{SPACE}/c")):
        assert yaml.safe_load(hub.run("get", *given, "-o", "yaml").out)["data"] == CONFIG["data"]
    assert hub.run("get", "configmaps", "-n", SPACE, "-o", "name").out == f"{SPACE}/c\n"


def test_what_is_printed_as_yaml_can_be_applied_again(hub, made, tmp_path):
    """One object, a list and an export: nothing in them is of the hub alone."""
    for number, given in enumerate((
        ("get", "cm", "c", "-n", SPACE, "-o", "yaml"), ("get", "cq", "-o", "yaml"),
        ("get", "job", "j", "-n", SPACE, "-o", "yaml"), ("export",), ("export", "jobs", "-n", SPACE),
    )):  # fmt: skip
        printed = hub.run(*given)
        assert printed.code == 0, printed.err
        assert "uid:" not in printed.out
        file = tmp_path / f"{number}.yaml"
        file.write_text(printed.out)
        done = hub.run("apply", "-f", str(file))
        assert done.code == 0, (given, done.err)


def test_a_live_fleet_can_be_simulated(hub, made, tmp_path):
    """What `export` prints is what `simulate` reads."""
    file = tmp_path / "fleet.yaml"
    file.write_text(hub.run("export").out + hub.run("export", "jobs", "-n", SPACE).out)
    played = hub.run("simulate", "cycle", str(file), "--now", "2026-03-01T12:00:00Z", "-o", "json")
    assert played.code == 0, played.err
    assert json.loads(played.out)["queues"]


def test_jobs_are_a_kind_too(hub, made):
    """`get job` shows them as `jobs ls` does, with their manifests by name."""
    assert "CLUSTER" in hub.run("get", "jobs").lines[0]
    found = json.loads(hub.run("get", "job", "j", "-n", SPACE, "-o", "json").out)
    assert found["manifest"]["spec"] == a_job("j", SPACE)["spec"]


def test_a_secret_shows_no_value(hub, made):
    """Neither `get` nor `diff` prints what is in one."""
    done = hub.run("get", "secret", f"{SPACE}/s", "-o", "json")
    assert (done.code, "hunter2" in done.out) == (0, False)
    changed = made.with_name("other.yaml")
    changed.write_text(made.read_text().replace("password: hunter2", "other: hunter3"))
    done = hub.run("diff", "-f", str(changed))
    assert "+  other: '[hidden]'" in done.lines
    assert "hunter" not in done.out


def test_an_export_of_secrets_shows_no_value_and_says_so(hub, made):
    """Applied as it is it would write the marks: a note names the object."""
    done = hub.run("export", "secrets", "jobs", "-n", SPACE)
    assert (done.code, "hunter2" in done.out) == (0, False)
    assert done.err == "Values are hidden in Secret s: write them in before you apply this.\n"


def test_hidden_variables_of_a_job_are_noted():
    """Who may not see them exports `[hidden]`; a value that is shown is no reason for a note."""
    jobs = []
    for name, value in (("shown", "1"), ("cut", "[hidden]")):
        job = a_job(name, SPACE)
        job["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": value}]
        jobs.append(job)
    assert hidden_in(jobs) == ["Job cut"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("get", "cq", "no-such"), "no ClusterQueue no-such"),
        (("get", "gadget"), "gadget is not a kind that the hub holds"),
        (("get", "job", "default/no-such"), "no job default/no-such"),
    ],
)
def test_what_is_not_there_is_3(hub, arguments, said):
    """Named, with exit code 3."""
    done = hub.run(*arguments)
    assert (done.code, said in done.err) == (3, True)


def test_nothing_differs_after_an_apply(hub, made):
    """What was applied and is as it was: no line, exit code 0; the guide's objects as well."""
    for files in ((str(made),), tuple(map(str, sorted(GUIDE.glob("*.yaml"))))):
        done = hub.run("diff", *(word for each in files for word in ("-f", each)))
        assert (done.code, done.out) == (0, ""), done.out + done.err


def test_what_would_change_is_told_line_by_line(hub, made):
    """A unified diff with the document's place; what is not held yet is new; exit code 1."""
    made.write_text(text({**CONFIG, "data": {"a": "9", "b": "2"}}, a_job("new", SPACE)))
    done = hub.run("diff", "-f", str(made))
    assert done.code == 1
    assert {"-  a: '1'", "+  a: '9'"} <= set(done.lines)
    assert f"+++ Job {SPACE}/new ({made}, document 2)" in done.lines
    assert "--- /dev/null" in done.lines
    assert not any(line.startswith(("-  b", "+  b")) for line in done.lines)


@pytest.mark.parametrize("content", ["", "kind: X", "a: [", "- 1"])
def test_files_that_describe_nothing_are_refused(hub, tmp_path, content):
    """Wrong usage, before anything is asked."""
    (tmp_path / "f.yaml").write_text(content)
    assert hub.run("diff", "-f", str(tmp_path / "f.yaml")).code == 2


def a_pytorchjob(name, namespace, queue=""):
    """A PyTorchJob of one pod: a job if it names a queue."""
    labels = {"labels": {"kueue.x-k8s.io/queue-name": queue}} if queue else {}
    role = {"replicas": 1, "template": a_job()["spec"]["template"]}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace, **labels},
        "spec": {"pytorchReplicaSpecs": {"Worker": role}},
    }


@pytest.fixture(scope="module")
def torch(hub, tmp_path_factory):
    """The file of a PyTorchJob in a queue; one without a queue is beside it, for placements."""
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "LocalQueue",
        "metadata": {"name": "q", "namespace": "torch"},
        "spec": {"clusterQueue": "cluster-queue"},
    }
    folder = tmp_path_factory.mktemp("torch")
    around, file = folder / "around.yaml", folder / "queued.yaml"
    around.write_text(text(queue, a_pytorchjob("placed", "torch")))
    file.write_text(text(a_pytorchjob("queued", "torch", "q")))
    for each in (around, file):
        done = hub.run("apply", "-f", str(each))
        assert done.code == 0, done.err
    yield file
    for each in (file, around):  # lists of other tests have Jobs alone
        done = hub.run("delete", "-f", str(each))
        assert done.code == 0, done.err


def test_jobs_and_placed_objects_of_one_kind_are_one_list(hub, torch):
    """A PyTorchJob with a queue and one without are listed together, in every format."""
    listed = hub.run("get", "pytorchjobs", "-n", "torch")
    assert listed.code == 0, listed.err
    assert listed.lines[0].split() == ["NAMESPACE", "NAME", "STATE", "REASON", "CONDITIONS", "AGE"]
    assert sorted(line.split()[1] for line in listed.lines[1:]) == ["placed", "queued"]
    names = hub.run("get", "pytorchjobs", "-n", "torch", "-o", "name")
    assert sorted(names.lines) == ["torch/placed", "torch/queued"]


def test_diff_compares_jobs_of_other_kinds(hub, torch):
    """The applied file does not differ; a changed spec does, against the held one."""
    assert hub.run("diff", "-f", str(torch)).code == 0
    changed = torch.with_name("changed.yaml")
    changed.write_text(torch.read_text().replace("replicas: 1", "replicas: 2"))
    told = hub.run("diff", "-f", str(changed))
    assert told.code == 1
    assert "(held)" in told.lines[0]


@pytest.mark.parametrize("kind", ["pytorchjobs", "jobs"])
def test_export_prints_jobs_of_other_kinds(hub, torch, kind):
    """By their own kind, and among all jobs."""
    printed = list(yaml.safe_load_all(hub.run("export", kind, "-n", "torch").out))
    found = [(each["kind"], each["metadata"]["name"]) for each in printed]
    assert ("PyTorchJob", "queued") in found
    assert ("PyTorchJob", "placed") in found or kind == "jobs"


def test_plan_names_the_kind(hub, torch):
    """The head of a planned job has its kind."""
    planned = torch.with_name("planned.yaml")
    planned.write_text(text(a_pytorchjob("p1", "torch", "q")))
    assert hub.run("plan", str(planned)).lines[0].startswith("PyTorchJob torch/p1  ")
