"""`roadstead top`: one screen of clusters, queues, what runs and what waits."""

from urllib.parse import parse_qs, urlsplit

from tests.cli.build import a_listed_cluster, a_listed_job
from tests.cli.commands import run
from tests.cli.scripted import Answer, Scripted, answering, items
from tests.cli.terminal import on_terminal, plain

ROOM = {
    "cpu": {"free": "24", "allocatable": "96"},
    "memory": {"free": "0", "allocatable": "1Gi"},
    "nvidia.com/gpu": {"free": "?", "allocatable": "8"},
}
QUEUES = [
    {"name": f"q{n}", "quotas": [], "localQueues": [], "pending": n, "admitted": 0}
    for n in range(12)
]


def answers(path: str) -> Answer:
    asked = urlsplit(path)
    if asked.path == "/v1/overview":
        counts = {"Running": 1, "Pending": 3, "Failed": 0}
        return Answer({"jobs": counts, "clusters": {"total": 1}, "revision": 1})
    if asked.path == "/v1/clusters":
        return items(a_listed_cluster(resources=ROOM, jobs=1))
    if asked.path == "/v1/queues":
        return items(*QUEUES)
    (state,) = parse_qs(asked.query)["state"]
    waits = [
        a_listed_job(f"w{n}", uid=f"u{n}", state=state, cluster="", reason="QuotaExhausted")
        for n in range(3)
    ]
    return items(*{"Running": [a_listed_job("runs")], "Pending": waits}.get(state, []))


def once(*arguments: str) -> tuple[str, Scripted]:
    with answering(asked=answers) as script:
        done = run("--server", script.address, "top", *arguments)
    assert done.code == 0, done.err
    return done.out, script


def test_a_pipe_gets_it_once():
    """Counts, members with what is taken of them, queues, and jobs with where they are or why they wait."""
    seen, _ = once()
    lines = seen.splitlines()
    assert lines[0] == "1 of 1 clusters ready   12 queues   Pending 3  Running 1"
    assert "gpu-1    Ready  ########.. 75%  ########## 100%  -" in seen
    (runs,) = (line.split() for line in lines if line.startswith("team-a/runs"))
    assert runs[1:4] == ["Running", "local-queue", "gpu-1"]
    assert sum("QuotaExhausted" in line for line in lines) == 3


def test_the_busiest_queues_come_first():
    """Ten of them, with how many are left out."""
    seen, _ = once("--once")
    named = [line.split()[0] for line in seen.splitlines() if line.startswith("q")]
    assert named == [f"q{n}" for n in range(11, 1, -1)]
    assert "... 2 more" in seen


def test_jobs_of_one_namespace():
    """-n narrows the jobs."""
    _, script = once("-n", "team-a")
    asked = [path for path in script.asked if "/v1/jobs" in path]
    assert asked
    assert all("namespace=team-a" in path for path in asked)


def test_a_terminal_is_brought_up_to_date_until_ctrl_c():
    """On a screen of its own; Ctrl-C is the way to end: 0. A hub that is away for a while is waited for."""
    away = {"left": 2}

    def sometimes(path: str) -> Answer:
        if path.startswith("/v1/overview") and away["left"]:
            away["left"] -= 1
            return Answer({}, 503)
        return answers(path)

    with answering(asked=sometimes) as script:
        seen = on_terminal(
            *("--server", script.address, "top", "--every", "0.5"),
            until=lambda text: "team-a/w0" in text,
        )
    assert seen.code == 0, seen.err
    assert "QUEUE" in plain(seen.terminal)


def test_who_sees_some_namespaces_gets_what_is_there():
    """Without clusters and counts of the whole fleet, which the hub refuses them."""

    def bound(path: str) -> Answer:
        of_all = urlsplit(path).path in ("/v1/overview", "/v1/clusters")
        return Answer({"code": "Forbidden", "detail": "no"}, 403) if of_all else answers(path)

    with answering(asked=bound) as script:
        done = run("--server", script.address, "top", "--once")
    assert done.code == 0, done.err
    assert done.lines[0] == "12 queues   running 1  waiting 3"
    assert "CLUSTER " not in done.out
    assert "team-a/runs" in done.out


def test_a_namespace_that_is_set_is_named_and_left_by_all_namespaces(monkeypatch):
    """What is empty is empty in that namespace; counts are of all; -A looks everywhere."""
    monkeypatch.setenv("ROADSTEAD_NAMESPACE", "quiet")

    def asked(path: str) -> Answer:
        return items() if "namespace=quiet" in path else answers(path)

    with answering(asked=asked) as script:
        done = run("--server", script.address, "top", kept=("ROADSTEAD_NAMESPACE",))
        everywhere = run("--server", script.address, "top", "-A", kept=("ROADSTEAD_NAMESPACE",))
    assert "Pending 3  Running 1 in all namespaces" in done.out
    assert "Nothing runs in namespace quiet.\n\nNothing waits in namespace quiet." in done.out
    assert "team-a/runs" in everywhere.out


def test_an_empty_list_of_a_namespace_that_is_set_names_it(monkeypatch):
    """`jobs ls` and `get` say in which namespace nothing is, and what lists the others."""
    monkeypatch.setenv("ROADSTEAD_NAMESPACE", "quiet")
    said = "That is in namespace quiet, which is set; -A lists all namespaces."
    with answering(asked=lambda _path: items()) as script:
        for line in ("jobs ls", "jobs ls --state running", "get jobs"):
            done = run("--server", script.address, *line.split(), kept=("ROADSTEAD_NAMESPACE",))
            assert (done.code, said in done.err) == (0, True), line
        done = run("--server", script.address, "jobs", "ls", "-A", kept=("ROADSTEAD_NAMESPACE",))
        assert said not in done.err
