"""Records every version of Jobs and pods that the members' API servers show, and nothing else.

One thread per member and kind lists once and then watches from that resourceVersion, through
restarts of the server. It is never struck by the schedule's links; where history is lost all the same
(410) it lists anew and says so.
"""

import threading
import time
import urllib.error
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from shared import labels
from tests.chaos.history import Sighting, seconds
from tests.chaos.member import Member
from tests.e2e.recorder import ApiServer
from tests.e2e.running import until

_RETRY_S = 0.1
_PATHS = {
    "Job": "/apis/batch/v1/namespaces/{namespace}/jobs",
    "Pod": "/api/v1/namespaces/{namespace}/pods",
}
Json = dict[str, Any]


class Recorder:
    """Follows the members from `with` to its end; `sightings` and `gaps` may be read at any time."""

    def __init__(self, kubeconfigs: dict[str, Path], namespace: str) -> None:
        self._namespace = namespace
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._sightings: list[Sighting] = []
        self._live: dict[str, Sighting] = {}  # "<member>/<uid>" of Jobs
        self.gaps: list[str] = []
        self._threads = [
            threading.Thread(
                target=self._follow, args=(member, ApiServer(path), kind), daemon=True
            )
            for member, path in kubeconfigs.items()
            for kind in _PATHS
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def sightings(self) -> list[Sighting]:
        """Everything seen so far, in the order in which it was read."""
        with self._lock:
            return list(self._sightings)

    def live(self) -> list[Sighting]:
        """Our Jobs that are in the members now, as last seen."""
        with self._lock:
            return [each for each in self._live.values() if each.owner]

    def catch_up(self, members: Iterable[Member], within_s: float = 30) -> None:
        """Wait until everything up to now has been read. AssertionError when it takes longer."""
        name = f"mark-{time.monotonic_ns()}"
        marks = set()
        for member in members:
            member.mark(self._namespace, name)
            marks |= {(member.name, kind) for kind in _PATHS}

        def read() -> bool:
            return marks <= {(s.member, s.kind) for s in self.sightings() if s.name == name}

        until(read, within_s, "the recorder has read what there is")

    def _follow(self, member: str, server: ApiServer, kind: str) -> None:
        path = _PATHS[kind].format(namespace=self._namespace)
        version = ""
        while not self._stop.is_set():
            try:
                if not version:
                    listing = server.get(path)
                    version = listing["metadata"]["resourceVersion"]
                    for item in listing["items"]:
                        self._see(member, kind, "ADDED", item)
                version = self._watch(member, server, kind, path, version)
            except (OSError, ValueError, urllib.error.URLError):
                self._stop.wait(_RETRY_S)

    def _watch(self, member: str, server: ApiServer, kind: str, path: str, version: str) -> str:
        """Read one watch to its end; the version to go on from, "" to list anew."""
        for event in server.watch(path, version):
            if event["type"] == "ERROR":
                self.gaps.append(f"{member}/{kind}: watch from {version}: {event['object']}")
                return ""
            version = event["object"]["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                self._see(member, kind, event["type"], event["object"])
            if self._stop.is_set():
                break
        return version

    def _see(self, member: str, kind: str, change: str, item: Json) -> None:
        seen = sighting(time.time(), member, kind, change, item)
        key = f"{member}/{seen.uid}"
        with self._lock:
            self._sightings.append(seen)
            if kind != "Job":
                return
            if change == "DELETED":
                self._live.pop(key, None)
            else:
                self._live[key] = seen


def sighting(at: float, member: str, kind: str, change: str, item: Json) -> Sighting:
    """What is kept of one version of an object."""
    meta, status = item["metadata"], item.get("status") or {}
    given = _of_job(meta, status) if kind == "Job" else _of_pod(item, status)
    return Sighting(
        at=at,
        member=member,
        kind=kind,
        change=change,
        uid=meta["uid"],
        name=meta["name"],
        created=seconds(meta.get("creationTimestamp")),
        deleting=_deletion_asked(meta),
        version=meta.get("resourceVersion", ""),
        **given,
    )


def _of_job(meta: Json, status: Json) -> Json:
    marks = meta.get("labels") or {}
    ours = labels.MANAGED_BY in marks
    ended = next(
        (
            (c["type"], seconds(c.get("lastTransitionTime")))
            for c in status.get("conditions") or ()
            if c["type"] in {"Complete", "Failed"} and c["status"] == "True"
        ),
        ("", 0.0),
    )
    return {
        "owner": marks.get(labels.JOB_UID, "") if ours else "",
        "epoch": int(marks.get(labels.EPOCH) or 0) if ours else 0,
        "result": ended[0],
        "ended": ended[1],
    }


def _of_pod(item: Json, status: Json) -> Json:
    owners = item["metadata"].get("ownerReferences") or [{}]
    started = ended = 0.0
    for container in status.get("containerStatuses") or ():
        state = container.get("state") or {}
        over = state.get("terminated") or {}
        begun = (state.get("running") or over).get("startedAt")
        ended = ended or seconds(over.get("finishedAt"))
        # One that was deleted before it began ends with equal stamps: that proves no start.
        if "running" in state or status.get("phase") == "Succeeded" or seconds(begun) < ended:
            started = started or seconds(begun)
    requests = [c.get("resources", {}).get("requests", {}) for c in item["spec"]["containers"]]
    return {
        "owner": owners[0].get("uid", ""),
        "started": started,
        "ended": ended,
        "result": status.get("phase", ""),
        "cpu": sum(_cores(each.get("cpu", "0")) for each in requests),
    }


def _deletion_asked(meta: Json) -> float:
    """When deletion was requested: the stamp says when the grace period ends."""
    asked = seconds(meta.get("deletionTimestamp"))
    return asked - (meta.get("deletionGracePeriodSeconds") or 0) if asked else 0.0


def _cores(text: str) -> float:
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)
