"""Events on the hub cluster: every field, which of the hub's events are told, and how often."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.bridge.kinds import Mirrored
from shared.clock import ManualClock
from shared.groups import PLACEMENT
from tests.bridge.parts import KINDS, QUEUE, Parts, a_job, a_queue, on_simulated

pytestmark = pytest.mark.anyio
NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
PLACED = Mirrored(PLACEMENT, "ResourcePlacement", ("v1beta1",), finalized=True, order=9)
SELECTS = {"group": "", "version": "v1", "kind": "ConfigMap", "name": "x"}
MADE: dict[str, Any] = {
    "Job": a_job("made"),
    "ClusterQueue": a_queue("made"),
    "ResourcePlacement": {
        "apiVersion": f"{PLACEMENT}/v1beta1",
        "kind": "ResourcePlacement",
        "metadata": {"name": "made", "namespace": "lab"},
        "spec": {"resourceSelectors": [SELECTS]},
    },
}


async def events(it: Parts) -> list[dict[str, Any]]:
    return list((await it.kube.list("v1", "Event")).items)


async def happens(
    it: Parts, obj: dict[str, Any], *reasons: str, kind: str = "Normal", text: str = ""
) -> None:
    """The hub says these of an object, in one transaction."""
    metadata = obj["metadata"]

    def say(tx: Any) -> None:
        for reason in reasons:
            tx.event(
                uid=metadata["uid"], kind=obj["kind"], namespace=metadata.get("namespace", ""),
                name=metadata["name"], reason=reason, message=text or f"{reason} it is", type=kind,
            )  # fmt: skip

    await it.hub.write(say)


async def test_of_an_event_of_several_lines_the_first_is_told(tmp_path: Path):
    """Lines of a log follow the first one: who may list Events may not read logs for that."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        await it.events.turn()
        await happens(it, job, "PodFailed", text="exited with code 1\na line of its log")
        await it.events.turn()
        assert [each["message"] for each in await events(it)] == ["exited with code 1"]


@pytest.mark.parametrize(
    ("kind", "namespace", "speaker"),
    [
        ("Job", "lab", "roadstead"),
        ("ClusterQueue", "default", "roadstead"),
        ("ResourcePlacement", "lab", "placement-controller"),
    ],
)
async def test_everything_of_an_event(tmp_path: Path, kind: str, namespace: str, speaker: str):
    """It stands beside its object, in namespace default of what has none, and names exactly that one."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, [*KINDS, QUEUE, PLACED], clock) as (it, _):
        obj = await it.create(MADE[kind])
        await it.events.turn()
        await happens(it, obj, "Happened", kind="Warning")
        clock.advance(90)
        await it.events.turn()
        (event,) = await events(it)
        metadata = obj["metadata"]
        assert event["metadata"]["namespace"] == namespace
        assert event["metadata"]["name"].startswith("made.")
        told = {k: v for k, v in event.items() if k not in {"metadata", "apiVersion", "kind"}}
        involved = {k: v for k, v in told.pop("involvedObject").items() if v}
        assert involved == {
            "apiVersion": obj["apiVersion"],
            "kind": kind,
            "name": "made",
            **({"namespace": "lab"} if metadata.get("namespace") else {}),
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
        }
        assert {k: v for k, v in told.items() if v} == {
            "reason": "Happened",
            "message": "Happened it is",
            "type": "Warning",
            "firstTimestamp": "2026-05-01T12:00:00Z",
            "lastTimestamp": "2026-05-01T12:00:00Z",
            "count": 1,
            "source": {"component": speaker},
            "reportingComponent": speaker,
        }


async def test_steps_that_the_status_shows_are_no_events_and_hide_none(tmp_path: Path):
    """However many of them come before: the next turn reads on where this one ended."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        await it.events.turn()
        steps = ["Offered", "Applied", "Submitted", "Created", "Configured"] * 100
        await happens(it, job, *steps, "Evicted")
        for _ in range(2):
            await it.events.turn()
        assert [each["reason"] for each in await events(it)] == ["Evicted"]


async def test_the_same_words_are_said_once_and_others_again(tmp_path: Path):
    """Of each object for itself."""
    async with on_simulated(tmp_path) as (it, _):
        jobs = [await it.create(a_job(name)) for name in ("one", "two")]
        for _ in range(2):
            for job in jobs:
                found = it.sources.get(it.sources.place_of(job["metadata"]["uid"]))
                it.events.warn(*found, "Wrong", "it is")
                it.events.warn(*found, "Wrong", "it still is")
                it.events.explain(*found, "Waits", "for 3 cpu")
                it.events.explain(*found, "Waits", "for 2 cpu")
            await it.events.turn()
        said = [(e["involvedObject"]["name"], e["type"], e["message"]) for e in await events(it)]
        assert sorted(said) == sorted(
            (name, kind, message)
            for name in ("one", "two")
            for kind, message in (
                ("Warning", "it is"), ("Warning", "it still is"), ("Normal", "for 3 cpu")
            )
        )  # fmt: skip


async def test_an_event_that_the_api_server_refuses_holds_up_no_other(tmp_path: Path):
    """It is a courtesy; the turn goes on."""
    async with on_simulated(tmp_path) as (it, cluster):
        job = await it.create(a_job())
        await it.events.turn()
        cluster.faults.add("403", verb="create", resource="events")
        await happens(it, job, "First", "Second", "Third")
        await it.events.turn()
        assert len(await events(it)) == 2


async def test_what_the_hub_says_of_others_is_not_told_there(tmp_path: Path):
    """Jobs that came by REST have no object on the hub cluster."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        await it.events.turn()
        other = {"kind": "Job", "metadata": {"uid": "by-rest", "name": "x", "namespace": "lab"}}
        await happens(it, other, "Evicted")
        await happens(it, job, "Requeued")
        await it.events.turn()
        assert [each["reason"] for each in await events(it)] == ["Requeued"]
