"""`from roadstead import Client`: pages, repetition, errors."""

import inspect
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import roadstead
from roadstead import (
    AsyncClient,
    Client,
    NotAllowed,
    NotFound,
    Rejected,
    RoadsteadError,
    Unreachable,
)
from roadstead.calls.table import Calls
from roadstead.method import Stream
from roadstead.models.hub import Change
from roadstead.models.jobs import Job
from tests.cli.build import a_job, a_join_token, a_listed_cluster, a_listed_job
from tests.cli.scripted import Answer, answering, items, problem
from tests.waiting import until


def _page(names: str, following: str | None) -> Answer:
    return Answer({"items": [a_listed_job(n) for n in names], "continue": following})


def test_what_is_public_is_named():
    """Every public name can be imported from the package; no other can."""
    assert {name for name in roadstead.__all__ if getattr(roadstead, name)} == {
        "AsyncClient", "Client", "JobFailed", "JobState", "NotAllowed", "NotFound", "Rejected",
        "RoadsteadError", "SomeRejected", "TimedOut", "Unreachable", "WrongAddress",
    }  # fmt: skip
    with pytest.raises(AttributeError, match="Nothing"):
        _ = roadstead.Nothing


def test_a_list_is_fetched_page_by_page():
    """Iterating goes on to the next page with the token of the last, and ends where there is none."""
    with answering(_page("ab", "t-1"), _page("c", None)) as script, Client(script.address) as hub:
        assert [job.name for job in hub.jobs(state="Running")] == ["a", "b", "c"]
    assert script.asked == [
        "GET /v1/jobs?state=Running&limit=500",
        "GET /v1/jobs?state=Running&limit=500&continue=t-1",
    ]


def test_a_limit_ends_the_pages():
    """No page is asked for beyond `limit`, and no more rows than that."""
    with answering(_page("ab", "t-1"), _page("c", "t-2")) as script, Client(script.address) as hub:
        assert [job.name for job in hub.jobs(limit=3)] == ["a", "b", "c"]
    assert script.asked[-1] == "GET /v1/jobs?limit=1&continue=t-1"


@pytest.mark.parametrize(
    ("act", "answer"),
    [
        (lambda hub: list(hub.jobs()), items()),
        (lambda hub: hub.submit(a_job()), Answer(a_listed_job(), 201)),
        (lambda hub: hub.submit_many([a_job()]), items(a_listed_job())),
        (lambda hub: hub.apply(b"kind: Namespace"), items()),
        (lambda hub: hub.cancel("01a1"), Answer(a_listed_job())),
        (lambda hub: hub.cordon("gpu-1"), Answer(a_listed_cluster())),
    ],
    ids=["jobs", "submit", "submit_many", "apply", "cancel", "cordon"],
)
def test_a_kept_connection_that_has_died_is_replaced(act, answer):
    """A hub that has closed the kept connection is asked again over a new one, once."""
    with answering(items(), Answer(cut=True), answer) as script, Client(script.address) as hub:
        list(hub.jobs())
        act(hub)
    assert script.asked[1] == script.asked[2]
    assert script.bodies[1] == script.bodies[2]


def test_a_hub_that_keeps_cutting_is_left_alone():
    """What may be repeated is repeated once; a second cut is told."""
    with answering(Answer(cut=True)) as script, Client(script.address) as hub:
        with pytest.raises(Unreachable, match="no hub answers"):
            hub.queues()
        assert len(script.asked) == 2


def test_what_is_not_repeatable_is_not_repeated():
    """Declaring a member makes a secret: cut off, it is not asked again."""
    with answering(items(), Answer(cut=True), items()) as script, Client(script.address) as hub:
        list(hub.jobs())
        with pytest.raises(Unreachable):
            hub.add_cluster("c9")
    assert len(script.asked) == 2


def test_a_connection_closed_while_idle_is_noticed():
    """After a pause in which the hub closed the connection, even what is not repeatable goes through."""
    answers = [Answer({"items": []}, close=True), Answer(a_join_token(), 201)]
    with answering(*answers) as script, Client(script.address) as hub:
        hub.queues()
        pooled: Any = hub._transport._http._transport
        kept = pooled._pool.connections
        deadline = time.monotonic() + 5
        while not all(each.has_expired() for each in kept) and time.monotonic() < deadline:
            pass  # until the server's end of the connection has arrived
        assert hub.add_cluster("c9").join_token == "t"


def test_a_repeated_submit_carries_the_same_key():
    """The Idempotency-Key that was made up for a submit is the same when it is sent again."""
    answers = [items(), Answer(cut=True), Answer(a_listed_job(), 201)]
    with answering(*answers) as script, Client(script.address) as hub:
        hub.queues()
        hub.submit(a_job())
    keys = [sent["Idempotency-Key"] for sent in script.headers[1:]]
    assert len(set(keys)) == 1
    assert len(keys) == 2


def test_a_busy_hub_is_asked_again_when_it_says():
    """429 with a short Retry-After is waited for, for requests of any kind."""
    busy = problem(429, "TooManyRequests", "later")
    busy.headers["Retry-After"] = "0"
    with (
        answering(busy, busy, Answer(a_join_token())) as script,
        Client(script.address) as hub,
    ):
        assert hub.add_cluster("c9").join_token == "t"


