"""What each verb shows: tables that fit 80 columns, pages, and -o json, yaml or wide."""

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
import yaml

from hub.domain.workloads.states import State
from roadstead.cli.placements import COLUMNS
from roadstead.cli.revisions import WORKS
from roadstead.models.placed import ClusterWork
from roadstead.models.placements import Placement
from tests.cli.build import a_listed_cluster, a_listed_job
from tests.cli.commands import REPOSITORY, environment_without_ours, run
from tests.cli.scripted import Answer, answering, items, problem

HEADINGS = {
    ("jobs", "ls"): "NAMESPACE NAME QUEUE OWNER STATE REASON CLUSTER AGE",
    ("queues", "ls"): "NAME COHORT USED PENDING ADMITTED ACTIVE",
    ("clusters", "ls"): "NAME STATE NODES CPU-FREE MEMORY-FREE GPU-FREE JOBS HEARTBEAT",
    ("placements", "ls"): "NAMESPACE NAME POLICY SELECTED CLUSTERS STATE AGE",
    ("events",): "AGE REASON OBJECT MESSAGE",
}
PAGES = [
    ("jobs", "show", "compute-jobs/mock-workload"),
    ("explain", "compute-jobs/mock-workload"),
    ("queues", "show", "cluster-queue"),
    ("queues", "show", "compute-jobs/local-queue"),
    ("clusters", "show", "c1"),
    ("placements", "show", "sample-kueue"),
    ("placements", "show", "compute-jobs/job1-placement"),
]
DRIFTED = {
    "cluster": "gpu-1",
    "kind": "ConfigMap",
    "namespace": "team-a",
    "name": "settings-of-the-training-run",
    "path": "/data/learning-rate-of-the-second-phase",
    "hub": "0.0001",
    "member": "0.1 because somebody thought it faster",
    "firstSeen": "2026-03-01T12:00:00Z",
}


@pytest.mark.parametrize(("verb", "headings"), HEADINGS.items(), ids=lambda v: "-".join(v)[:20])
def test_a_list_is_a_table_that_fits_80_columns(hub, verb, headings):
    """Each list has its headings, a line per thing, and no line beyond the 80th column."""
    done = hub.run(*verb, columns=80)
    assert done.code == 0
    first = done.lines[0].replace(" FREE", "-FREE")
    assert first.split() == headings.split()
    assert len(done.lines) > 1
    assert max(map(len, done.lines)) <= 80


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_a_page_fits_the_terminal(hub, page, width):
    """What is shown of one thing is wrapped, never cut."""
    done = hub.run(*page, columns=width)
    assert done.code == 0
    assert max(map(len, done.lines)) <= width
    assert "…" not in done.out


@pytest.mark.parametrize(
    ("applied", "shown"),
    [("False", "Applied: Sent"), ("True", "Overridden: OverridesNotSupported")],
)
def test_the_state_of_a_placement_names_what_hinders_it_most(applied, shown):
    """Overrides that are left out hide no resource that could not be applied."""
    conditions = [
        {
            "type": "ResourcePlacementOverridden",
            "status": "False",
            "reason": "OverridesNotSupported",
        },
        {"type": "ResourcePlacementApplied", "status": applied, "reason": "Sent"},
    ]
    (state,) = (each for each in COLUMNS if each.title == "STATE")
    placement = {"kind": "ResourcePlacement", "name": "p", "conditions": conditions}
    assert state.cell(Placement.of(placement)) == shown


def test_clusters_that_were_not_chosen_are_not_among_those_that_were():
    """The status of an unfulfilled policy also says why others were not picked."""
    (clusters,) = (each for each in COLUMNS if each.title == "CLUSTERS")
    statuses = [
        {"clusterName": name, "conditions": [{"type": "Scheduled", "status": status}]}
        for name, status in (("c1", "True"), ("c2", "False"))
    ]
    placement = {"kind": "ResourcePlacement", "name": "p", "placementStatuses": statuses}
    assert clusters.cell(Placement.of(placement)) == "c1"


