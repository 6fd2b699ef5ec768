"""`roadstead submit`: every Job of every file, its uid, and how waiting ends."""

import json
import time

import pytest

from tests.cli.build import a_job, a_listed_job, text
from tests.cli.commands import GUIDE, REPOSITORY, run
from tests.cli.scripted import Answer, answering


def _ended(state: str) -> Answer:
    return Answer(a_listed_job(state=state, reason="BackoffLimitExceeded"))


def test_a_job_is_submitted_with_its_uid(hub, tmp_path):
    """The job's name and uid are printed; into a pipe goes nothing else."""
    (tmp_path / "job.yaml").write_text(text(a_job("one")))
    done = hub.run("submit", str(tmp_path / "job.yaml"))
    assert done.code == 0
    assert done.out.startswith("team-a/one submitted (")
    assert done.err == ""


def test_every_job_of_a_file_is_submitted(hub):
    """A YAML stream may hold several Jobs, the guide's for example."""
    jobs = (GUIDE / "guide-6-jobs.yaml").read_text()
    jobs = jobs.replace("mock-workload", "mock-2").replace("model-evaluation", "model-2")
    done = hub.spawn("submit", "-", stdin=jobs)
    assert [line.split(" ")[0] for line in done.lines] == [
        "compute-jobs/mock-2",
        "compute-jobs/model-2",
    ]


@pytest.mark.parametrize("flag", [(), ("-f",)], ids=["argument", "-f"])
def test_files_are_given_either_way(hub, tmp_path, flag):
    """`submit FILE` and `submit -f FILE` are the same."""
    name = "either" + "-f" * len(flag)
    (tmp_path / "job.json").write_text(json.dumps(a_job(name)))
    assert hub.run("submit", *flag, str(tmp_path / "job.json")).code == 0


@pytest.mark.parametrize(
    "stream",
    [
        "---\n{a}---\n# nothing here\n---\n\n---\n{b}...\n",
        "# one\n{a}--- # two\n{b}",
        "{a}---\n{b}",
    ],
)
def test_empty_documents_are_nothing(hub, stream):
    """Comments, blank documents and end markers between Jobs are skipped."""
    space = f"empty-{len(stream)}"
    a, b = text(a_job("a", space)), text(a_job("b", space))
    done = hub.spawn("submit", "-", stdin=stream.format(a=a, b=b))
    assert (done.code, len(done.lines)) == (0, 2), done.err


def test_a_file_in_flow_style_is_yaml(hub, tmp_path):
    """What begins with a brace and is not JSON is read as kubectl reads it: several documents too."""
    template = "{spec: {restartPolicy: Never, containers: [{name: main, image: 'busybox:1.36'}]}}"
    flow = [
        f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}, namespace: flow}},\n"
        f" spec: {{template: {template}}},}}\n"
        for name in "ab"
    ]
    (tmp_path / "jobs.yaml").write_text("---\n".join(flow))
    done = hub.run("submit", str(tmp_path / "jobs.yaml"))
    assert (done.code, len(done.lines)) == (0, 2), done.err
    done = hub.spawn("apply", "-f", "-", stdin=flow[0].replace("name: a,", "name: c,"))
    assert (done.code, done.out) == (0, "Job flow/c created\n"), done.err


def test_another_kind_is_refused_with_the_verb_that_takes_it(hub, tmp_path):
    """A file with a Job and a Workload: the Job is submitted, the other named, exit code 3."""
    given = (REPOSITORY / "examples" / "gpu-intensive.yaml").read_text()
    file = tmp_path / "two.yaml"
    file.write_text(given)
    done = hub.run("submit", str(file))
    assert done.code == 3
    assert done.out.startswith("default/gpu-intensive-job submitted")
    assert done.err.startswith(f"{file}, document 2 refused:\n  kind: ")
    assert "roadstead apply -f" in done.err


def test_the_same_key_submits_once(hub, tmp_path):
    """Repeating a command with the same --key gives the same uid, also for several Jobs."""
    (tmp_path / "jobs.yaml").write_text(text(a_job("key-a"), a_job("key-b")))
    first, second = (
        hub.run("submit", "--key", "k-1", str(tmp_path / "jobs.yaml")) for _ in range(2)
    )
    assert first.code == second.code == 0
    assert first.out == second.out
    assert len(first.lines) == 2


