"""`from roadstead import Client`: pages, repetition, errors."""

import json
import time

import pytest

import roadstead
from roadstead import Client, NotAllowed, NotFound, Rejected, TimedOut, Unreachable
from tests.cli.build import a_job, a_listed_job
from tests.cli.scripted import Answer, answering, items, problem


def _page(names: str, following: str | None) -> Answer:
    return Answer({"items": [a_listed_job(n) for n in names], "continue": following})


def test_what_is_public_is_named():
    """Every public name can be imported from the package; no other can."""
    assert {name for name in roadstead.__all__ if getattr(roadstead, name)} == {
        "Client", "JobFailed", "NotAllowed", "NotFound", "Rejected", "RoadsteadError",
        "TimedOut", "Unreachable", "WrongAddress",
    }  # fmt: skip
    with pytest.raises(AttributeError, match="Nothing"):
        _ = roadstead.Nothing


def test_a_list_is_fetched_page_by_page():
    """Iterating goes on to the next page with the token of the last, and ends where there is none."""
    with answering(_page("ab", "t-1"), _page("c", None)) as script, Client(script.address) as hub:
        assert [job["name"] for job in hub.jobs(state="Running")] == ["a", "b", "c"]
    assert script.asked == [
        "GET /v1/jobs?state=Running&limit=500",
        "GET /v1/jobs?state=Running&limit=500&continue=t-1",
    ]


def test_a_limit_ends_the_pages():
    """No page is asked for beyond `limit`, and no more rows than that."""
    with answering(_page("ab", "t-1"), _page("c", "t-2")) as script, Client(script.address) as hub:
        assert [job["name"] for job in hub.jobs(limit=3)] == ["a", "b", "c"]
    assert script.asked[-1] == "GET /v1/jobs?limit=1&continue=t-1"


def test_pages_of_a_real_hub(hub):
    """A thousand and one jobs submitted in bulk are listed once each."""
    with hub.client() as client:
        told = list(client.submit_many(a_job(f"j{i}", "bulk") for i in range(1001)))
        listed = [job["name"] for job in client.jobs(namespace="bulk")]
    assert len(told) == len(listed) == len(set(listed)) == 1001


def test_a_refused_job_of_many_is_an_entry(hub):
    """submit_many yields one result per Job in order; a refused one has its code and detail."""
    with hub.client() as client:
        good, bad = client.submit_many([a_job("many-a", "many"), a_job("Bad_Name", "many")])
    assert good["uid"]
    assert (bad["code"], bool(bad["detail"])) == ("InvalidName", True)


@pytest.mark.parametrize(
    "act",
    [
        lambda hub: list(hub.jobs()),
        lambda hub: hub.submit(a_job()),
        lambda hub: hub.apply(b"kind: Namespace"),
        lambda hub: hub.cancel("01a1"),
        lambda hub: hub.cordon("gpu-1"),
    ],
    ids=["jobs", "submit", "apply", "cancel", "cordon"],
)
def test_a_kept_connection_that_has_died_is_replaced(act):
    """A hub that has closed the kept connection is asked again over a new one, once."""
    first = items(a_listed_job())
    with answering(first, Answer(cut=True), items()) as script, Client(script.address) as hub:
        list(hub.jobs())
        act(hub)
    assert script.asked[1] == script.asked[2]


def test_what_is_not_repeatable_is_not_repeated():
    """Declaring a member makes a secret: cut off, it is not asked again."""
    with answering(items(), Answer(cut=True), items()) as script, Client(script.address) as hub:
        list(hub.jobs())
        with pytest.raises(Unreachable):
            hub.add_cluster("c9")
    assert len(script.asked) == 2


def test_a_connection_closed_while_idle_is_noticed():
    """After a pause in which the hub closed the connection, even what is not repeatable goes through."""
    answers = [Answer({"items": []}, close=True), Answer({"joinToken": "t"}, 201)]
    with answering(*answers) as script, Client(script.address) as hub:
        hub.queues()
        deadline = time.monotonic() + 5
        while hub._http._connection.sock.recv(1, 2) and time.monotonic() < deadline:
            pass  # MSG_PEEK: the server's end of the connection has arrived
        assert hub.add_cluster("c9") == {"joinToken": "t"}


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
        answering(busy, busy, Answer({"joinToken": "t"})) as script,
        Client(script.address) as hub,
    ):
        assert hub.add_cluster("c9") == {"joinToken": "t"}


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
        pytest.raises(Unreachable, match=f"{script.address} is no hub"),
    ):
        hub.queues()


def test_waiting_has_an_end():
    """wait raises TimedOut with the state that the job is in."""
    with (
        answering(Answer(a_listed_job())) as script,
        Client(script.address) as hub,
        pytest.raises(TimedOut, match=r"team-a/ok is Running after 0\.05 s"),
    ):
        hub.wait("01a1", timeout_s=0.05, every_s=0.01)


def test_the_stream_of_changes_gives_objects():
    """changes() decodes the data of each server-sent event, until the hub ends the stream."""
    lines = b"event: change\ndata: " + json.dumps({"revision": 7}).encode() + b"\n\n: ping\n"
    with answering(Answer(lines)) as script, Client(script.address) as hub:
        assert list(hub.changes(6)) == [{"revision": 7}]
    assert script.asked == ["GET /v1/changes?revision=6"]


def test_an_executor_follows_workloads_and_reports():
    """watch_workloads() gives each state by itself; report_workload() names the run that is meant."""
    seen = {"namespace": "a", "name": "w", "state": "Placed", "epoch": 2}
    line = b"data: " + json.dumps({"revision": 7, "items": [seen, seen]}).encode() + b"\n\n"
    with answering(Answer(line), Answer(seen)) as script, Client(script.address) as hub:
        assert list(hub.watch_workloads(6, kind="Workload", state="Placed")) == [seen, seen]
        hub.report_workload("a/w", {"conditions": []}, epoch=2)
    assert script.asked == [
        "GET /v1/workloads:watch?revision=6&kind=Workload&state=Placed",
        "PATCH /v1/workloads/a/w/status?epoch=2",
    ]


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