def test_one_object_without_a_name_hides_no_placement():
    """What could not be placed may not say what it is called; the list is shown all the same."""
    status = {"clusterName": "c1", "failedPlacements": [{"kind": "ConfigMap", "version": "v1"}]}
    placement = {"kind": "ResourcePlacement", "name": "p", "placementStatuses": [status]}
    assert Placement.of(placement).placement_statuses[0].failed_placements[0].name == ""


@pytest.mark.parametrize("verb", HEADINGS, ids="-".join)
def test_json_and_yaml_say_the_same(hub, verb):
    """-o json and -o yaml print {"items": [...]}, the hub's objects, and nothing else."""
    narrowed = ("-n", "compute-jobs") if verb[0] == "jobs" else ()
    as_json, as_yaml = (hub.run(*verb, *narrowed, "-o", form) for form in ("json", "yaml"))
    assert json.loads(as_json.out).keys() == {"items"}
    names = [[i["name"] for i in load(done.out)["items"]]
             for load, done in ((json.loads, as_json), (yaml.safe_load, as_yaml))]  # fmt: skip
    assert names[0] == names[1] != []
    assert as_json.err == as_yaml.err == ""


@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_one_thing_as_json(hub, page):
    """-o json of one thing is the hub's object."""
    assert json.loads(hub.run(*page, "-o", "json").out)["name"] in page[-1]


def test_wide_adds_columns_and_cuts_nothing(hub):
    """-o wide shows what else there is, whole, even where the terminal is narrow."""
    done = hub.run("jobs", "ls", "-o", "wide", columns=80)
    assert {"UID", "EPOCH", "STARTED", "FINISHED", "REQUESTS"} <= set(done.lines[0].split())
    assert "…" not in done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("jobs", "ls", "-n", "quiet"), "No jobs match"),
        (("jobs", "ls", "--state", "Unknown"), "No jobs match"),
        (("events", "-n", "quiet"), "No events"),
        (("drift", "ls"), "No drift"),
    ],
    ids=lambda v: v if isinstance(v, str) else " ".join(v),
)
def test_an_empty_list_says_so(hub, tmp_path, arguments, words):
    """Where there is nothing, a sentence goes to standard error; -o json has an empty list."""
    quiet = tmp_path / "quiet.yaml"
    quiet.write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: quiet}\n")
    assert hub.run("apply", "-f", str(quiet)).code == 0
    done = hub.run(*arguments)
    assert done.out == ""
    assert words in done.err
    assert json.loads(hub.run(*arguments, "-o", "json").out) == {"items": []}


def test_jobs_are_filtered(hub):
    """Namespace, queue, state, cluster and labels narrow the list; so does --limit."""

    def names(*filters):
        return {
            j["name"]
            for j in json.loads(hub.run("jobs", "ls", "-o", "json", *filters).out)["items"]
        }

    both = {"mock-workload", "model-evaluation"}
    assert names("-n", "compute-jobs") == names("-q", "local-queue") == both
    assert names("-n", "compute-jobs", "--state", "Running") == set()
    assert names("-n", "compute-jobs", "--cluster", "c1") == set()
    assert names("-n", "compute-jobs", "-l", "no=such") == set()
    assert len(names("-n", "compute-jobs", "--limit", "1")) == 1


def test_drift_shows_path_and_both_values():
    """drift ls shows cluster, object, path, and both values, cut with a sign at 80 columns."""
    with answering(items(DRIFTED)) as script:
        narrow = run("--server", script.address, "drift", "ls", columns=80)
        whole = run("--server", script.address, "drift", "ls")
    assert narrow.lines[0].split() == [
        "CLUSTER",
        "KIND",
        "OBJECT",
        "PATH",
        "HUB",
        "MEMBER",
        "SINCE",
    ]
    assert max(map(len, narrow.lines)) <= 80
    assert "…" in narrow.lines[1]
    assert all(DRIFTED[k] in whole.lines[1] for k in ("cluster", "kind", "path", "hub", "member"))