def test_submitted_jobs_for_scripts(hub, tmp_path):
    """-o json prints {"items": [...]} with each job as the hub holds it, and nothing else."""
    (tmp_path / "jobs.yaml").write_text(text(a_job("json-a"), a_job("json-b")))
    done = hub.run("submit", "-o", "json", str(tmp_path / "jobs.yaml"))
    assert [j["name"] for j in json.loads(done.out)["items"]] == ["json-a", "json-b"]
    assert done.err == ""


def test_waiting_for_success_is_0(tmp_path):
    """--wait prints where the job ended and ends with 0 when it succeeded."""
    (tmp_path / "job.yaml").write_text(text(a_job()))
    with answering(Answer(a_listed_job()), _ended("Succeeded")) as script:
        done = run("--server", script.address, "submit", "--wait", str(tmp_path / "job.yaml"))
    assert done.code == 0
    assert done.lines[-1] == "team-a/ok Succeeded on gpu-1"


def test_programs_are_given_the_ends_they_waited_for(tmp_path):
    """`--wait -o json` prints each job as it ended; without --wait as it was accepted."""
    (tmp_path / "job.yaml").write_text(text(a_job("one")))
    accepted = Answer(a_listed_job(state="Pending"))
    for flags, state in (("--wait", "Succeeded"), ("", "Pending")):
        with answering(accepted, _ended("Succeeded")) as script:
            line = ["submit", *flags.split(), "-o", "json", str(tmp_path / "job.yaml")]
            done = run("--server", script.address, *line)
        assert done.code == 0, done.err
        assert [job["state"] for job in json.loads(done.out)["items"]] == [state]


@pytest.mark.parametrize("state", ["Failed", "Cancelled", "Deactivated"])
def test_waiting_for_anything_else_is_1(tmp_path, state):
    """A job that ends otherwise: 1, its reason, and the command that explains it."""
    (tmp_path / "job.yaml").write_text(text(a_job()))
    with answering(Answer(a_listed_job()), _ended(state)) as script:
        done = run("--server", script.address, "submit", "--wait", str(tmp_path / "job.yaml"))
    assert done.code == 1
    assert f"team-a/ok {state} on gpu-1 (BackoffLimitExceeded)" in done.lines
    assert "roadstead explain team-a/ok" in done.err


def test_a_cancelled_job_ends_the_wait_of_a_real_hub(hub, tmp_path):
    """A job that is cancelled while it waits in its queue ends Cancelled; cancelling again is fine."""
    (tmp_path / "job.yaml").write_text(text(a_job("cancelled")))
    assert hub.run("submit", str(tmp_path / "job.yaml")).code == 0
    assert hub.run("jobs", "cancel", "team-a/cancelled").lines == ["team-a/cancelled Cancelled"]
    assert hub.run("jobs", "cancel", "team-a/cancelled").lines == ["team-a/cancelled Cancelled"]
    assert hub.run("jobs", "ls", "--state", "Cancelled").code == 0


def test_a_wait_that_is_too_long_is_6(hub, tmp_path):
    """--timeout counts for all jobs together and ends with 6 and the state; the job goes on."""
    (tmp_path / "jobs.yaml").write_text(text(a_job("slow-a"), a_job("slow-b")))
    done = hub.run("submit", "--wait", "--timeout", "0.3", str(tmp_path / "jobs.yaml"))
    assert done.code == 6
    assert "team-a/slow-a is Pending after 0.3 s" in done.err


def test_what_one_job_takes_of_the_wait_is_not_left_for_the_next(tmp_path):
    """The first ends when the time is over: the second is looked at once, and named with its state."""
    (tmp_path / "jobs.yaml").write_text(_many("a", "b"))
    told = [{"index": i, **a_listed_job(name, uid=name * 4)} for i, name in enumerate("ab")]

    def answer(path: str) -> Answer:
        if path.endswith(":batch"):
            return Answer({"items": told})
        if path.endswith("/bbbb"):
            return Answer(a_listed_job("b", uid="bbbb"))
        over = time.monotonic() + 0.3
        while time.monotonic() < over:
            pass
        return Answer(a_listed_job("a", uid="aaaa", state="Succeeded"))

    with answering(asked=answer) as script:
        line = ["submit", "--wait", "--timeout", "0.3", str(tmp_path / "jobs.yaml")]
        done = run("--server", script.address, *line)
    assert done.code == 6
    assert "team-a/b is Running after 0.3 s" in done.err
    assert script.asked.count("GET /v1/jobs/bbbb") == 2  # once to see whether it has ended


