"""Jobs in members that an earlier incarnation of this hub gave, and that its store no longer has there.

They are left after a backup was restored: done since, or still running. Nothing removes them and nothing
takes them over; people are shown them for as long as members report them.
"""

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NotRequired, TypedDict

import orjson

from hub.domain.instants import stamp
from hub.services.works import accounted
from hub.store import clusters, leftovers, settings, workloads
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire.agent_v1 import FULL_EVERY_S, Observed

CONDITION: Final = "ForgottenJobs"
_LARGEST: Final = 2**63 - 1
MOST: Final = 500  # that are kept to be shown
_KEY: Final = "forgotten_jobs"
_WRITTEN: Final = f"{settings.SECRETS}forgotten:"  # and the uid of the object: how it was written
_NAME_CHARS: Final = 320  # of a namespace and a Job's name
_LONGEST: Final = 256 << 10  # bytes of one
# A member reports everything it sees every ten minutes: an object missing twice no longer exists.
_SHOWN: Final = dt.timedelta(seconds=2.5 * FULL_EVERY_S)
_AGAIN: Final = dt.timedelta(seconds=FULL_EVERY_S / 2)


class ForgottenJob(TypedDict):
    """A member's report about one, and its time."""

    cluster: str
    uid: str
    epoch: int
    there: str
    message: str
    seenAt: str
    decided: NotRequired[str]  # REMOVE, once a person has decided so
    written: NotRequired[bool]  # its manifest is kept; False: too large; left out: not reported
    name: NotRequired[str]  # namespace/name in the member; left out: its manifest was not reported
    namespaceId: NotRequired[str]  # of the hub's namespace that its own was created for


_OF_THE_HUB: Final = frozenset({"written", "namespaceId"})  # hidden from all
REMOVE: Final = "Remove"
# The setting that is touched where members should say again what they hold.
ASKED: Final = "forgotten_asked"


class ManifestState(StrEnum):
    """State of the manifest of a leftover Job in the hub."""

    AWAITED = "Awaited"  # the agent has yet to report it
    REPORTED = "Reported"
    TOO_LARGE = "TooLarge"


def manifest_of(tx: Transaction, uid: str, cluster: str) -> tuple[ManifestState, Json | None]:
    """The manifest of a Job as its agent reported it; None in the other states."""
    found = ManifestState.AWAITED
    for object_uid, row in _kept(tx).items():
        if (row["uid"], row["cluster"]) != (uid, cluster):
            continue
        found = _manifest_state(row)
        if found is ManifestState.REPORTED:
            return found, settings.get(tx, _WRITTEN + object_uid)
    return found, None


def _manifest_state(row: ForgottenJob) -> ManifestState:
    if "written" not in row:
        return ManifestState.AWAITED
    return ManifestState.REPORTED if row["written"] else ManifestState.TOO_LARGE


def find(tx: Transaction, uid: str, cluster: str = "") -> ForgottenJob:
    """The named one. Raises Rejected: NotFound; InvalidState where several clusters hold it."""
    found = [
        row
        for row in _kept(tx).values()
        if row["uid"] == uid and (not cluster or row["cluster"] == cluster)
    ]
    if not found:
        where = f"{cluster} does not hold" if cluster else "no member holds"
        text = f"{where} a Job {uid[:64]} from before the store was restored"
        raise Rejected(RejectCode.NOT_FOUND, text)
    if len({row["cluster"] for row in found}) > 1:
        names = ", ".join(sorted(row["cluster"] for row in found))
        text = f"several members hold it: {names}. Name one, and decide about the others first"
        raise Rejected(RejectCode.INVALID_STATE, text, "cluster")
    return found[0]


def remove(tx: Transaction, uid: str, cluster: str) -> None:
    """Its member must remove it: the hub orders that when the member reports it next."""
    kept = _kept(tx)
    for row in kept.values():
        if (row["uid"], row["cluster"]) == (uid, cluster):
            row["decided"] = REMOVE
    _keep(tx, kept)
    settings.put(tx, ASKED, stamp(tx.now))


def drop(tx: Transaction, uid: str, cluster: str) -> None:
    """The Job that this member reports is the hub's again; those in other members stay listed."""
    mine = uid, cluster
    kept = _kept(tx).items()
    _keep(tx, {key: row for key, row in kept if (row["uid"], row["cluster"]) != mine})


def destroyed(tx: Transaction, cluster: str) -> None:
    """The member was fenced: nothing that it reported is there any more."""
    kept = _kept(tx)
    left = {key: row for key, row in kept.items() if row["cluster"] != cluster}
    if len(left) < len(kept):
        _keep(tx, left)


def trim(tx: Transaction) -> None:
    """Drop those that no member reports any more, and their manifests."""
    stored, kept = settings.get(tx, _KEY) or {}, _kept(tx)
    if len(kept) < len(stored):
        _keep(tx, kept)


def to_remove(tx: Transaction, cluster: str) -> set[str]:
    """Uids of the objects in a member that a person has decided to remove."""
    return {
        object_uid
        for object_uid, row in _kept(tx).items()
        if row["cluster"] == cluster and row.get("decided") == REMOVE
    }


