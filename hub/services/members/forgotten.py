"""Jobs in members that an earlier incarnation of this hub gave, and that its store no longer has there.

They are left after a backup was restored: done since, or still running. Nothing removes them and nothing
takes them over; people are shown them for as long as members report them.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Final, TypedDict

from hub.domain.instants import stamp
from hub.store import clusters, settings, workloads
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.wire.agent_v1 import FULL_EVERY_S, Observed

CONDITION: Final = "ForgottenJobs"
_LARGEST: Final = 2**63 - 1
MOST: Final = 500  # that are kept to be shown
_KEY: Final = "forgotten_jobs"
# A member says everything it sees every ten minutes: what was not said twice is there no more.
_SHOWN: Final = dt.timedelta(seconds=2.5 * FULL_EVERY_S)
_AGAIN: Final = dt.timedelta(seconds=FULL_EVERY_S / 2)


class ForgottenJob(TypedDict):
    """What a member said of one, and when it last did."""

    cluster: str
    uid: str
    epoch: int
    there: str
    message: str
    seenAt: str


def note(tx: Transaction, cluster: str, entries: Sequence[Observed]) -> None:
    """Keep what a member says of such Jobs; an Event where one is new."""
    kept = _kept(tx)
    changed = fresh = 0
    for entry in entries:
        known = kept.get(entry.object_uid)
        told = _told(cluster, entry, tx.now)
        if known is not None and _is_level(known, told):
            continue
        if known is None and len(kept) >= MOST:
            continue
        fresh += known is None
        changed += 1
        kept[entry.object_uid] = told
    if changed:
        settings.put(tx, _KEY, kept)
    if fresh:
        _say(tx, cluster, sum(1 for each in kept.values() if each["cluster"] == cluster))


def list_forgotten(tx: Transaction) -> list[Json]:
    """By cluster and uid; `job` and `state` are what the hub has of the same uid, "" for nothing."""
    kept = _kept(tx)
    known = workloads.get_many(tx, {row["uid"] for row in kept.values()})
    found = []
    for object_uid, row in kept.items():
        job = known.get(row["uid"])
        found.append(
            {
                **row,
                "objectUid": object_uid,
                "job": "" if job is None else f"{job.namespace}/{job.name}",
                "state": "" if job is None else str(job.state),
            }
        )
    return sorted(found, key=lambda row: (row["cluster"], row["uid"], row["objectUid"]))


def condition(tx: Transaction) -> Json | None:
    """What an administrator is told in the overview; None where there are none."""
    by_cluster = counts(tx)
    if not by_cluster:
        return None
    where = ", ".join(f"{name} {count}" for name, count in sorted(by_cluster.items()))
    text = (
        f"Jobs that were given before the store was restored are in members ({where}) and are left "
        "alone: roadstead restored lists them"
    )
    return {"type": CONDITION, "status": "True", "reason": CONDITION, "message": text}


def of(tx: Transaction, cluster: str) -> list[Json]:
    """Those of one member; `message` names the object, as its agent put it."""
    return [row for row in list_forgotten(tx) if row["cluster"] == cluster]


def counts(tx: Transaction) -> dict[str, int]:
    """How many each member holds, where it holds any."""
    by_cluster: dict[str, int] = {}
    for row in _kept(tx).values():
        by_cluster[row["cluster"]] = by_cluster.get(row["cluster"], 0) + 1
    return by_cluster


def _kept(tx: Transaction) -> dict[str, ForgottenJob]:
    """By uid of the object in the member, those that were seen lately."""
    stored: dict[str, ForgottenJob] = settings.get(tx, _KEY) or {}
    oldest = stamp(tx.now - _SHOWN) or ""
    return {uid: row for uid, row in stored.items() if row["seenAt"] >= oldest}


def _told(cluster: str, entry: Observed, now: dt.datetime) -> ForgottenJob:
    job = entry.job
    there = "Waiting"
    if job is not None:
        there = job.result or ("Running" if job.active else there)
    return {
        "cluster": cluster,
        "uid": entry.uid[:64],
        "epoch": max(0, min(entry.epoch, _LARGEST)),
        "there": there,
        "message": entry.message[:512],
        "seenAt": stamp(now) or "",
    }


def _is_level(known: ForgottenJob, told: ForgottenJob) -> bool:
    """Whether nothing is new but the time, and that not by much."""
    same = {**known, "seenAt": ""} == {**told, "seenAt": ""}
    before, now = (dt.datetime.fromisoformat(each["seenAt"]) for each in (known, told))
    return same and now - before < _AGAIN


def _say(tx: Transaction, cluster: str, count: int) -> None:
    member = clusters.get(tx, cluster)
    if member is None:
        return
    text = (
        f"it holds {count} Jobs that were given before the hub's store was restored: they are left "
        "alone (roadstead restored lists them)"
    )
    tx.event(
        uid=member.object,
        kind="MemberCluster",
        namespace="",
        name=cluster,
        type="Warning",
        reason=CONDITION,
        message=text,
    )