@pytest.mark.parametrize("pause", ["0", "3600", "soon"])
def test_a_hub_that_stays_busy_is_left_alone(pause):
    """After three answers of 429, or one with a long pause, the refusal is raised."""
    busy = problem(429, "TooManyRequests", "later")
    busy.headers["Retry-After"] = pause
    with (
        answering(busy) as script,
        Client(script.address) as hub,
        pytest.raises(Rejected, match="TooManyRequests"),
    ):
        hub.queues()
    assert len(script.asked) == (3 if pause == "0" else 1)


def test_a_refusal_carries_code_detail_and_fields():
    """Rejected has what a program decides by: status, code, detail, and the fields with their codes."""
    errors = [{"field": "spec.a", "code": "InvalidType", "message": "a number"}]
    with (
        answering(problem(422, "Invalid", "no", errors=errors)) as script,
        Client(script.address) as hub,
        pytest.raises(Rejected) as caught,
    ):
        hub.submit(a_job())
    refusal = caught.value
    assert (refusal.status, refusal.code, refusal.detail) == (422, "Invalid", "no")
    assert (refusal.errors[0].field, refusal.errors[0].code) == ("spec.a", "InvalidType")


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, NotAllowed), (403, NotAllowed), (404, NotFound), (409, Rejected), (503, Unreachable)],
)
def test_statuses_become_errors(status, kind):
    """Each status of a refusal is an error of its own kind."""
    with (
        answering(problem(status, "Code", "words")) as script,
        Client(script.address) as hub,
        pytest.raises(kind, match="words"),
    ):
        hub.queues()


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"<html>hello</html>"),
        Answer(b"<html>no</html>", 404),
        Answer([1, 2]),
        Answer({"hello": "world"}),
        Answer(b""),
        Answer(b"", 302, {"Location": "https://elsewhere.example/"}),
    ],
    ids=["page", "page-404", "list", "object", "empty", "redirect"],
)
def test_another_server_is_no_hub(answer):
    """An answer that no hub gives is Unreachable, with the address."""
    with (
        answering(answer) as script,
        Client(script.address) as hub,
        pytest.raises(Unreachable, match=f"{script.address} is not a hub"),
    ):
        hub.queues()


def test_the_token_of_a_folder_goes_to_its_own_hub_only(tmp_path, monkeypatch):
    """The credential that `up` left in its folder is not sent to a hub at another address."""
    with answering(items()) as own, answering(items()) as other:
        (tmp_path / "server").write_text(own.address + "\n")
        (tmp_path / "admin.token").write_text("secret\n")
        monkeypatch.setenv("ROADSTEAD_DATA", str(tmp_path))
        for address in (None, own.address + "/", other.address):
            with Client(address) as hub:
                hub.queues()
    assert [sent.get("Authorization") for sent in own.headers] == ["Bearer secret"] * 2
    assert "Authorization" not in other.headers[0]


def test_the_environment_names_a_hub(monkeypatch):
    """ROADSTEAD_SERVER and ROADSTEAD_TOKEN are used where no arguments are given."""
    with answering(items()) as script:
        monkeypatch.setenv("ROADSTEAD_SERVER", script.address)
        monkeypatch.setenv("ROADSTEAD_TOKEN", "t-1")
        with Client() as hub:
            hub.queues()
        with Client(token="t-2") as hub:
            hub.queues()
    assert [sent["Authorization"] for sent in script.headers] == ["Bearer t-1", "Bearer t-2"]


def test_a_hub_that_says_nothing_is_given_up():
    """No answer within the client's time is Unreachable; it is not asked again."""
    with (
        answering(Answer(silent=True)) as script,
        Client(script.address, timeout_s=0.5) as hub,
        pytest.raises(Unreachable, match="timed out"),
    ):
        hub.queues()
    until(lambda: script.asked, "the server has read what it was asked")
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    "act",
    [
        lambda hub: hub.jobs(labelSelector="a=b"),
        lambda hub: hub.workloads(clusterQueue="q"),
        lambda hub: hub.checks(queue="q"),
        lambda hub: hub.events(kin="Job"),
        lambda hub: hub.changes(since=7),
        lambda hub: hub.submit_iter([], keys="k"),
        lambda hub: hub.wait("01a1", timeout=3),
    ],
    ids=["jobs", "workloads", "checks", "events", "changes", "submit_iter", "wait"],
)
def test_what_a_call_does_not_know_is_refused_there(act):
    """A wrong argument is a TypeError of the call itself, before anything is asked or iterated."""
    with (
        answering(items()) as script,
        Client(script.address) as hub,
        pytest.raises(TypeError, match="unexpected keyword"),
    ):
        act(hub)
    assert script.asked == []


def test_a_list_is_asked_for_when_it_is_called():
    """A refusal of the first page is raised by the call, not by the iteration that may never come."""
    with (
        answering(problem(422, "InvalidState", "must be one of")) as script,
        Client(script.address) as hub,
        pytest.raises(Rejected, match="InvalidState"),
    ):
        hub.jobs(state="Nope")