def note(tx: Transaction, cluster: str, entries: Sequence[Observed]) -> None:
    """Keep what a member says of such Jobs; an Event where one is new."""
    kept = _kept(tx)
    held = Counter(row["cluster"] for row in kept.values())
    changed = fresh = 0
    for entry in entries:
        known = kept.get(entry.object_uid)
        told = _told(cluster, entry, tx.now)
        if (
            known is not None
            and _is_level(known, told)
            and (entry.manifest is None or "written" in known)
        ):
            continue
        if known is None and len(kept) >= MOST and not _make_room(tx, kept, held, cluster):
            continue
        held[cluster] += known is None
        fresh += known is None
        changed += 1
        if known is not None:
            told = {**known, **told}  # what was decided stays
        if entry.manifest is not None:
            told["written"] = _write(tx, entry.object_uid, entry.manifest)
            told["namespaceId"] = entry.namespace_id
            told["name"] = _name_in(entry.manifest)
        kept[entry.object_uid] = told
    if changed:
        _keep(tx, kept)
    if fresh:
        _say(tx, cluster, held[cluster])


def _make_room(
    tx: Transaction, kept: dict[str, ForgottenJob], held: Counter[str], cluster: str
) -> bool:
    """Drop one of the member that holds the most, if that is more than this one; returns whether it did.

    So no member hides another one's, however many it reports.
    """
    most, count = held.most_common(1)[0]
    if count <= held[cluster] + 1:
        return False
    held[most] -= 1
    last = next(uid for uid in reversed(kept) if kept[uid]["cluster"] == most)
    if kept.pop(last).get("written"):
        settings.remove(tx, _WRITTEN + last)
    return True


def list_forgotten(tx: Transaction) -> list[Json]:
    """By cluster and uid; `job` and `state` are what the hub has of the same uid, "" for nothing."""
    kept = _there(tx)
    known = workloads.get_many(tx, {row["uid"] for row in kept.values()})
    found = []
    for object_uid, row in kept.items():
        job = known.get(row["uid"])
        found.append(
            {
                **{name: value for name, value in row.items() if name not in _OF_THE_HUB},
                "name": row.get("name", ""),
                "decided": row.get("decided", ""),
                "manifest": _manifest_state(row),
                "objectUid": object_uid,
                "job": "" if job is None else f"{job.namespace}/{job.name}",
                "state": "" if job is None else str(job.state),
            }
        )
    return sorted(found, key=lambda row: (row["cluster"], row["uid"], row["objectUid"]))


def condition(tx: Transaction) -> Json | None:
    """The administrator's message in the overview; None if there are none."""
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
    """The number in each member that holds any."""
    by_cluster: dict[str, int] = {}
    for row in _there(tx).values():
        by_cluster[row["cluster"]] = by_cluster.get(row["cluster"], 0) + 1
    return by_cluster


def _kept(tx: Transaction) -> dict[str, ForgottenJob]:
    """By uid of the object in the member, those that were seen lately."""
    stored: dict[str, ForgottenJob] = settings.get(tx, _KEY) or {}
    oldest = stamp(tx.now - _SHOWN) or ""
    return {uid: row for uid, row in stored.items() if row["seenAt"] >= oldest}


def _there(tx: Transaction) -> dict[str, ForgottenJob]:
    """Those that were seen lately, without removals that are carried out: a complete report lacks them."""
    kept = _kept(tx)
    decided = [row["uid"] for row in kept.values() if row.get("decided") == REMOVE]
    if not decided or accounted.restored_at(tx) is None:
        return kept
    reported = {(each.cluster, each.uid) for each in leftovers.of_jobs(tx, decided)}
    overflowing = settings.get(tx, accounted.OVERFLOWING) or {}  # it may hold any
    return {
        object_uid: row
        for object_uid, row in kept.items()
        if row.get("decided") != REMOVE
        or row["cluster"] in overflowing
        or (row["cluster"], row["uid"]) in reported
    }


def _keep(tx: Transaction, kept: Mapping[str, ForgottenJob]) -> None:
    """Write down those that are left; how the others were written goes with them."""
    before: dict[str, ForgottenJob] = settings.get(tx, _KEY) or {}
    for object_uid, row in before.items():
        if object_uid not in kept and row.get("written"):
            settings.remove(tx, _WRITTEN + object_uid)
    settings.put(tx, _KEY, dict(kept))


def _write(tx: Transaction, object_uid: str, manifest: Json) -> bool:
    """Keep the manifest of a Job; False where it is too large."""
    if len(orjson.dumps(manifest)) > _LONGEST:
        return False
    settings.put(tx, _WRITTEN + object_uid, manifest)
    return True


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


def _name_in(manifest: Json) -> str:
    """`namespace/name` of a Job as its agent reported it."""
    metadata = manifest.get("metadata") or {}
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"[:_NAME_CHARS]


def _is_level(known: ForgottenJob, told: ForgottenJob) -> bool:
    """True if only the time is new, and not by much."""
    same = {**told, **known, "seenAt": ""} == {**known, **told, "seenAt": ""}
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
    clusters.say(tx, member, CONDITION, text, warning=True)
