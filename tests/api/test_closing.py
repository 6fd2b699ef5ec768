"""The hub ends at once when it is told to: what hangs ends itself, and the log is clean."""

import contextlib
import signal
import threading
import time
import uuid

import httpx
import pytest

from shared.wire.agent_v1 import REGISTER_PATH, SYNC_PATH
from shared.wire.versions import OLDEST
from tests import waiting
from tests.api.process import admin, log_of, running

pytestmark = pytest.mark.slow
GRACE_S = 3.0  # the hub then cuts off what hangs, and says so as an error


def test_hanging_polls_and_streams_end_with_the_hub(tmp_path):
    """SIGTERM with an agent's poll, a change stream and an open page: 0 before any grace ends, no error."""
    with contextlib.ExitStack() as stack:
        process, address = stack.enter_context(running(tmp_path))
        http = stack.enter_context(admin(tmp_path, address))
        lines = stack.enter_context(_stream(http, "/v1/changes"))
        assert next(lines) == ": following"
        pieces = stack.enter_context(_stream(_signed_in(stack, tmp_path, address), "/live"))
        assert next(pieces).startswith("data:")
        poll = _Poll(stack, address, _credential(http, address))
        poll.hang()

        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        took = time.monotonic() - began

        assert process.returncode == 0
        assert took < GRACE_S, f"{took:.1f} s"  # about 0.4 s
        lines_said = log_of(tmp_path).read_text().splitlines()
        assert [line for line in lines_said if "rror" in line or "Traceback" in line] == []
        poll.join()
        assert poll.status == 200  # answered, empty, rather than cut off
        list(lines), list(pieces)  # a stream that was cut off raises


def _stream(http, path):
    @contextlib.contextmanager
    def opened():
        with http.stream("GET", path, timeout=120) as reply:
            assert reply.status_code == 200, reply.read()
            yield reply.iter_lines()

    return opened()


def _signed_in(stack, folder, address):
    token = (folder / "admin.token").read_text().strip()
    http = stack.enter_context(httpx.Client(base_url=address))
    assert http.post("/login", data={"token": token}).status_code == 303
    return http


def _credential(http, address):
    join = http.post("/v1/clusters", json={"name": "c1"}).json()["joinToken"]
    reply = httpx.post(
        address + REGISTER_PATH,
        headers={"Authorization": f"Bearer {join}"},
        json={"cluster_uid": "uid-of-c1"},
    )
    assert reply.status_code == 200, reply.text
    return reply.json()["credential"]


class _Poll(threading.Thread):
    """An agent that has nothing to say and waits for news."""

    def __init__(self, stack, address, credential):
        super().__init__(daemon=True)
        headers = {"Authorization": f"Bearer {credential}"}
        self._http = stack.enter_context(
            httpx.Client(base_url=address, headers=headers, timeout=120)
        )
        self._said = {"proto": OLDEST, "cluster_uid": "uid-of-c1", "session": uuid.uuid4().hex}
        self.status = 0

    def hang(self):
        held = self._sync(seq=1, wait_s=0, observed={"full": True}).json()["desired"]
        self._said["desired"] = {name: held[name] for name in ("revision", "digest")}
        self.start()
        waiting.pause(0.3, why="a request that is held shows nothing outside")
        assert self.is_alive(), self.status

    def run(self):
        self.status = self._sync(seq=2, wait_s=20).status_code

    def _sync(self, **more):
        return self._http.post(SYNC_PATH, json={**self._said, **more})