def test_long_names_are_cut_with_a_sign_and_whole_in_a_pipe():
    """A job whose name is longer than the table ends in … on a terminal and is whole in a pipe."""
    name = "train-" + "x" * 57
    with answering(items(a_listed_job(name, namespace="n" * 63))) as script:
        narrow = run("--server", script.address, "jobs", "ls", columns=80)
        piped = run("--server", script.address, "jobs", "ls")
    assert max(map(len, narrow.lines)) <= 80
    assert "train-xx" in narrow.lines[1]
    assert "…" in narrow.lines[1]
    assert name in piped.lines[1]


def test_explain_says_why_a_job_waits(hub):
    """explain of a waiting job names its state, its position, and what is asked of whom."""
    done = hub.run("explain", "compute-jobs/mock-workload")
    assert done.lines[0].startswith("compute-jobs/mock-workload is Pending")
    assert "What happened" in done.lines


@contextlib.contextmanager
def _watching(server: str) -> Iterator[subprocess.Popen[str]]:
    """`jobs ls --watch` as a process that ends with the block, however that ends."""
    command = [sys.executable, "-m", "roadstead.cli", "--server", server, "jobs", "ls", "--watch"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env=environment_without_ours(),
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_watch_goes_on_through_a_restart_and_ends_with_ctrl_c():
    """--watch prints again every second, says when the hub is away, goes on, and ends with 0."""
    away = Answer({"code": "Unavailable", "detail": "starting"}, 503)
    answers = [items(a_listed_job("one")), away, items(a_listed_job("two"))]
    with answering(*answers) as script, _watching(script.address) as process:
        printed = [process.stdout.readline() for _ in range(4)]
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert ["one" in printed[1], "two" in printed[3]] == [True, True]
    assert "starting; retrying" in told
    assert process.returncode == 0


def test_an_unknown_state_is_refused_with_those_there_are():
    """The hub is not asked for what it can not have; 2, and the list of states. Case is no matter."""
    with answering(items(a_listed_job())) as script:
        refused = run("--server", script.address, "jobs", "ls", "--state", "Nope")
        assert (refused.code, script.asked) == (2, [])
        assert run("--server", script.address, "jobs", "ls", "--state", "running").code == 0
    assert all(state in refused.err for state in State)
    assert script.asked == ["GET /v1/jobs?state=Running&limit=201"]


def test_amounts_of_one_cell_are_in_one_unit():
    """`127.8/128`, not `127800m/128`; `255.8Gi/256Gi`, not `261888Mi/256Gi`."""
    cpu = {"free": "127800m", "allocatable": "128", "reserved": "200m"}
    memory = {"free": "261888Mi", "allocatable": "256Gi", "reserved": "256Mi"}
    listed = a_listed_cluster() | {"resources": {"cpu": cpu, "memory": memory}}
    with answering(items(listed)) as script:
        done = run("--server", script.address, "clusters", "ls")
    assert "127.8/128" in done.lines[1]
    assert "255.8Gi/256Gi" in done.lines[1]


def test_a_longer_list_says_that_there_is_more():
    """Beyond `--limit` a note on standard error says so, and how to see more."""
    with answering(items(*(a_listed_job(name) for name in "abc"))) as script:
        done = run("--server", script.address, "jobs", "ls", "--limit", "2")
    assert len(done.lines) == 3
    assert done.err == "These are the newest 2 jobs; there are more: --limit N.\n"


def test_a_job_without_its_namespace_is_told_how_jobs_are_named():
    """`jobs show hello` asks for a uid: the refusal says what else names a job."""
    with answering(problem(404, "NotFound", "there is no job hello")) as script:
        done = run("--server", script.address, "jobs", "show", "hello")
    assert done.code == 3
    assert "Name it NAMESPACE/NAME, or by its uid." in done.err


def test_a_job_that_has_ended_is_not_being_abandoned():
    """What stays of an ended Job is no object that is let go."""
    (state,) = (each for each in WORKS if each.title == "STATE")
    work = {"cluster": "c1", "kind": "Job", "name": "j", "action": "Keep"}
    assert state.cell(ClusterWork.of(work | {"epoch": 1})) == "Ended"
    assert state.cell(ClusterWork.of(work | {"kind": "ConfigMap"})) == "Abandoning"
