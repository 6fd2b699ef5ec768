"""What the page says of jobs, clusters, queues and drift, however hostile or broken their rows are."""

import re

import orjson
import pytest
from sqlalchemy import insert

from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.context import hub_cluster, timeline
from hub.store import settings
from hub.store.tables import events, works
from tests.web.pages import served_page

pytestmark = pytest.mark.anyio
HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>{{7*7}}"
QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ClusterQueue",
    "metadata": {"name": "gpus"},
    "spec": {
        "resourceGroups": [
            {
                "coveredResources": ["nvidia.com/gpu"],
                "flavors": [
                    {
                        "name": "a100",
                        "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "16"}],
                    }
                ],
            }
        ]
    },
}
CAPACITY = {
    "pools_revision": 0,
    "pools": [
        {
            "labels": {},
            "taints": [],
            "nodes": [{"allocatable": {"cpu": "8000"}, "free": {"cpu": "2000"}, "count": 1}],
        }
    ],
    "bound": [],
}


def _json(value):
    return orjson.dumps(value)


async def _fill(hub):
    """One of everything: a job, a cluster, a queue, an event, a drifted work."""
    (uid,) = await hub.submit("good")
    for name in ("c1", "c2"):
        assert (await hub.api.post("/v1/clusters", json={"name": name})).status_code == 201
    assert (await hub.api.post("/v1/apply", json=QUEUE)).status_code == 200
    await hub.hub.write(_add_rows)
    return uid


_EMPTY = {
    "String": "",
    "Text": "",
    "Boolean": False,
    "JsonColumn": {},
    "OptionsColumn": ApplyOptions(),
}


def _add_rows(tx):
    tx.event(uid="u", kind="Job", namespace="team-a", name="good", reason="Told", message="all")
    row = {
        column.name: _EMPTY.get(type(column.type).__name__, 0)
        for column in works.columns
        if not column.nullable
    }
    drift = [{"path": "/data/a", "hub": "1", "member": "2", "first_seen": "2026-03-01T11:00:00Z"}]
    row |= {"cluster": "c1", "uid": "w1", "kind": "ConfigMap", "namespace": "team-a"}
    row["options"] = ApplyOptions()
    row |= {"name": "settings", "drift": drift, "created_at": tx.now}
    tx.conn.execute(insert(works).values(**row))


async def test_a_store_that_went_back_needs_attention(tmp_path):
    """Until somebody accepts it nothing starts: the page says so first, with the way on."""
    async with served_page(tmp_path) as hub:
        mark = timeline.StoreTimeline("one", b"", [("lost", 0)]).mark(900)
        await hub.hub.write(settings.put, "incarnation", "one")
        await hub.hub.write(timeline.stop, "north", mark, "one", b"")
        words = (await hub.see()).words
        assert "Needs attention HubRolledBack: this hub's store is older" in words
        assert "roadstead restored --accept" in words


async def test_a_bridge_that_stands_still_needs_attention(tmp_path):
    """Its hub cluster does not answer: what people apply there does not arrive."""
    async with served_page(tmp_path) as hub:
        assert "bridge" not in (await hub.see()).words
        silent = {"status": "False", "reason": "HubClusterSilent", "message": "TimedOut: 3 s"}
        await hub.hub.write(hub_cluster.tell_condition, silent)
        words = (await hub.see()).words
        assert "The bridge to the hub cluster is stopped (HubClusterSilent): TimedOut" in words


async def test_all_jobs_of_a_silent_cluster_are_counted(tmp_path):
    """Those that are on their way back from it too, not the Unknown ones alone."""
    async with served_page(tmp_path) as hub:
        states = ("Running", "Unknown", "Withdrawing")
        assert (await hub.api.post("/v1/clusters", json={"name": "north"})).status_code == 201
        for uid, state in zip(await hub.submit(*"abc"), states, strict=True):
            await hub.alter("workloads", f"uid = '{uid}'", state=state, cluster="north")
        long_ago = "2026-03-01 11:00:00.000000"
        await hub.alter("clusters", "name = 'north'", joined_at=long_ago, heartbeat_at=long_ago)
        assert "3 jobs are on clusters that do not answer" in (await hub.see()).words


async def test_an_unlimited_quota_is_shown_as_such(tmp_path):
    """The queue `default` has no limit: it is as readable as any other."""
    async with served_page(tmp_path) as hub:
        await hub.submit("good")
        page = await hub.see()
        assert "Unreadable" not in page.words
        assert "of unlimited" in page.words


