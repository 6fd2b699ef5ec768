"""Which jobs `jobs ls` lists, and in which order."""

from urllib.parse import parse_qs, urlsplit

import pytest

from roadstead.cli.output import instant_before
from tests.cli.build import a_listed_job
from tests.cli.commands import Ran, run
from tests.cli.scripted import Answer, Scripted, answering, items, problem


def job(name: str, minutes_ago: int, state: str = "Running", **more):
    """A job submitted so long ago."""
    then = instant_before(60 * minutes_ago).isoformat()
    return a_listed_job(name, uid=f"u-{name}", createdAt=then, state=state, **more)


def running() -> Answer:
    return items(job("r1", 1), job("r2", 30), job("r3", 200))


def failed() -> Answer:
    return items(job("f1", 5, "Failed"), job("f2", 100, "Failed"))


def _by_state(path: str) -> Answer:
    asked = parse_qs(urlsplit(path).query)
    if "/v1/objects/" in path:
        return problem(404, "NotFound", "there is no Namespace nowhere")
    (state,) = asked.get("state", ["Running"])
    return {"Running": running, "Failed": failed}.get(state, items)()


def listed(*arguments: str) -> tuple[Ran, Scripted]:
    """`jobs ls -o name` of a hub that knows five jobs."""
    with answering(asked=_by_state) as script:
        return run("--server", script.address, "jobs", "ls", "-o", "name", *arguments), script


def names(done: Ran) -> list[str]:
    return [line.removeprefix("team-a/") for line in done.lines]


def test_several_states_are_one_list():
    """In any case, with commas; the newest first of all of them."""
    done, script = listed("--state", "running,FAILED")
    assert names(done) == ["r1", "f1", "r2", "f2", "r3"]
    assert sorted(parse_qs(urlsplit(p).query)["state"][0] for p in script.asked) == [
        "Failed",
        "Running",
    ]


def test_since_ends_the_list_at_older_ones():
    """Only what was submitted within the time."""
    assert names(listed("--state", "running,failed", "--since", "2h")[0]) == [
        "r1",
        "f1",
        "r2",
        "f2",
    ]
    assert names(listed("--since", "10m")[0]) == ["r1"]


def test_the_newest_of_several_states_are_told_as_such():
    """--limit counts all of them together, and says that there are more."""
    done, _ = listed("--state", "running,failed", "--limit", "2")
    assert (names(done), "newest 2" in done.err) == (["r1", "f1"], True)


@pytest.mark.parametrize(
    ("key", "order"),
    [
        ("name", ["r1", "r2", "r3"]),
        ("-name", ["r3", "r2", "r1"]),
        ("created", ["r3", "r2", "r1"]),
        ("-CREATED", ["r1", "r2", "r3"]),
        ("state", ["r1", "r2", "r3"]),
    ],
)
def test_another_order(key, order):
    """--sort KEY, and -KEY the other way round; what is equal stays newest first."""
    assert names(listed("--sort", key)[0]) == order


def test_how_long_they_ran_is_an_order():
    """The longest first with -runtime; what has not ended comes last, whichever way round."""
    begun = "2026-03-01T12:00:00Z"
    jobs = [
        job("short", 1, startedAt=begun, finishedAt="2026-03-01T12:00:01Z"),
        job("runs", 2, startedAt=begun, finishedAt=None),
        job("long", 3, startedAt=begun, finishedAt="2026-03-01T13:00:00Z"),
    ]
    with answering(items(*jobs)) as script:
        done = run("--server", script.address, "jobs", "ls", "-o", "name", "--sort", "runtime")
    assert names(done) == ["short", "long", "runs"]
    with answering(items(*jobs)) as script:
        done = run("--server", script.address, "jobs", "ls", "-o", "name", "--sort", "-runtime")
    assert names(done) == ["long", "short", "runs"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--state", "running,walking"), "'walking' is not one of Held, Pending"),
        (("--state", "running,"), "'' is not one of"),
        (("--sort", "colour"), "'colour' is not one of name, queue"),
        (("--since", "yesterday"), "not a duration"),
        (("-n", "a", "-A"), "use one of them"),
    ],
)
def test_what_can_not_be_meant_is_refused(arguments, said):
    """Wrong usage, told with what is right."""
    done, _ = listed(*arguments)
    assert (done.code, said in " ".join(done.err.split())) == (2, True), done.err


def test_the_namespace_that_is_set_is_listed(monkeypatch):
    """ROADSTEAD_NAMESPACE narrows the list; -n goes before, -A lists all."""
    monkeypatch.setenv("ROADSTEAD_NAMESPACE", "team-z")
    assert "namespace=team-z" in listed()[1].asked[0]
    assert "namespace=other" in listed("-n", "other")[1].asked[0]
    assert "namespace" not in listed("-A")[1].asked[0]


def test_a_namespace_that_is_not_there_is_told():
    """An empty list whose filter names nothing ends with 3."""
    done, _ = listed("--state", "held", "-n", "nowhere")
    assert (done.code, "nowhere" in done.err) == (3, True)
