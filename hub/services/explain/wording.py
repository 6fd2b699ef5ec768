"""Remedies as sentences with numbers and as fields for scripts. Pure."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from hub.domain.instants import from_micros, stamp
from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.whatif.remedy import Remedy, RemedyKind
from shared import quantity
from shared.documents import Json

NAMED: Final = 5  # jobs that one sentence names
LISTED: Final = 20  # jobs that one remedy lists

Names = Mapping[str, tuple[str, str]]  # uid → namespace, name


class Wording:
    """Sentences about one job, at one instant."""

    def __init__(
        self,
        queue: str,
        names: Names,
        ends: Mapping[str, int],
        now: dt.datetime,
        *,
        discreet: bool = False,
    ) -> None:
        """`queue`: its ClusterQueue; `ends`: when runs are expected to end, microseconds.

        `discreet`: for who may see no more than the jobs that have `names`; of others and of their queues
        nothing is named and nothing is listed.
        """
        self._queue = queue
        self._discreet = discreet
        self._names = names
        self._ends = ends
        self._now = now

    def remedy(self, remedy: Remedy) -> Json:
        """One remedy: {"kind", "message", "amounts", "jobs", "jobsTotal", "number", "cluster"}."""
        listed = remedy.holders[:LISTED]
        return {
            "kind": remedy.kind.value,
            "message": self._said(remedy),
            "amounts": [
                {"flavor": of.flavor, "resource": of.resource, "amount": _amount(of, amount)}
                for of, amount in remedy.amounts
            ],
            "jobs": [self._job(holder) for holder in listed if self.tells(holder.uid)],
            "jobsTotal": len(remedy.holders),
            "number": remedy.number,
            "cluster": remedy.cluster,
            "at": stamp(from_micros(remedy.at)) if remedy.at else None,
        }

    def tells(self, uid: str) -> bool:
        """True if a job may be named."""
        return not self._discreet or uid in self._names

    def job(self, uid: str) -> Json:
        """A job by name, and when it is expected to end."""
        namespace, name = self._names.get(uid, ("", uid))
        end = self._ends.get(uid)
        return {
            "uid": uid,
            "namespace": namespace,
            "name": name,
            "endsAt": None if end is None else stamp(from_micros(end)),
        }

    def _job(self, holder: AdmittedWorkload) -> Json:
        since = holder.started_at
        return self.job(holder.uid) | {
            "clusterQueue": holder.queue,
            "priority": holder.priority,
            "cluster": holder.cluster,
            "since": None if since is None else stamp(from_micros(since)),
        }

    def _said(self, remedy: Remedy) -> str:
        text = _SAID[remedy.kind](self, remedy)
        if not remedy.rest:
            return text
        quota = text.removeprefix("fits ")
        return f"its quota suffices {quota}; missing even then: {remedy.rest}"

    def _jobs(self, holders: Sequence[AdmittedWorkload], of: Iterable[FlavorResource] = ()) -> str:
        """`team-a/x (2 cpu, running for 3 min), team-a/y … and 2 more`."""
        wanted = frozenset(of)
        parts = [self._named(holder, wanted) for holder in holders[:NAMED]]
        more = len(holders) - len(parts)
        if more:
            return f"{', '.join(parts)} and {more} more"
        return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)

    def _named(self, holder: AdmittedWorkload, wanted: frozenset[FlavorResource]) -> str:
        namespace, name = self._names.get(holder.uid, ("", holder.uid))
        uses = [
            (o, a) for o, a in sorted(holder.usage.items()) if a and (not wanted or o in wanted)
        ]
        told = [f"{_amount(o, a)} {o.resource}" for o, a in uses]
        told_of = self.tells(holder.uid)
        if holder.queue != self._queue:
            told.append(f"queue {holder.queue}" if told_of else "another queue")
        told.append(self._time(holder))
        called = f"{namespace}/{name}" if told_of else "a job of others"
        return f"{called} ({', '.join(filter(None, told))})"

    def _time(self, holder: AdmittedWorkload) -> str:
        if holder.evicted:
            return "on its way out"
        end = self._ends.get(holder.uid)
        if end is not None and from_micros(end) > self._now:
            return f"ends in {_lasting(from_micros(end) - self._now)}"
        if holder.started_at is None:
            return "quota reserved"
        return f"admitted {_lasting(self._now - from_micros(holder.started_at))} ago"

    # --- one sentence each ----------------------------------------------------------------

    def turn(self, remedy: Remedy) -> str:
        return "it fits now: it is admitted when its turn comes"

    def preemption(self, remedy: Remedy) -> str:
        return f"when its turn comes it preempts {self._jobs(remedy.holders)}"

    def release(self, remedy: Remedy) -> str:
        freed = _amounts(remedy.amounts)
        return (
            f"fits when {freed} are released: {self._jobs(remedy.holders, dict(remedy.amounts))}"
        )

    def priority(self, remedy: Remedy) -> str:
        would = f"it would preempt {self._jobs(remedy.holders)}"
        if not remedy.holders:
            would = "it would be admitted now"
        return f"with a priority above {remedy.number} {would}"

    def policy(self, remedy: Remedy) -> str:
        rule = f"{remedy.setting}: {remedy.value} in ClusterQueue {self._queue}"
        return f"with {rule} it would preempt {self._jobs(remedy.holders)}"

    def budget(self, remedy: Remedy) -> str:
        would = f"it would have to preempt {remedy.number} workloads: {self._jobs(remedy.holders)}"
        return f"{would}; setting max_preempted_workloads allows fewer"

    def minimum_runtime(self, remedy: Remedy) -> str:
        when = f"from {stamp(from_micros(remedy.at).replace(microsecond=0))} on"
        return f"{when} it may preempt {self._jobs(remedy.holders)}: by then they have run long enough"

    def protected(self, remedy: Remedy) -> str:
        could = f"it could preempt {self._jobs(remedy.holders)}"
        other = self._discreet and remedy.value != self._queue
        whose = "their ClusterQueue" if other else f"ClusterQueue {remedy.value}"
        return f"{could}, were {whose} not one that is never preempted"

    def quota(self, remedy: Remedy) -> str:
        more = _amounts(remedy.amounts)
        return f"fits with {more} more as nominalQuota of ClusterQueue {self._queue}"

    def borrowing_limit(self, remedy: Remedy) -> str:
        more = _amounts(remedy.amounts)
        return f"fits with a borrowingLimit of ClusterQueue {self._queue} higher by {more}"

    def nodes(self, remedy: Remedy) -> str:
        free = " and ".join(f"{quantity.canonical(r, a)} {r}" for r, a in remedy.pod)
        labels = ", ".join(f"{k}={v}" for k, v in remedy.labels)
        labelled = f" and labels {labels}" if labels else ""
        if remedy.number == 1:
            what = f"a node with {free} free{labelled}"
        else:
            what = f"{remedy.number} more nodes, each with {free} free{labelled}"
        text = f"fits with {what} on cluster {remedy.cluster}"
        if not remedy.amounts:
            return text
        more = _amounts(remedy.amounts)
        return f"{text} and {more} more as nominalQuota of ClusterQueue {self._queue}"

    def uncordon(self, remedy: Remedy) -> str:
        typed = f"roadstead clusters uncordon {remedy.cluster}"
        return f"fits once cluster {remedy.cluster} is uncordoned: {typed}"

    def constraints(self, remedy: Remedy) -> str:
        return "fits without its annotations that restrict it to some clusters"

    def set_aside(self, remedy: Remedy) -> str:
        return f"fits once cluster {remedy.cluster} is no longer set aside for it"

    def fewer_pods(self, remedy: Remedy) -> str:
        pods = "1 pod" if remedy.number == 1 else f"{remedy.number} pods"
        return f"with {pods} it would be admitted now"


_SAID: Final = {
    RemedyKind.TURN: Wording.turn,
    RemedyKind.PREEMPTION: Wording.preemption,
    RemedyKind.RELEASE: Wording.release,
    RemedyKind.PRIORITY: Wording.priority,
    RemedyKind.POLICY: Wording.policy,
    RemedyKind.BUDGET: Wording.budget,
    RemedyKind.MINIMUM_RUNTIME: Wording.minimum_runtime,
    RemedyKind.PROTECTED: Wording.protected,
    RemedyKind.QUOTA: Wording.quota,
    RemedyKind.BORROWING_LIMIT: Wording.borrowing_limit,
    RemedyKind.NODES: Wording.nodes,
    RemedyKind.UNCORDON: Wording.uncordon,
    RemedyKind.CONSTRAINTS: Wording.constraints,
    RemedyKind.SET_ASIDE: Wording.set_aside,
    RemedyKind.FEWER_PODS: Wording.fewer_pods,
}


def _amounts(amounts: Iterable[tuple[FlavorResource, int]]) -> str:
    parts = [f"{_amount(of, a)} {of.resource} of flavor {of.flavor}" for of, a in amounts]
    return " and ".join(parts) or "nothing"


def _amount(of: FlavorResource, amount: int) -> str:
    return quantity.canonical(of.resource, amount)


def _lasting(span: dt.timedelta) -> str:
    seconds = max(0, round(span.total_seconds()))
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