def test_a_refusal_outweighs_the_wait(tmp_path):
    """One Job refused, the other succeeded: 3, after the wait."""
    file = tmp_path / "jobs.yaml"
    file.write_text(text(a_job("a"), a_job("b")))
    refused = {"index": 0, "code": "QueueNotFound", "detail": "no queue of that name"}
    both = Answer({"items": [refused, {"index": 1, **a_listed_job("b")}]})
    with answering(both, _ended("Succeeded")) as script:
        done = run("--server", script.address, "submit", "--wait", str(file))
    assert done.code == 3
    assert done.lines[-1] == "team-a/ok Succeeded on gpu-1"
    assert done.err.startswith(f"{file}, document 1 refused:\n")
    assert "roadstead queues ls" in done.err


def _many(*names: str) -> str:
    return text(*(a_job(name, "batch") for name in names))


def test_many_jobs_are_one_request(tmp_path):
    """A file of fifty Jobs, of YAML and JSON, is one request with one key."""
    names = [f"j{number}" for number in range(50)]
    (tmp_path / "a.yaml").write_text(_many(*names[:49]))
    (tmp_path / "b.json").write_text(json.dumps(a_job(names[49], "batch"), indent=2))
    told = [{"index": i, **a_listed_job(name)} for i, name in enumerate(names)]
    with answering(Answer({"items": told})) as script:
        done = run("--server", script.address, "submit", str(tmp_path))
    assert (done.code, len(done.lines)) == (0, 50)
    assert script.asked == ["POST /v1/jobs:batch"]
    assert script.headers[0]["Idempotency-Key"]


def test_a_repeated_batch_carries_the_same_key(tmp_path):
    """Cut off before the answer, the request goes again with its key: no job is made twice."""
    (tmp_path / "jobs.yaml").write_text(_many("a", "b"))
    told = [{"index": i, **a_listed_job(name)} for i, name in enumerate("ab")]
    with answering(Answer(cut=True), Answer({"items": told})) as script:
        done = run("--server", script.address, "submit", str(tmp_path / "jobs.yaml"))
    assert (done.code, len(done.lines)) == (0, 2)
    assert len({sent["Idempotency-Key"] for sent in script.headers}) == 1
    assert script.bodies[0] == script.bodies[1]


def test_each_refused_job_of_many_is_named(hub, tmp_path):
    """By file and document, with the field; the others are submitted; 3."""
    file = tmp_path / "jobs.yaml"
    file.write_text(_many("named-a", "Bad_Name", "named-b"))
    done = hub.run("submit", str(file))
    assert done.code == 3
    taken = [line.split()[0] for line in done.lines]
    assert taken == ["batch/named-a", "batch/named-b"]
    assert done.err.startswith(f"{file}, document 2 refused:\n  metadata.name: ")


def test_what_can_not_be_read_keeps_no_other_back(hub, tmp_path):
    """Text that is not YAML between two Jobs is told in the hub's words; the Jobs are submitted."""
    file = tmp_path / "jobs.yaml"
    file.write_text("---\n".join([_many("read-a"), "a: [b\n", _many("read-b")]))
    done = hub.run("submit", str(file))
    assert (done.code, len(done.lines)) == (3, 2)
    assert f"{file}, document 2 refused:" in done.err
    assert "[MalformedYaml]" in done.err


def test_every_request_of_a_command_has_a_key_of_its_own(tmp_path):
    """Of Jobs with something else between them: else one would be answered with what became of another."""
    other = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
    file = tmp_path / "jobs.yaml"
    file.write_text(text(a_job("a"), other, a_job("b"), other, a_job("c")))
    with answering(Answer(a_listed_job("a"), 201)) as script:
        run("--server", script.address, "submit", "--key", "k", str(file))
    keys = [sent["Idempotency-Key"] for sent in script.headers]
    assert len(set(keys)) == len(keys) == 5
