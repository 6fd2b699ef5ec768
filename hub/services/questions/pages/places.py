"""One queue and one cluster as their pages show them, each read over one snapshot and bounded.

Jobs that the reader may not see are counted and not named; an invisible page is absent.
"""

import datetime as dt
import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from hub.services.context.settings import Settings
from hub.services.questions import clusters, jobs, queues, visibility
from hub.services.questions.pages import previews
from hub.services.questions.visibility import LineView, Place
from hub.store import events, manifests, of_cluster, workloads
from hub.store.records.history import StoredEvent
from hub.store.records.lists import JobOnPage
from hub.store.records.workloads import Workload
from hub.store.records.works import CountedWorks, DriftedWork
from hub.store.transaction import Transaction
from shared.documents import Json

MOST_WAITING: Final = 50
MOST_IN_LINE: Final = 2000  # of a ClusterQueue, among whom those of one LocalQueue are looked for
MOST_ASIDE: Final = 500
MOST_JOBS: Final = 50
MOST_DRIFTS: Final = 30
MOST_EVENTS: Final = 20


@dataclass(frozen=True, slots=True)
class PlaceInLine:
    """One that waits, with its place in its ClusterQueue, from 0."""

    place: int
    row: Workload


@dataclass(frozen=True, slots=True)
class QueueRecord:
    """A ClusterQueue, or a LocalQueue (`shown["kind"]`), as REST has it, with who waits and who is in.

    `cohorts`: from its own to the root. `hidden`: how many of those in line may not be seen.
    """

    at: dt.datetime
    shown: Json
    policy: str
    cohorts: Sequence[Json]
    waiting: Sequence[PlaceInLine]
    hidden: int
    holding: Sequence[JobOnPage]
    told: Sequence[StoredEvent]
    shapes: Json  # what those that hold ask for, by its hash


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """A member as REST has it, with what is there. `shapes`: what its jobs ask for, by its hash."""

    at: dt.datetime
    shown: Json
    holding: Sequence[JobOnPage]
    works: Sequence[CountedWorks]
    drifts: Sequence[DriftedWork]
    told: Sequence[StoredEvent]
    shapes: Json


def read_queue(tx: Transaction, namespace: str, name: str, line: LineView) -> QueueRecord:
    """A LocalQueue, or without `namespace` a ClusterQueue. `line`: of the ClusterQueue. Raises NotFound."""
    cohorts: Sequence[Json] = ()
    if namespace:
        shown = queues.get_local_queue(tx, namespace, name)
    else:
        shown, cohorts = queues.get_with_cohorts(tx, name)
    places = list(islice(_places(tx, _bounded(line), namespace, name), MOST_WAITING))
    rows = workloads.get_many(tx, [each.uid for each in places])
    there = [(each.in_queue, rows[each.uid]) for each in places if each.uid in rows]
    seen = [PlaceInLine(place, row) for place, row in there if jobs.is_shown(tx, row)]
    row = previews.queue_row(tx, namespace, name)
    return QueueRecord(
        at=tx.now,
        shown=shown,
        policy=previews.stop_policy_of(row),
        cohorts=cohorts,
        waiting=seen,
        hidden=len(there) - len(seen),
        holding=(holding := previews.admitted(tx, namespace, name, MOST_JOBS)),
        told=_events(tx, row.uid),
        shapes=manifests.get_shapes(tx, {each.shape for each in holding}),
    )


def _bounded(line: LineView) -> LineView:
    """The line with the oldest of those that can not be considered: their rows are read to order them."""
    own = (uid for uid, each in line.set_aside.items() if each.local_queue in line.local_queues)
    kept = heapq.nsmallest(MOST_ASIDE, own)  # uids begin with when they were made
    return replace(line, set_aside={uid: line.set_aside[uid] for uid in kept})


def _places(tx: Transaction, line: LineView, namespace: str, name: str) -> Iterator[Place]:
    found = visibility.places(tx, line)
    if not namespace:
        return found
    return (each for each in found if each.local_queue == (namespace, name))


def read_cluster(tx: Transaction, name: str, settings: Settings) -> ClusterRecord:
    """One member. Raises Rejected: NotFound."""
    shown = clusters.get_cluster(tx, name, settings)
    return ClusterRecord(
        at=tx.now,
        shown=shown,
        holding=(holding := previews.on_cluster(tx, name, MOST_JOBS)),
        works=of_cluster.count_works(tx, name),
        drifts=of_cluster.drifted(tx, name, MOST_DRIFTS),
        told=_events(tx, clusters.find_cluster(tx, name).object),
        shapes=manifests.get_shapes(tx, {each.shape for each in holding}),
    )


def _events(tx: Transaction, uid: str) -> list[StoredEvent]:
    return events.list_events(tx, uid=uid, limit=MOST_EVENTS, newest_first=True, of_found=True)
