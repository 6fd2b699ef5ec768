"""Watches: order, selection, resumption, bookmarks, ends."""

import json
import threading
import time

import pytest

from tests.kubesim.server.build import a_config_map
from tests.kubesim.server.kube import PATIENCE_S

MINE = {"labelSelector": "mine"}


def mine(name, **meta):
    return a_config_map(name, labels={"mine": "yes"}, **meta)


def collected(kube, until, **query):
    """Watch in the background; returns (events, join). `until` says when enough has come."""
    events = []
    opened = threading.Event()

    def follow():
        url = kube.url("configmaps", watch="true", timeoutSeconds=20, **{**MINE, **query})
        with kube.http.stream("GET", url) as reply:
            opened.set()
            for line in reply.iter_lines():
                events.append(json.loads(line))
                if until(events):
                    return

    thread = threading.Thread(target=follow)
    thread.start()
    assert opened.wait(PATIENCE_S)
    return events, lambda: thread.join(PATIENCE_S)


def kinds(events):
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


def now(kube):
    return kube.http.get(kube.url("configmaps")).json()["metadata"]["resourceVersion"]


def test_changes_come_in_order(kube):
    """Creation, change and deletion arrive as ADDED, MODIFIED and DELETED."""
    events, join = collected(kube, lambda seen: len(seen) == 3, resourceVersion=now(kube))
    kube.create("configmaps", mine("one"))
    kube.patch("configmaps", "one", {"data": {"x": "1"}})
    kube.delete("configmaps", "one")
    join()
    assert kinds(events) == [("ADDED", "one"), ("MODIFIED", "one"), ("DELETED", "one")]


def test_versions_grow(kube):
    """Each event has a higher resourceVersion than the one before, the deletion too."""
    events, join = collected(kube, lambda seen: len(seen) == 3, resourceVersion=now(kube))
    kube.create("configmaps", mine("one"))
    kube.patch("configmaps", "one", {"data": {"x": "1"}})
    kube.delete("configmaps", "one")
    join()
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))


def test_without_a_version_the_present_comes_first(kube):
    """A watch without resourceVersion begins with what is there, as ADDED."""
    kube.create("configmaps", mine("there"))
    events, join = collected(kube, lambda seen: len(seen) == 1)
    join()
    assert kinds(events) == [("ADDED", "there")]


def test_a_watch_resumes_after_a_version(kube):
    """A watch from a resourceVersion shows what came after it, also if that was long before."""
    before = now(kube)
    kube.create("configmaps", mine("one"))
    kube.delete("configmaps", "one")
    events, join = collected(kube, lambda seen: len(seen) == 2, resourceVersion=before)
    join()
    assert kinds(events) == [("ADDED", "one"), ("DELETED", "one")]


def test_an_object_enters_and_leaves_a_selection(kube):
    """Gaining the label is ADDED, losing it DELETED."""
    made = kube.create("configmaps", a_config_map("shy"))
    version = made["metadata"]["resourceVersion"]
    events, join = collected(kube, lambda seen: len(seen) == 2, resourceVersion=version)
    kube.patch("configmaps", "shy", {"metadata": {"labels": {"mine": "yes"}}})
    kube.patch("configmaps", "shy", {"metadata": {"labels": {"mine": None}}})
    join()
    assert kinds(events) == [("ADDED", "shy"), ("DELETED", "shy")]


def test_a_watch_by_name(kube):
    """fieldSelector metadata.name follows one object."""
    start = now(kube)
    kube.create("configmaps", mine("one"))
    kube.create("configmaps", mine("two"))
    query = {"fieldSelector": "metadata.name=two", "resourceVersion": start}
    events, join = collected(kube, lambda seen: len(seen) == 1, **query)
    join()
    assert kinds(events) == [("ADDED", "two")]


def test_a_watch_ends_when_its_time_is_up(kube):
    """timeoutSeconds ends the stream cleanly."""
    started = time.monotonic()
    events = list(kube.watch("configmaps", timeoutSeconds=1, resourceVersion=now(kube), **MINE))
    assert events == []
    assert 0.5 < time.monotonic() - started < PATIENCE_S


@pytest.mark.kube_from("1.34", "watches that begin with a list")
def test_initial_events_end_with_a_bookmark(kube):
    """sendInitialEvents shows the present and marks its end."""
    kube.create("configmaps", mine("there"))
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    events, join = collected(kube, lambda seen: seen[-1]["type"] == "BOOKMARK", **query)
    join()
    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK"]
    annotations = events[-1]["object"]["metadata"]["annotations"]
    assert annotations == {"k8s.io/initial-events-end": "true"}


def test_the_deprecated_path_watches_too(kube):
    """/api/v1/watch/namespaces/… is the old spelling."""
    made = kube.create("configmaps", mine("there"))
    path = f"/api/v1/watch/namespaces/{kube.namespace}/configmaps/there?timeoutSeconds=1"
    lines = [json.loads(line) for line in kube.http.get(path).text.splitlines()]
    assert lines[0]["object"]["metadata"]["uid"] == made["metadata"]["uid"]


def test_a_table_watch_sends_rows(kube):
    """kubectl get -w asks for tables: the columns come once."""
    kube.create("configmaps", mine("one"))
    kube.create("configmaps", mine("two"))
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    url = kube.url("configmaps", watch="true", timeoutSeconds=1, **MINE)
    lines = kube.http.get(url, headers={"accept": accept}).text.splitlines()
    tables = [json.loads(line)["object"] for line in lines]
    assert [table["kind"] for table in tables] == ["Table", "Table"]
    assert tables[0]["columnDefinitions"]
    assert not tables[1].get("columnDefinitions")
    assert tables[1]["rows"][0]["cells"][0] == "two"
