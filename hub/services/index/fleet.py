"""The fleet as members report it: reads reports, updates rows, wakes workloads that may fit now."""

import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import orjson

from hub.domain import selectors
from hub.domain.fleet.clusters import (
    Cluster,
    as_of,
    changed_for_jobs,
    labels_of,
    with_report,
)
from hub.domain.fleet.promises import Members
from hub.domain.placement.scoring.pace import Paces
from hub.domain.queueing.pending import Waiting
from hub.services.index.reader import News
from hub.store.records.members import Member
from shared.documents import Json, JsonView
from shared.wire.versions import OLDEST


class _ReadReport(NamedTuple):
    """A report and its digest. `cluster`: without the declared part; None if the report can not be read."""

    digest: bytes
    version: str
    cluster: Cluster | None


_MOST_REPORTS: Final = 4096
# By name of the member and what else it was read by: the last report read. Content decides, so that any
# number of hubs in one process may share it.
_reports: dict[tuple[str, bytes], _ReadReport] = {}


class FleetNews:
    """Follows rows of `clusters` and `capacities` into `members`."""

    def __init__(
        self,
        members: Members,
        paces: Paces,
        waiting: Waiting,
        suspect_after_s: float,
        keys: set[str],
    ) -> None:
        """`keys` collects the node label keys of pools that were declared."""
        self._paces = paces
        self._keys = keys
        self._declared: dict[str, frozenset[str]] = {}  # the same by member
        self._members = members
        self._stopping: set[str] = set()  # members with stopped queues
        self._waiting = waiting
        self._suspect_after_s = suspect_after_s
        self._renewed: Mapping[str, int] = {}  # see `AskedNamespaces`

    def follow(self, news: News, key_revisions: Mapping[str, int]) -> frozenset[str] | None:
        """Take in what was declared, reported and heard.

        Returns the namespaces whose consent changed in a member; None: that of any may have.
        `key_revisions`: since which revision reports group nodes by each label key.
        """
        told = {member.name for member, _ in news.clusters}
        stale = self._made_again(news)
        known = self._members.clusters
        before = {name: known.get(name) for name in told | news.clusters_gone | stale}
        for name in stale:
            self._members.declare(as_of(self._members.clusters[name], self._renewed))
        for name in news.clusters_gone - told:
            self._members.drop(name)
            self._paces.forget(name)
            self._stopping.discard(name)
            self._declared.pop(name, None)
        for member, capacity in news.clusters:
            self._put(member, capacity, news, key_revisions)
        for name, at in news.heartbeats.items():
            cluster = self._members.clusters.get(name)
            if cluster is not None and cluster.heartbeat_at != at:
                self._members.declare(replace(cluster, heartbeat_at=at))
                if self._was_silent(cluster, news):
                    self._waiting.wake_all_for_room()
        found: set[str] = set()
        for name, was in before.items():
            changed = changed_for_jobs(was, self._members.clusters.get(name))
            if changed is None:
                return None
            found |= changed
        return frozenset(found)

    def _made_again(self, news: News) -> set[str]:
        """Members that may have reported of a namespace that was made again since."""
        if news.named is None or news.named.renewed == self._renewed:
            return set()
        self._renewed = news.named.renewed
        return set(self._members.clusters)

    def stopped_queues(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """LocalQueues (namespace, name) that people have stopped → the members in which they have."""
        clusters = self._members.clusters
        return stopped_queues({name: clusters[name] for name in self._stopping})

    def declared_keys(self) -> set[str]:
        """Node label keys of the pools that are declared now."""
        return set().union(*self._declared.values())

    def _put(
        self,
        member: Member,
        capacity: bytes | None,
        news: News,
        key_revisions: Mapping[str, int],
    ) -> None:
        present = self._members.clusters.get(member.name)
        labels = (pool.get("labels") or () for pool in member.pools or ())
        self._declared[member.name] = frozenset(key for each in labels for key in each)
        self._keys |= self._declared[member.name]
        _, cluster = read_member(member, capacity, key_revisions)
        cluster = as_of(cluster, self._renewed)
        changed = present is None or _declared(present) != _declared(cluster)
        if changed or self._was_silent(present, news):
            self._waiting.wake_all_for_room()
        self._members.put(cluster)
        self._paces.report(member.name, cluster.creates)
        if cluster.stopped_queues:
            self._stopping.add(member.name)
        else:
            self._stopping.discard(member.name)

    def _was_silent(self, cluster: Cluster | None, news: News) -> bool:
        """May workloads have been refused because of the silence that is over now?"""
        if cluster is None or news.read_at is None:
            return False
        at = cluster.heartbeat_at
        return at is None or (news.read_at - at).total_seconds() > self._suspect_after_s


def stopped_queues(
    clusters: Mapping[str, Cluster],
) -> dict[tuple[str, str], tuple[str, ...]]:
    """LocalQueues (namespace, name) that people have stopped → those of `clusters` in which they have."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in sorted(name for name, cluster in clusters.items() if cluster.stopped_queues):
        for each in clusters[name].stopped_queues:
            namespace, _, queue = each.partition("/")
            found.setdefault((namespace, queue), []).append(name)
    return {key: tuple(names) for key, names in found.items()}


def _declared(cluster: Cluster) -> Json:
    """The inputs of eligibility of a cluster, apart from the heartbeat and the room."""
    return {
        "down": cluster.down_cause if cluster.down else "",
        "labels": cluster.labels,
        "taints": [{"key": t.key, "value": t.value, "effect": t.effect} for t in cluster.taints],
        "cordoned": cluster.cordoned,
        "joined_at": cluster.joined or None,
        "properties": cluster.properties,
        "kinds": cluster.kinds,
        "protocol": cluster.protocol,
        "consent": cluster.consent,
        "jobs_forbidden_in": cluster.jobs_forbidden_in,
    }


def is_fenced(member: Member) -> bool:
    """Was the member written off? An agent of its had a session, and no agent is joined any more."""
    return member.joined_at is None and member.session_at is not None


def read_member(
    member: Member,
    capacity: bytes | None,
    key_revisions: Mapping[str, int] | None = None,
) -> tuple[str | None, Cluster]:
    """The Kubernetes version that the agent reported, and the cluster as the report has it.

    A report that can not be read counts as none (version None): it must not hide other members, and the next
    one replaces it. `key_revisions`: since which revision nodes are grouped by each label key.
    """
    declared = _declared_fields(member)
    if capacity is not None:
        read = _read_report(member, capacity, key_revisions or {})
        if read.cluster is not None:
            return read.version, replace(read.cluster, **declared)
    return None, Cluster(**declared)


def _read_report(member: Member, capacity: bytes, key_revisions: Mapping[str, int]) -> _ReadReport:
    """The report alone, parsed once: index, bridge, placements and pages look at the same one."""
    pools = member.pools or ()
    rests_on = orjson.dumps([pools, sorted(key_revisions.items())]) if pools else b""
    key, digest = (member.name, rests_on), hashlib.blake2b(capacity, digest_size=16).digest()
    kept = _reports.get(key)
    if kept is not None and kept.digest == digest:
        return kept
    if len(_reports) >= _MOST_REPORTS:
        _reports.clear()
    read = _reports[key] = _ReadReport(digest, *_parsed(capacity, pools, key_revisions))
    return read


def _parsed(
    capacity: bytes, pools: Sequence[JsonView], key_revisions: Mapping[str, int]
) -> tuple[str, Cluster | None]:
    try:
        told = orjson.loads(capacity)
        if told is None:
            return "", None
        cluster = with_report(Cluster(""), told, pools, key_revisions)
        return str(told.get("kubernetes_version", "")), cluster
    except Exception:  # noqa: BLE001 - one unreadable report must not stop the others
        return "", None


def _declared_fields(member: Member) -> dict[str, Any]:
    """Fields of a `Cluster` that the row of a member decides, whatever its report says."""
    return {
        "name": member.name,
        "labels": labels_of(member.name, member.labels),
        "taints": selectors.read_taints(member.taints),
        "cordoned": member.cordoned,
        "joined": member.joined_at is not None,
        "protocol": int((member.agent or {}).get("protocol") or OLDEST),
        "heartbeat_at": member.heartbeat_at,
    }


def state_of(member: Member, now: dt.datetime, suspect_after_s: float, down: str = "") -> str:
    """Declared, Ready, Cordoned, Suspect (silent for too long), Unhealthy (its API server is `down`), or
    Fenced (written off, until another agent joins).
    """
    if is_fenced(member):
        return "Fenced"
    if member.joined_at is None or member.heartbeat_at is None:
        return "Declared"
    if (now - member.heartbeat_at).total_seconds() > suspect_after_s:
        return "Suspect"
    if down:
        return "Unhealthy"
    return "Cordoned" if member.cordoned else "Ready"
