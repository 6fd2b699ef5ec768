"""Rollouts as people ask for them: staged update runs, and placements that are rolling out."""

from collections.abc import Sequence
from typing import Final

from hub.domain.instants import stamp
from hub.services.placements.staged.approvals import is_approved, request_kind
from hub.services.placements.staged.drive import index_of, placement_of, state_of
from hub.services.placements.staged.status import BY_ITSELF, INITIALIZED, PROGRESSING, is_over
from hub.store import objects, placements
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.conditions import find, is_true
from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.groups import PLACEMENT
from shared.kinds.placement_v1 import placement_kind
from shared.kinds.staged_v1 import RUN_KINDS
from shared.reject_codes import RejectCode

MOST: Final = 500  # runs looked at, the newest
MOST_OVER: Final = 100  # of those, listed that are over
MOST_ROLLING: Final = 200  # placements listed
_GOES_ON: Final = "UpdateRunProgressing"
_WHEN: Final = (("before", "beforeStageTaskStatus"), ("after", "afterStageTaskStatus"))


def list_rollouts(tx: Transaction) -> Json:
    """Runs, the newest first, and placements that roll a change out by themselves now: {"items"}."""
    runs = placements.list_runs(tx, MOST)
    alive = [run for run in runs if not is_over(run.status)]
    over = [run for run in runs if is_over(run.status)][:MOST_OVER]
    behind = objects.get_many(tx, placements.behind_newest(tx, MOST_ROLLING))
    rolling = [row for row in behind.values() if _rolls(row)]
    rolling.sort(key=lambda row: (row.namespace, row.name))
    return {"items": [*map(_run, alive), *map(_rolling, rolling), *map(_run, over)]}


def get_rollout(tx: Transaction, namespace: str, name: str) -> Json:
    """A run with its stages, else the placement of that name with its clusters. Raises Rejected: NotFound."""
    shown = tx.scope.shows(namespace)
    row = find_run(tx, namespace, name) if shown else None
    if row is not None:
        return _with_approvals(tx, row) | {"clusterVersions": []}
    row = (
        objects.find(tx, PLACEMENT, placement_kind(namespace), namespace, name) if shown else None
    )
    if row is None:
        place = "/".join(part for part in (namespace[:64], name[:64]) if part)
        raise Rejected(RejectCode.NOT_FOUND, f"there is no staged update run or placement {place}")
    return {**_rolling(row), "stages": [], "clusterVersions": _versions(row)}


def _with_approvals(tx: Transaction, row: StoredObject) -> Json:
    """A run with its stages; a fresh approval shows before the run continues."""
    told = _run(row) | {"stages": _stages(row)}
    kind = request_kind(row.kind)
    asked = (objects.find(tx, PLACEMENT, kind, row.namespace, each) for each in told["waitsFor"])
    given = {each.name for each in asked if each is not None and is_approved(each)}
    told["waitsFor"] = [name for name in told["waitsFor"] if name not in given]
    for stage in told["stages"]:
        for task in stage["tasks"]:
            if task["request"] in given and not task["done"]:
                task |= {"done": True, "message": "approved: the run continues"}
    if given and not told["waitsFor"]:
        text = "approved: the run continues when nothing else holds it"
        told |= {"reason": _GOES_ON, "message": text}
    return told


def find_run(tx: Transaction, namespace: str, name: str) -> StoredObject | None:
    """A ClusterStagedUpdateRun, or a StagedUpdateRun of a namespace."""
    kind = RUN_KINDS[1] if namespace else RUN_KINDS[0]
    return objects.find(tx, PLACEMENT, kind, namespace, name)


def _rolls(row: StoredObject) -> bool:
    """Is a change of it on its way, by its own strategy?"""
    rung = find((row.status or {}).get("conditions"), f"{row.kind}RolloutStarted")
    strategy = (row.spec or {}).get("strategy") or {}
    return rung is not None and rung["status"] != "True" and strategy.get("type") != "External"


def _standing_now(row: StoredObject) -> JsonView:
    """The condition that says how a run stands; of one that was stopped or resumed since, what follows."""
    conditions = (row.status or {}).get("conditions")
    told = find(conditions, PROGRESSING) or find(conditions, INITIALIZED) or {}
    seen = told.get("observedGeneration")
    if is_over(row.status) or not told or seen is None or int(seen) >= row.generation:
        return told
    if state_of(row) == "Stop":
        text = "stop requested: no further cluster begins, those in progress finish"
        return {"reason": "UpdateRunStopping", "message": text}
    return {"reason": _GOES_ON, "message": "run requested: it continues within seconds"}


