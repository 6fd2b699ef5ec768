"""Content of a Work on the hub cluster: the desired objects of its cluster and their states."""

from collections.abc import Sequence
from typing import Final

from hub.domain.placement.words import bare
from hub.services.placements.abandon import HELD
from hub.store.records.works import Work
from shared import labels
from shared.conditions import rfc3339
from shared.documents import Json, JsonView

MOST_DETAILS: Final = 100


def named(work: Work) -> Json:
    metadata: Json = {"name": work.name}
    if work.namespace:
        metadata["namespace"] = work.namespace
    metadata["annotations"] = {labels.SPEC_HASH: work.content or work.hash}
    return {"apiVersion": work.api_version, "kind": work.kind, "metadata": metadata}


def work_status(works: Sequence[Work]) -> Json:
    kept = [each for each in works if each.action in HELD]
    leaving = len(works) - len(kept)
    told: Json = {
        "manifestCount": len(kept),
        "conditions": [],
        "manifestConditions": [_manifest(number, each) for number, each in enumerate(kept)],
    }
    if leaving:
        told["leaving"] = leaving
    first = "DiffReported" if kept and kept[0].action == "Compare" else "Applied"
    words = _WORDS[first]
    refused = [each for each in kept if applied(each) is False]
    waiting = [each for each in kept if applied(each) is None]
    if refused:
        text = f"{len(refused)} of {len(kept)}, first {_of(refused[0])}: {refused[0].message}"
        told["conditions"].append(_said(first, "False", words[1], text))
    elif waiting:
        text = f"{len(waiting)} of {len(kept)} wait, first {_of(waiting[0])}"
        told["conditions"].append(_said(first, "Unknown", "ApplyPending", text))
    else:
        told["conditions"].append(_said(first, "True", words[0], f"all {len(kept)}"))
        if first == "Applied":
            told["conditions"].append(_availability(kept))
    return told


_WORDS: Final = {
    "Applied": ("AllManifestsApplied", "SomeManifestsAreNotApplied"),
    "DiffReported": ("AllManifestsDiffReported", "SomeManifestsHaveNotReportedDiff"),
}


def _availability(kept: Sequence[Work]) -> Json:
    short = [each for each in kept if each.available is False]
    if short:
        text = f"{len(short)} of {len(kept)}, first {_of(short[0])}: {short[0].message}"
        return _said("Available", "False", "SomeManifestsAreNotAvailable", text)
    if any(each.available is None for each in kept):
        return _said("Available", "True", "WorkNotTrackable", "kinds among it do not tell")
    return _said("Available", "True", "AllManifestsAvailable", f"all {len(kept)}")


def applied(work: Work) -> bool | None:
    """Is it there as it is given? None: nothing was said of that yet. A Job that has ended was."""
    if work.phase in ("Failed", "Missing"):
        return False
    if work.phase == "Gone" and work.epoch:
        return True
    done = work.phase == "Applied" and work.observed_generation >= work.generation
    return True if done else None


def _manifest(number: int, work: Work) -> Json:
    group, _, version = work.api_version.rpartition("/")
    identifier: Json = {
        "ordinal": number,
        "group": group,
        "version": version,
        "kind": work.kind,
        "namespace": work.namespace,
        "name": work.name,
    }
    at = rfc3339(work.observed_at or work.created_at)
    there = applied(work)
    if there is None:
        conditions = [_said("Applied", "Unknown", "ApplyPending", "", at)]
    elif not there:
        reason = work.reason or "ManifestApplyFailed"
        conditions = [_said("Applied", "False", reason, work.message, at)]
    else:
        conditions = [_said("Applied", "True", "Applied", "", at), _available(work, at)]
    told: Json = {"identifier": identifier, "conditions": conditions}
    if work.drift:
        fields = [_drift(each) for each in list(work.drift)[:MOST_DETAILS]]
        kind = "diffDetails" if work.action == "Compare" else "driftDetails"
        name = "observedDiffs" if work.action == "Compare" else "observedDrifts"
        told[kind] = {name: fields, "observationTime": at}
    return told


def _available(work: Work, at: str) -> Json:
    if work.available is None:
        return _said("Available", "True", "NotTrackable", "", at)
    if work.available:
        return _said("Available", "True", "Available", "", at)
    reason = work.reason or "ManifestNotAvailableYet"
    return _said("Available", "False", reason, work.message, at)


def _drift(each: JsonView) -> Json:
    told = {
        "path": each.get("path"),
        "valueInHub": bare(each.get("hub")),
        "valueInMember": bare(each.get("member")),
    }
    return {name: value for name, value in told.items() if value is not None}


def _said(kind: str, status: str, reason: str, message: str, at: str = "") -> Json:
    told = {"type": kind, "status": status, "reason": reason, "message": message[:1000]}
    return told | ({"lastTransitionTime": at} if at else {})


def _of(work: Work) -> str:
    return f"{work.kind} {'/'.join(p for p in (work.namespace, work.name) if p)}"
