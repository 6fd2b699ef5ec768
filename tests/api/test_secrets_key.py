"""`--secrets-key` of hubs as processes: refused in one line, and another key taken while it serves."""

import base64
import contextlib
import json
import sqlite3

import pytest

from tests.api.process import admin, ended, running
from tests.api.secrecy import NOT_TO_VIEWERS, TO_NOBODY, a_job_with_env, a_secret, encoded
from tests.waiting import until

ONE, TWO = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))


def a_file(folder, *lines):
    folder.mkdir(exist_ok=True)
    path = folder / "keys"
    path.write_text("\n".join(lines))
    return str(path)


def content(folder):
    return b"".join(path.read_bytes() for path in folder.glob("hub.db*"))


def is_under_one_key(folder):
    with contextlib.closing(sqlite3.connect(folder / "hub.db")) as db:
        (found,) = db.execute("SELECT value FROM settings WHERE name = 'secrets_keys'").fetchone()
    state = json.loads(found)
    return state["ids"] == [state["done"]]


def fill(folder, address):
    with admin(folder, address) as hub:
        job = hub.post("/v1/jobs", json=a_job_with_env(), headers={"Idempotency-Key": "once"})
        assert (job.status_code, hub.post("/v1/apply", json=a_secret()).status_code) == (201, 200)


def canaries(folder):
    words = (TO_NOBODY, encoded(TO_NOBODY), NOT_TO_VIEWERS)
    return [word for word in words if word.encode() in content(folder)]


def test_secrets_are_kept_encrypted(tmp_path):
    """Contents of Secrets and values of environments: none is in the files of the database."""
    hub, keys = tmp_path / "hub", a_file(tmp_path, ONE)
    with running(hub, "--secrets-key", keys) as (_, address):
        fill(hub, address)
        assert canaries(hub) == []
    with running(hub, "--secrets-key", keys) as (_, address), admin(hub, address) as client:
        (job,) = client.get("/v1/jobs").json()["items"]
        told = client.get(f"/v1/jobs/{job['uid']}").text
        assert NOT_TO_VIEWERS in told, "whoever may see it does"
    with running(tmp_path / "clear") as (_, address):
        fill(tmp_path / "clear", address)
        assert canaries(tmp_path / "clear"), "without a key they are in clear"


@pytest.mark.parametrize(
    ("lines", "code", "says"),
    [
        ((), 3, "no --secrets-key was given"),
        ((TWO,), 3, "--secrets-key has another"),
        (("not a key",), 2, "line 1 is no base64"),
        (("",), 2, "there is no key in it"),
    ],
)
def test_a_hub_without_the_right_key_does_not_start(tmp_path, lines, code, says):
    """One line on stderr and an exit code of its own, instead of a failure later."""
    hub = tmp_path / "hub"
    with running(hub, "--secrets-key", a_file(tmp_path, ONE)):
        pass
    more = ("--secrets-key", a_file(tmp_path, *lines)) if lines else ()
    found, said = ended(hub, *more)
    assert found == code
    assert says in said[-1]
    assert "not a key" not in said[-1]


def test_the_file_is_named_by_the_environment_too(tmp_path):
    """ROADSTEAD_SECRETS_KEY; one that is not there is a refusal."""
    named = {"ROADSTEAD_SECRETS_KEY": str(tmp_path / "absent")}
    code, said = ended(tmp_path / "hub", env=named)
    assert (code, "absent: No such file" in said[-1]) == (2, True)


def test_another_key_takes_over_while_the_hub_serves(tmp_path):
    """With the new key first a running hub brings everything under it; then it starts with that alone."""
    hub = tmp_path / "hub"
    with running(hub) as (_, address):
        fill(hub, address)
    for lines in ((ONE,), (TWO, ONE)):
        with running(hub, "--secrets-key", a_file(tmp_path, *lines)) as (_, address):
            until(lambda: is_under_one_key(hub), "a pass is over", within_s=60)
            with admin(hub, address) as client:
                assert client.get("/v1/jobs").json()["items"]
    last = ("--secrets-key", a_file(tmp_path, TWO))
    with running(hub, *last) as (_, address), admin(hub, address) as client:
        again = client.post("/v1/jobs", json=a_job_with_env(), headers={"Idempotency-Key": "once"})
        assert again.headers["Idempotent-Replay"] == "true"