def _run(row: StoredObject) -> Json:
    status: JsonView = row.status or {}
    conditions = status.get("conditions")
    told = _standing_now(row)
    succeeded = find(conditions, "Succeeded")
    message = str(told.get("message") or "")
    if succeeded is not None and succeeded["status"] == "False":
        message = succeeded["message"]
    _, _, placement = placement_of(row)
    clusters = [
        each for stage in status.get("stagesStatus") or () for each in stage.get("clusters") or ()
    ]
    index = index_of(row)
    return {
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "uid": row.uid,
        "origin": row.origin,
        "placement": placement,
        "strategy": str((row.spec or {}).get("stagedRolloutStrategyName") or ""),
        "version": "" if index is None else str(index),
        "state": state_of(row),
        "reason": str(told.get("reason") or "UpdateRunNotInitializedYet"),
        "message": message,
        "stoppedByItself": is_true(conditions, BY_ITSELF),
        "clusters": len(clusters),
        "updated": sum(is_true(each.get("conditions"), "Succeeded") for each in clusters),
        "waitsFor": _waits_for(status),
        "createdAt": stamp(row.created_at),
    }


RUN_STATES: Final = (
    "NotBegun", "Running", "WaitingForApproval", "Stuck", "Stopped", "StoppedByItself", "Failed",
    "Succeeded",
)  # fmt: skip


def run_state(row: StoredObject) -> str:
    """One of RUN_STATES: how a staged update run stands."""
    status: JsonView = row.status or {}
    conditions = status.get("conditions")
    if is_over(status):
        return "Succeeded" if is_true(conditions, "Succeeded") else "Failed"
    if not is_true(conditions, INITIALIZED):
        return "NotBegun"
    if state_of(row) == "Stop":
        return "Stopped"
    if is_true(conditions, BY_ITSELF):
        return "StoppedByItself"
    if _waits_for(status):
        return "WaitingForApproval"
    told = find(conditions, PROGRESSING) or {}
    return "Stuck" if told.get("reason") == "UpdateRunStuck" else "Running"


def _waits_for(status: JsonView) -> list[str]:
    """Requests for approval that stand open."""
    return [
        task["approvalRequestName"]
        for stage in status.get("stagesStatus") or ()
        for _, field in _WHEN
        for task in stage.get(field) or ()
        if task.get("approvalRequestName")
        and is_true(task.get("conditions"), "ApprovalRequestCreated")
        and not is_true(task.get("conditions"), "ApprovalRequestApproved")
    ]


def _stages(row: StoredObject) -> list[Json]:
    status: JsonView = row.status or {}
    deletion = status.get("deletionStageStatus")
    told = [*(status.get("stagesStatus") or ()), *([deletion] if deletion else [])]
    return [
        {
            "name": each["stageName"],
            **_standing(each.get("conditions"), "Progressing", "NotStarted"),
            "startedAt": each.get("startTime"),
            "endedAt": each.get("endTime"),
            "tasks": [
                _task(task, when) for when, field in _WHEN for task in each.get(field) or ()
            ],
            "clusters": [
                {"name": one["clusterName"], **_cluster(one.get("conditions"))}
                for one in each.get("clusters") or ()
            ],
        }
        for each in told
    ]


def _task(task: JsonView, when: str) -> Json:
    conditions: Sequence[JsonView] = task.get("conditions") or ()
    last = conditions[-1] if conditions else {}
    done = any(
        is_true(conditions, kind) for kind in ("ApprovalRequestApproved", "WaitTimeElapsed")
    )
    return {
        "when": when,
        "type": task["type"],
        "request": task.get("approvalRequestName") or "",
        "done": done,
        "message": str(last.get("message") or ""),
    }


def _standing(conditions: Sequence[JsonView] | None, kind: str, none: str) -> Json:
    told = find(conditions, kind) or {}
    return {
        "reason": str(told.get("reason") or none),
        "message": str(told.get("message") or ""),
    }


def _cluster(conditions: Sequence[JsonView] | None) -> Json:
    ended = find(conditions, "Succeeded")
    told = _standing(conditions, "Started" if ended is None else "Succeeded", "NotStarted")
    started = find(conditions, "Started")
    return {**told, "startedAt": None if started is None else started["lastTransitionTime"]}


def _rolling(row: StoredObject) -> Json:
    status: JsonView = row.status or {}
    told = find(status.get("conditions"), f"{row.kind}RolloutStarted") or {}
    clusters = _versions(row)
    newest = str(status.get("observedResourceIndex") or "")
    return {
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "uid": row.uid,
        "origin": row.origin,
        "placement": row.name,
        "strategy": str(((row.spec or {}).get("strategy") or {}).get("type") or "RollingUpdate"),
        "version": newest,
        "state": "",
        "reason": str(told.get("reason") or "RolloutNotStartedYet"),
        "message": str(told.get("message") or ""),
        "stoppedByItself": False,
        "clusters": len(clusters),
        "updated": sum(each["version"] == newest for each in clusters),
        "waitsFor": [],
        "createdAt": stamp(row.created_at),
    }


def _versions(row: StoredObject) -> list[Json]:
    """Clusters of a placement with what each was given, and what it waits for."""
    found = []
    for each in (row.status or {}).get("placementStatuses") or ():
        if not is_true(each.get("conditions"), "Scheduled"):
            continue
        told = next((c for c in each["conditions"][1:] if c["status"] != "True"), None)
        last = told or each["conditions"][-1]
        found.append(
            {
                "name": each.get("clusterName") or "",
                "version": str(each.get("observedResourceIndex") or ""),
                "reason": last["reason"],
                "message": last["message"],
            }
        )
    return found
