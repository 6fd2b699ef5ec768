"""The hub as a process: it says when it is ready, keeps its token, ends cleanly, runs once per folder."""

import json
import signal

import httpx
import pytest

from tests import databases
from tests.api.process import admin, ended, log_of, running
from tests.api.serving import a_job

pytestmark = pytest.mark.slow


def test_a_hub_starts_serves_and_ends(tmp_path):
    """SIGTERM ends it with 0; the token file is private and outlives a restart, as do the jobs."""
    with running(tmp_path) as (process, address):
        with admin(tmp_path, address) as http:
            assert http.post("/v1/jobs", json=a_job()).status_code == 201
        assert (tmp_path / "admin.token").stat().st_mode & 0o777 == 0o600
        token = (tmp_path / "admin.token").read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    with running(tmp_path) as (_, address), admin(tmp_path, address) as http:
        assert (tmp_path / "admin.token").read_text() == token
        assert [job["name"] for job in http.get("/v1/jobs").json()["items"]] == ["ok"]


def test_a_given_token_is_the_administrators(tmp_path):
    """A mounted Secret's token works from the first start on, in every folder; the file is left alone."""
    token = f"{'a' * 32}.{'b' * 43}"
    given, link = tmp_path / "..data", tmp_path / "token"
    given.write_text(token + "\n")
    link.symlink_to(given)
    for data in ("one", "one", "two"):
        with running(tmp_path / data, f"--admin-token-file={link}") as (_, address):
            headers = {"Authorization": f"Bearer {token}"}
            assert httpx.get(f"{address}/v1/overview", headers=headers).status_code == 200
            assert not (tmp_path / data / "admin.token").exists()
    assert given.read_text() == token + "\n"


def test_a_given_token_that_can_not_be_taken_is_refused(tmp_path):
    """The hub does not write into what was mounted: it says in one line what the file should hold."""
    given, link = tmp_path / "..data", tmp_path / "token"
    given.write_text("changeme\n")
    link.symlink_to(given)
    _refused(tmp_path, link, "no administrator's token")
    assert given.read_text() == "changeme\n"


def test_a_file_that_holds_something_else_is_not_overwritten(tmp_path):
    """The path may be a mistake: what no hub has written there stays, and a folder is named as one."""
    other = tmp_path / "notes"
    other.write_bytes(b"\xffnot a token\n")
    with running(tmp_path / "data"):
        pass
    _refused(tmp_path, other, "no administrator's token")
    assert other.read_bytes() == b"\xffnot a token\n"
    _refused(tmp_path, tmp_path, "Is a directory")


def test_that_the_token_before_has_ended_is_said(tmp_path):
    """Not at the first start, where there was none; whoever names another file ends everybody's."""
    for name, said in (("one", 0), ("one", 0), ("two", 1)):
        with running(tmp_path, f"--admin-token-file={tmp_path / name}") as (process, _):
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        assert log_of(tmp_path).read_text().count("the previous one is revoked") == said


@pytest.mark.store("postgres")
def test_a_second_hub_without_the_token_does_not_start(tmp_path):
    """On a database that others run on: a token of its own would end everybody's, so it asks for theirs."""
    with databases.own_server() as server:
        at = f"--database={server.database('hub')}"
        token = tmp_path / "one" / "admin.token"
        with running(tmp_path / "one", at) as (_, address):
            before = token.read_text()
            _refused(tmp_path, tmp_path / "none", "Give theirs by --admin-token-file", at)
            with running(tmp_path / "two", at, f"--admin-token-file={token}"):
                assert token.read_text() == before
            with admin(tmp_path / "one", address) as http:
                assert http.get("/v1/jobs").status_code == 200
            assert not (tmp_path / "none").exists()


def _refused(folder, token_file, words, *more):
    """A hub with this file for its token ends with 2 and one line that holds the words."""
    code, (line,) = ended(folder / "data", f"--admin-token-file={token_file}", *more)
    assert (code, words in line) == (2, True), line


def test_changes_are_streamed_as_they_are_committed(tmp_path):
    """Server-sent events from a revision on; a job submitted meanwhile is among them."""
    with running(tmp_path) as (_, address), admin(tmp_path, address) as http:
        revision = http.get("/v1/overview").json()["revision"]
        accept = {"Accept": "text/event-stream"}
        with http.stream("GET", f"/v1/changes?revision={revision}", headers=accept) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            lines = stream.iter_lines()
            assert next(lines) == ": following"
            with admin(tmp_path, address) as other:
                uid = other.post("/v1/jobs", json=a_job()).json()["uid"]
            for line in lines:
                if line.startswith("data:"):
                    change = json.loads(line[5:])
                    assert change["revision"] > revision
                    if change["kind"] == "workloads" and uid in change["keys"]:
                        break


def test_one_process_per_folder(tmp_path):
    """A second hub on the same folder says so and ends."""
    with running(tmp_path):
        code, said = ended(tmp_path)
        assert code != 0
        assert "another hub is running" in said[-1]


def test_an_acknowledged_job_survives_kill_9(tmp_path):
    """Every job that was answered 201 is there after kill -9."""
    with running(tmp_path) as (process, address):
        with admin(tmp_path, address) as http:
            acknowledged = [
                http.post("/v1/jobs", json=a_job(f"j{i}")).json()["uid"] for i in range(50)
            ]
        process.kill()
        process.wait()
    with running(tmp_path) as (_, address), admin(tmp_path, address) as http:
        kept = {job["uid"] for job in http.get("/v1/jobs?limit=500").json()["items"]}
        assert kept == set(acknowledged)