async def test_hostile_texts_stay_texts_in_every_cell(tmp_path):
    """Names, messages, labels, taints, scores and drift are shown as they are and never as elements."""
    async with served_page(tmp_path) as hub:
        uid = await _fill(hub)
        plain = await hub.see()
        decision = {
            "clusters": [
                {"cluster": HOSTILE, "selected": True, "score": 7, "terms": []},
                {"cluster": f"{HOSTILE}2", "rule": HOSTILE, "message": HOSTILE},
            ]
        }
        texts = dict.fromkeys(
            ("name", "namespace", "queue", "cluster", "reason", "message"), HOSTILE
        )
        scores = {"scores": _json(decision), "state": "Running"}
        await hub.alter("workloads", f"uid = '{uid}'", **texts, **scores)
        labels = {HOSTILE: HOSTILE}
        taints = [{"key": HOSTILE, "value": HOSTILE, "effect": "NoSchedule"}]
        named = {"labels": _json(labels), "taints": _json(taints), "name": HOSTILE}
        await hub.alter("clusters", "name = 'c1'", **named)
        await hub.alter("objects", "kind = 'ClusterQueue' AND name = 'gpus'", name=HOSTILE)
        told = dict.fromkeys(("kind", "namespace", "name", "reason", "message"), HOSTILE)
        await hub.alter("events", "reason = 'Told'", **told)
        drift = [dict.fromkeys(("path", "hub", "member"), HOSTILE)]
        await hub.alter("works", "uid = 'w1'", drift=_json(drift), kind=HOSTILE, cluster=HOSTILE)

        page = await hub.see()
        assert page.tags <= plain.tags | {"details", "summary", "b"}
        assert [name for name, _ in page.attributes if name.startswith("on")] == []
        for name in ("src", "href"):
            for value in set(page.values(name)) - set(
                plain.values(name)
            ):  # an own page, by its name
                assert re.fullmatch(r"/(jobs|queues|clusters|\?[a-z]+=)[\w/%.~-]*", value), value
        assert page.words.count("<img src=x onerror=alert(1)>") >= 20


@pytest.mark.parametrize(
    ("table", "where", "columns", "left"),
    [
        ("workloads", "name = 'bad'", {"scores": b"{not json", "cluster": "c1"}, "bad"),
        ("workloads", "name = 'bad'", {"scores": b'["odd"]', "cluster": "c1"}, "Unreadable"),
        (
            "workloads",
            "name = 'bad'",
            {"scores": b'{"clusters":[7]}', "cluster": "c1"},
            "Unreadable",
        ),
        ("clusters", "name = 'c2'", {"labels": b"[1, 2]"}, "c1"),
        (
            "objects",
            "kind = 'ClusterQueue' AND name = 'gpus'",
            {"status": b'{"conditions":[7]}'},
            "c1",
        ),
        ("objects", "kind = 'ClusterQueue' AND name = 'gpus'", {"spec": b'"odd"'}, "c1"),
        ("works", "uid = 'w1'", {"drift": b"[7]"}, "Told"),
        ("works", "uid = 'w1'", {"drift": b'{"odd":1}'}, "Told"),
    ],
)
async def test_one_poison_row_breaks_nothing_else(tmp_path, table, where, columns, left):
    """The good job, and what does not depend on the row, are shown all the same."""
    async with served_page(tmp_path) as hub:
        await _fill(hub)
        await hub.submit("bad")
        await hub.alter(table, where, **columns)
        page = await hub.see()
        assert "good" in page.words
        assert left in page.words
        assert "Recent events" in page.words


async def test_a_part_that_can_not_be_read_says_so(tmp_path):
    """The others are there."""
    async with served_page(tmp_path) as hub:
        await _fill(hub)
        await hub.alter("events", "1 = 1", at="not a time")
        page = await hub.see()
        assert "Events could not be read" in page.words
        assert "good" in page.words


async def test_empty_parts_say_what_to_do_next(tmp_path):
    """A fresh hub names the first commands."""
    async with served_page(tmp_path) as hub:
        words = (await hub.see()).words
        assert "roadstead submit job.yaml" in words
        assert "roadstead clusters add NAME" in words
        assert "Apply a ClusterQueue and a LocalQueue" in words
        assert "Nothing has drifted" in words


async def test_clusters_queues_and_drift_are_told_in_numbers(tmp_path):
    """Quota used of nominal, who has not joined, which field differs and how."""
    async with served_page(tmp_path) as hub:
        await _fill(hub)
        words = (await hub.see()).words
        assert "nvidia.com/gpu a100 0 of 16" in words
        assert "Cluster c1 is declared, but no agent has joined it yet." in words
        assert "/data/a : 1 → 2" in words
        assert "1 field differs from the hub's manifests" in words


async def test_a_queue_without_a_limit_is_shown(tmp_path):
    """The default queue, which the hub provides itself, is unlimited and no fault."""
    async with served_page(tmp_path) as hub:
        await hub.submit("unqueued")
        words = (await hub.see()).words
        assert "of unlimited" in words
        assert "Unreadable" not in words


async def test_ids_are_unique(tmp_path):
    """So that each row is renewed in its own place."""
    async with served_page(tmp_path) as hub:
        await _fill(hub)
        ids = (await hub.see()).values("id")
        assert len(ids) == len(set(ids))


def test_every_column_of_an_event_is_known():
    """The page shows all but the uid: a new column is a new cell to escape."""
    assert {c.name for c in events.columns} - {"uid"} == {
        *("id", "at", "kind", "namespace", "name", "type", "reason", "message"),
        *("cluster", "epoch", "cause", "subject", "member_at"),
    }
