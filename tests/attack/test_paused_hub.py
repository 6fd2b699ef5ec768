"""A hub that was paused reads what an agent sent long ago: the agent is no thief for that."""

import os
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import orjson
import pytest

from tests import databases, waiting
from tests.api.process import admin, running

pytestmark = [pytest.mark.store("postgres"), pytest.mark.timeout(120)]
OVERLAP_S = 4


def body(seq: int) -> dict[str, object]:
    return {
        "proto": 2,
        "session": "session-north-1",
        "seq": seq,
        "cluster_uid": "uid-north",
        "marks": [],
    }


def sync(http: httpx.Client, credential: str, seq: int) -> httpx.Response:
    headers = {"Authorization": f"Bearer {credential}", "Roadstead-Protocol": "1-2"}
    return http.post("/agent/v1/sync", json=body(seq), headers=headers)


def test_a_request_that_lay_in_a_paused_hub_is_no_copy(tmp_path: Path, monkeypatch) -> None:
    """Two hubs. The agent's request lies unread in the one that is stopped; the agent gives up on it,
    goes to the other hub, and is given its next credential there. Then the first one wakes up.

    The overlap is 4 s instead of 10 min, so that the pause is short.
    """
    monkeypatch.setenv("ROADSTEAD_API_AGENT_CREDENTIAL_KEPT", "15")
    monkeypatch.setenv("ROADSTEAD_API_AGENT_CREDENTIAL_OVERLAP", str(OVERLAP_S))
    monkeypatch.setenv("ROADSTEAD_API_TOKEN_CACHE_S", "1")
    with databases.own_server() as server:
        at = server.database("hub")
        shared = ("--database", at)
        token = ("--admin-token-file", str(tmp_path / "one" / "admin.token"))
        with (
            running(tmp_path / "one", *shared) as (first, here),
            running(tmp_path / "two", *shared, *token) as (_, there),
            admin(tmp_path / "one", here) as people,
            httpx.Client(base_url=there, timeout=20) as other,
            httpx.Client(base_url=here, timeout=20) as own,
        ):
            join = people.post("/v1/clusters", json={"name": "north"}).json()["joinToken"]
            joined = own.post(
                "/agent/v1/register",
                json={"cluster_uid": "uid-north"},
                headers={"Authorization": f"Bearer {join}"},
            ).json()
            credential = joined["credential"]
            waiting.pause(10.5, why="two thirds of its life")
            os.kill(first.pid, signal.SIGSTOP)
            try:
                address = urlsplit(here)
                late = socket.create_connection((address.hostname, address.port))
                content = orjson.dumps(body(1))
                late.sendall(
                    b"POST /agent/v1/sync HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\n"
                    b"Authorization: Bearer " + credential.encode() + b"\r\nContent-Length: "
                    + str(len(content)).encode() + b"\r\n\r\n" + content
                )  # fmt: skip
                late.close()  # the agent gives up on it
                answer = sync(other, credential, 2)
                assert answer.status_code == 200, answer.text
                fresh = answer.json()["rotate"]["credential"]
                assert sync(other, fresh, 3).status_code == 200  # it is used: the old one is over
                waiting.pause(OVERLAP_S + 2, why="the pause, longer than the overlap")
            finally:
                os.kill(first.pid, signal.SIGCONT)
            waiting.pause(2.5, why="it wakes up, and what was remembered is forgotten")
            again = sync(other, fresh, 4)
            assert again.status_code == 200, again.text
