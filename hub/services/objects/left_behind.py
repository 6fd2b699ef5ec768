"""Leftovers of a removed member: kept by the uid of its cluster, until it is back.

A removal without cleaning leaves objects unchanged. Back again, under whatever name, the cluster is
given what placements want there now: what it has of that stays as it is, and nothing is restarted. What of
the rest no placement has there is an orphan, and goes once all placements have looked.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Final, TypedDict

from hub.domain.instants import stamp
from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.placements.bindings import FOR_A_JOB
from hub.store import clusters, placements, settings, works
from hub.store.records.members import Member
from hub.store.records.works import WantedWork
from hub.store.transaction import Transaction

KEY: Final = "left_behind"
MOST_CLUSTERS: Final = 50  # that left and are remembered, the newest
MOST_OBJECTS: Final = 5000  # of one of them
# Placements have looked at a cluster that was there for so long, and of which there is no other news.
SETTLED: Final = dt.timedelta(seconds=15)
_HEARD: Final = dt.timedelta(seconds=45)


class ObjectLeftBehind(TypedDict):
    """One object, and whose it was."""

    uid: str
    generation: int
    apiVersion: str
    kind: str
    namespace: str
    name: str
    placedBy: str
    abandon: bool


class LeftCluster(TypedDict):
    """A cluster that left, when, and with what."""

    name: str
    at: str
    objects: list[ObjectLeftBehind]


def note(tx: Transaction, member: Member) -> int:
    """Keep what a member holds as it leaves, Jobs aside; how many objects are remembered."""
    if not member.cluster_uid:
        return 0
    held = [
        work
        for work in works.of_uids(tx, works.uids_of(tx, member.name))
        if work.cluster == member.name and work.epoch == 0 and not work.options.object_uid
    ]
    found = [
        ObjectLeftBehind(
            uid=work.uid,
            generation=work.generation,
            apiVersion=work.api_version,
            kind=work.kind,
            namespace=work.namespace,
            name=work.name,
            placedBy=work.placed_by,
            abandon=work.options.abandon or work.action == "Keep",
        )
        for work in held[:MOST_OBJECTS]
    ]
    kept = _kept(tx)
    kept.pop(member.cluster_uid, None)
    if found:
        at = stamp(tx.now) or ""
        kept[member.cluster_uid] = {"name": member.name, "at": at, "objects": found}
    _keep(tx, kept)
    return len(found)


def forget(tx: Transaction, cluster_uid: str) -> None:
    """It is destroyed, or clean."""
    kept = _kept(tx)
    if kept.pop(cluster_uid, None) is not None:
        _keep(tx, kept)


def is_any_back(tx: Transaction) -> bool:
    """Is one of the clusters that left a member again?"""
    kept = _kept(tx)
    return bool(kept) and any(each.cluster_uid in kept for each in clusters.list_all(tx))


def take_back_orphans(tx: Transaction, term: int) -> None:
    """Have clusters that are back take away what no placement has there.

    To be called when all placements have been reconciled with the present fleet.
    """
    tx.require_term(term)
    before = _kept(tx)
    kept = dict(before)
    for member in clusters.list_all(tx):
        cluster_uid = member.cluster_uid
        if cluster_uid not in kept or not _is_settled(member, tx.now):
            continue
        left = _take_back(tx, member, kept[cluster_uid]["objects"])
        if left:
            kept[cluster_uid] = {**kept[cluster_uid], "objects": left}
        else:
            del kept[cluster_uid]
    if kept != before:
        _keep(tx, kept)


def _is_settled(member: Member, now: dt.datetime) -> bool:
    """Placements give it what they want there: it is heard, not cordoned, and has been there a while."""
    joined, heard = member.joined_at, member.heartbeat_at
    if joined is None or heard is None or member.cordoned or not member.session:
        return False
    return now - joined >= SETTLED and now - heard < _HEARD


def _take_back(
    tx: Transaction, member: Member, left: list[ObjectLeftBehind]
) -> list[ObjectLeftBehind]:
    """Order the removal of orphans; keep those that a placement has yet to give there."""
    given = set(works.uids_of(tx, member.name))
    bound = {
        each.placement: each
        for each in placements.bound_to(tx, member.name)
        if each.policy_snapshot != FOR_A_JOB
    }
    missing = [each for each in left if each["uid"] not in given]
    later = [
        each
        for each in missing
        if (mine := bound.get(each["placedBy"])) is not None and not mine.resource_snapshot
    ]
    orphans = [each for each in missing if each not in later]
    works.upsert(tx, [_withdrawn(member.name, each) for each in orphans])
    if orphans:
        text = f"{len(orphans)} object(s) that it kept while it was silent are withdrawn: {_named(orphans)}"
        clusters.say(tx, member, "OrphansRemoved", text)
    return later


def _withdrawn(cluster: str, each: ObjectLeftBehind) -> WantedWork:
    abandon = each["abandon"]
    return {
        "cluster": cluster,
        "uid": each["uid"],
        "epoch": 0,
        "generation": each["generation"],
        "api_version": each["apiVersion"],
        "kind": each["kind"],
        "namespace": each["namespace"],
        "name": each["name"],
        "options": ApplyOptions(abandon=abandon),
        "placed_by": "",
        "hash": "",
        "action": "Keep" if abandon else "Withdraw",
        "content": "",
    }


def _named(some: list[ObjectLeftBehind]) -> str:
    names = ["/".join(p for p in (e["kind"], e["namespace"], e["name"]) if p) for e in some[:3]]
    return ", ".join(names) + (f" and {len(some) - 3} more" if len(some) > 3 else "")


def _kept(tx: Transaction) -> dict[str, LeftCluster]:
    return dict(settings.get(tx, KEY) or {})


def _keep(tx: Transaction, kept: Mapping[str, LeftCluster]) -> None:
    newest = sorted(kept.items(), key=lambda each: each[1]["at"])[-MOST_CLUSTERS:]
    settings.put(tx, KEY, dict(newest))