def test_the_environments_proxies_are_not_asked(monkeypatch):
    """A token goes to its hub and to no proxy that the environment names."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with answering(items()) as script, Client(script.address, "t-1") as hub:
        hub.queues()
    assert len(script.asked) == 1


def test_a_client_may_be_shared_by_threads():
    """Eight threads over one client each get the answers to their own questions."""

    def answer(path: str) -> Answer:
        return Answer(a_listed_cluster(path.rpartition("/")[2]))

    with answering(asked=answer) as script, Client(script.address) as hub:
        names = [f"c{number}" for number in range(200)]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda name: hub.cluster(name).name, names))
    assert found == names


def test_a_call_is_a_function_of_its_client():
    """Looked up on the class it takes the client first; its words and arguments are to be seen."""
    with answering(Answer(a_listed_cluster())) as script, Client(script.address) as hub:
        of_the_class: Any = Client.cluster
        assert of_the_class(hub, "gpu-1") == hub.cluster("gpu-1")
        assert str(inspect.signature(hub.cluster)).startswith("(name: str)")
        assert inspect.getdoc(hub.cluster) == "One member cluster."


def test_help_shows_what_a_method_answers():
    """Signature and annotations are the client's: the answer, an iterator, a coroutine; never the steps."""
    with Client("http://127.0.0.1:9") as hub:
        assert str(inspect.signature(hub.submit)).endswith("-> roadstead.models.jobs.Job")
        assert inspect.signature(hub.jobs).return_annotation == Iterator[Job]
        assert inspect.signature(hub.changes).return_annotation == Stream[Change]
        assert hub.submit.__annotations__["return"] is Job
    assert inspect.signature(Client.submit).return_annotation is Job
    assert next(iter(inspect.signature(Client.submit).parameters)) == "self"
    of_async = inspect.signature(AsyncClient.submit).return_annotation
    assert of_async == Coroutine[Any, Any, Job]
    assert inspect.signature(AsyncClient.jobs).return_annotation == AsyncIterator[Job]
    named = [name for name in vars(Calls) if not name.startswith("_")]
    assert len(named) > 40
    for client in (Client, AsyncClient):
        for name in named:
            assert "Generator" not in str(inspect.signature(getattr(client, name))), name


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda hub: hub.wait_all("default/hello"), "several names"),
        (lambda hub: hub.submit_many("abc"), "several manifests"),
        (lambda hub: hub.submit_many({}), "several manifests"),
        (lambda hub: list(hub.submit_iter(b"abc")), "several manifests"),
        (lambda hub: hub.submit(None), "a manifest is a mapping"),
        (lambda hub: hub.job(None), "a name is a str, not NoneType"),
        (lambda hub: hub.wait(1), "a name is a str, not int"),
        (lambda hub: hub.cluster(None), "a name is a str, not NoneType"),
        (lambda hub: hub.local_queue(["a"]), "a name is a str, not list"),
    ],
    ids=["wait_all", "str", "dict", "iter", "submit", "job", "wait", "cluster", "queue"],
)
def test_an_argument_of_another_kind_is_a_type_error(act, words):
    """One sentence at the call, before anything is asked of a hub."""
    with Client("http://127.0.0.1:9") as hub, pytest.raises(TypeError, match=words):
        act(hub)


def test_numbers_that_can_not_be_are_value_errors():
    """A negative limit, a timeout that is no time."""
    with Client("http://127.0.0.1:9") as hub, pytest.raises(ValueError, match="limit is -1"):
        hub.jobs(limit=-1)
    for timeout_s in (-1, 0, float("nan")):
        with pytest.raises(ValueError, match="timeout_s is"):
            Client("http://127.0.0.1:9", timeout_s=timeout_s)


def test_a_closed_client_says_so():
    """Whatever is called on it is a RoadsteadError, and no error of the library beneath."""
    hub = Client("http://127.0.0.1:9")
    hub.close()
    for act in (hub.queues, hub.jobs, hub.changes):
        with pytest.raises(RoadsteadError, match="this client is closed"):
            act()


def test_a_kind_by_another_spelling_is_no_empty_list():
    """`objects` of a kind that the hub has in another case or group says which; an unused kind is empty."""
    held = items({"group": "", "kind": "ConfigMap", "count": 1})
    with (
        answering(items(), held) as script,
        Client(script.address) as hub,
        pytest.raises(NotFound, match="'ConfigMap', group='core'"),
    ):
        hub.objects("configmap")
    with answering(items(), held) as script, Client(script.address) as hub:
        assert list(hub.objects("ConfigMap", namespace="empty")) == []
    with answering(items(), held) as script, Client(script.address) as hub:
        assert list(hub.objects("Secret")) == []


def test_the_package_has_its_version_and_is_the_command():
    """`roadstead.__version__` is the distribution's; `python -m roadstead` is `roadstead`."""
    command = [sys.executable, "-m", "roadstead", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == f"roadstead {roadstead.__version__}\n"
