"""Faults that can be asked for: each strikes what it matches, as often as it says."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.kubesim.server.build import a_config_map

_names = (f"victim-{number}" for number in range(1000))


@pytest.fixture
def fault(sim):
    """Add a fault; all are removed at the end."""

    def add(action, **fields):
        reply = sim.http.post("/_sim/faults", json={"action": action, **fields})
        assert reply.status_code == 201, reply.text

    yield add
    sim.http.delete("/_sim/faults")


@pytest.fixture
def name():
    return next(_names)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("409", "Conflict"),
        ("429", "TooManyRequests"),
        ("500", "InternalError"),
        ("503", "ServiceUnavailable"),
        ("410", "Expired"),
    ],
)
def test_a_refusal_strikes_once(sim, fault, name, action, reason):
    """A fault with count 1 refuses one matching request and leaves the next alone."""
    fault(action, verb="create", resource="configmaps")
    refused = sim.http.post(sim.url("configmaps"), json=a_config_map(name))
    assert (refused.status_code, refused.json()["reason"]) == (int(action), reason)
    sim.create("configmaps", a_config_map(name))


def test_throttling_says_when_to_come_back(sim, fault, name):
    """429 carries Retry-After."""
    fault("429", verb="create", seconds=3)
    reply = sim.http.post(sim.url("configmaps"), json=a_config_map(name))
    assert reply.headers["retry-after"] == "3"


def test_a_write_can_succeed_and_say_504(sim, fault, name):
    """504-after carries the request out and reports a timeout."""
    fault("504-after", verb="create")
    assert sim.http.post(sim.url("configmaps"), json=a_config_map(name)).status_code == 504
    assert sim.exists("configmaps", name)


def test_a_connection_can_drop_before_the_write(sim, fault, name):
    """drop ends the connection; nothing was done."""
    fault("drop", verb="create")
    with pytest.raises(httpx.TransportError):
        sim.http.post(sim.url("configmaps"), json=a_config_map(name))
    assert not sim.exists("configmaps", name)


def test_a_connection_can_drop_after_the_write(sim, fault, name):
    """drop-after ends the connection; the write was done."""
    fault("drop-after", verb="create")
    with pytest.raises(httpx.TransportError):
        sim.http.post(sim.url("configmaps"), json=a_config_map(name))
    assert sim.exists("configmaps", name)


def test_a_delay_slows_a_request(sim, fault):
    """delay holds the request for so many seconds."""
    fault("delay", verb="get", seconds=0.4)
    started = time.monotonic()
    sim.get("namespaces", "default")
    assert time.monotonic() - started >= 0.4


def test_a_hold_keeps_a_request_until_it_is_removed(sim, fault, name):
    """hold carries the request out when the fault is removed, and not before."""
    fault("hold", verb="create")
    with ThreadPoolExecutor() as threads:
        post = threads.submit(sim.http.post, sim.url("configmaps"), json=a_config_map(name))
        with pytest.raises(TimeoutError):
            post.result(timeout=0.3)
        assert not sim.exists("configmaps", name)
        sim.http.delete("/_sim/faults")
        assert post.result(timeout=10).status_code == 201


def test_a_fault_chooses_by_name(sim, fault, name):
    """Other objects are not struck."""
    fault("500", verb="get", name="somebody-else")
    sim.create("configmaps", a_config_map(name))
    sim.get("configmaps", name)


def test_a_count_of_zero_strikes_until_removed(sim, fault):
    """count 0 means always."""
    fault("500", verb="get", resource="namespaces", count=0)
    url = sim.url("namespaces", "default")
    assert [sim.http.get(url).status_code for _ in range(3)] == [500] * 3
    sim.http.delete("/_sim/faults")
    assert sim.http.get(url).status_code == 200


def test_watches_can_be_cut(sim, fault, name):
    """cut ends open watches of a resource."""
    url = sim.url(
        "configmaps", watch="true", timeoutSeconds=30, fieldSelector=f"metadata.name={name}"
    )
    started = time.monotonic()
    with sim.http.stream("GET", url) as reply:
        fault("cut", resource="configmaps")
        assert list(reply.iter_lines()) == []
    assert time.monotonic() - started < 20


def test_watches_can_stall(sim, fault, name):
    """stall keeps a watch silent for a while; nothing is lost."""
    selector = {"fieldSelector": f"metadata.name={name}"}
    fault("stall", resource="configmaps", seconds=1)
    started = time.monotonic()
    url = sim.url("configmaps", watch="true", timeoutSeconds=20, **selector)
    with sim.http.stream("GET", url) as reply:
        sim.create("configmaps", a_config_map(name))
        line = json.loads(next(reply.iter_lines()))
    assert line["object"]["metadata"]["name"] == name
    assert time.monotonic() - started >= 0.5


def test_an_open_watch_stalls_at_once(sim, fault, name):
    """A watch that waits when it is stalled does not show the next event either."""
    selector = {"fieldSelector": f"metadata.name={name}"}
    url = sim.url("configmaps", watch="true", timeoutSeconds=20, **selector)
    with sim.http.stream("GET", url) as reply:
        fault("stall", resource="configmaps", seconds=1)
        started = time.monotonic()
        sim.create("configmaps", a_config_map(name))
        line = json.loads(next(reply.iter_lines()))
    assert line["object"]["metadata"]["name"] == name
    assert time.monotonic() - started >= 0.5


def test_a_compacted_history_is_gone(sim, fault, name):
    """compact forgets the history: a watch from before gets an ERROR event with code 410."""
    made = sim.create("configmaps", a_config_map(name))
    version = int(made["metadata"]["resourceVersion"]) - 1
    fault("compact")
    events = list(sim.watch("configmaps", resourceVersion=version))
    assert [event["type"] for event in events] == ["ERROR"]
    assert events[0]["object"]["code"] == 410
    assert events[0]["object"]["reason"] == "Expired"


def test_an_unknown_fault_is_refused(sim):
    """Actions are a fixed list."""
    reply = sim.http.post("/_sim/faults", json={"action": "explode"})
    assert reply.status_code == 400
    assert "unknown action" in reply.json()["message"]


def test_faults_are_for_administrators(sim):
    """A ServiceAccount's token may not add faults."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    reply = sim.http.post(sim.url("serviceaccounts", "default", "token"), json=body)
    headers = {"authorization": f"Bearer {reply.json()['status']['token']}"}
    refused = sim.http.post("/_sim/faults", json={"action": "500"}, headers=headers)
    assert refused.status_code == 403


def test_an_oversized_body_is_refused(sim, name):
    """Requests above 3 MiB are 413."""
    big = a_config_map(name, data={"x": "y" * (3 * 1024 * 1024 + 1)})
    assert sim.http.post(sim.url("configmaps"), json=big).status_code == 413
