"""Data of the live page, each part read separately: a failing part leaves the others whole."""

import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog

from hub.domain.workloads.states import State
from hub.services.context import hub_cluster, timeline
from hub.services.context.settings import Settings
from hub.services.explain import job
from hub.services.explain.as_it_is_now import WaitingView
from hub.services.members import forgotten
from hub.services.questions import clusters, queues
from hub.store import events, front_page, tallies, work_pages
from hub.store.errors import StoreUnavailable
from hub.store.records.history import StoredEvent
from hub.store.records.lists import JobOnPage
from hub.store.records.works import DriftedWork
from hub.store.transaction import Transaction
from shared.documents import Json

JOBS_PER_PAGE: Final = 50
MAX_PAGES: Final = 400  # what lies further back is found by searching
MAX_DRIFTS: Final = 50
MAX_EVENTS: Final = 20
WAITING: Final = ("Pending", "Held", "Reserved")
MOVING: Final = ("Placed", "Offered", "Applied", "Withdrawing")
# The groups people look at, and their states.
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "waiting": WAITING,
    "moving": MOVING,
    "running": ("Running",),
    "succeeded": ("Succeeded",),
    "failed": ("Failed", "Deactivated"),
    "cancelled": ("Cancelled",),
    "unreachable": ("Unknown",),
}
ENDED: Final = frozenset({"succeeded", "failed", "cancelled"})
T = TypeVar("T")
_logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """The viewer's filter of jobs."""

    group: str = ""  # of GROUPS, several with commas between them; "" for all
    text: str = ""  # part of a namespace, name, queue or cluster
    page: int = 1
    owner: str = ""
    namespace: str = ""
    queue: str = ""  # a LocalQueue or ClusterQueue
    cluster: str = ""

    @property
    def groups(self) -> tuple[str, ...]:
        """Those that are wanted; () for all."""
        return tuple(each for each in self.group.split(",") if each in GROUPS)

    @property
    def is_narrowed(self) -> bool:
        """True if anything is left out."""
        return bool(self.group or self.is_of_part)

    @property
    def is_of_part(self) -> bool:
        """True if jobs are left out whatever their state."""
        return any((self.text, self.owner, self.namespace, self.queue, self.cluster))


@dataclass(frozen=True, slots=True)
class ShownJob:
    """A job of the page; of one that waits `told` says why, as `explain_job` has it."""

    job: JobOnPage
    told: Json


@dataclass(frozen=True, slots=True)
class JobsPage:
    """A page of jobs; is there a further one?"""

    items: Sequence[ShownJob]
    more: bool


@dataclass(frozen=True, slots=True)
class FleetRows:
    """The view of the whole fleet; None for what can not be read.

    To who sees part of it, what has no namespace is empty: it is not theirs to see.
    """

    at: dt.datetime
    states: Mapping[str, int] | None  # how many jobs are in each
    clusters: Sequence[Json] | None
    queues: Sequence[Json] | None
    drifts: Sequence[DriftedWork] | None
    events: Sequence[StoredEvent] | None  # newest first
    stopped: str | None  # why the hub decides nothing; "": it does
    forgotten: Json | None
    bridge: Json | None


@dataclass(frozen=True, slots=True)
class BoardPage:
    """The content of one view of the live page, read over one snapshot."""

    fleet: FleetRows
    jobs: JobsPage
    cost_s: float  # processor time that reading took


@dataclass(frozen=True, slots=True)
class FoundJobs:
    """A page of jobs as their rows are; is there a further one, and the processor time that finding took."""

    rows: Sequence[JobOnPage]
    more: bool
    cost_s: float

    def waiting(self) -> list[str]:
        """Uids of those that wait."""
        return [row.uid for row in self.rows if row.state == State.PENDING]


def find_jobs(tx: Transaction, asked: Asked) -> FoundJobs:
    """The rows of one page of jobs."""
    began = time.thread_time()
    offset = (asked.page - 1) * JOBS_PER_PAGE
    found = _find(tx, asked, offset, JOBS_PER_PAGE + 1)
    more = len(found) > JOBS_PER_PAGE
    return FoundJobs(found[:JOBS_PER_PAGE], more, time.thread_time() - began)


def read_page(
    tx: Transaction, found: FoundJobs, views: Mapping[str, WaitingView], settings: Settings
) -> BoardPage:
    """Everything that one viewer's page shows; `views`: of the jobs that wait, by uid."""
    began = time.thread_time()
    fleet = read_fleet(tx, settings)
    items = [ShownJob(row, _told(tx, row, views.get(row.uid))) for row in found.rows]
    cost_s = found.cost_s + time.thread_time() - began
    return BoardPage(fleet, JobsPage(items, more=found.more), cost_s)


def read_fleet(tx: Transaction, settings: Settings) -> FleetRows:
    """Each part separately, cut to the reader's rights."""
    partial = not tx.scope.is_everything
    return FleetRows(
        at=tx.now,
        states=_read("states", lambda: tallies.by_state(tx)),
        clusters=()
        if partial
        else _read("clusters", lambda: clusters.list_clusters(tx, settings)["items"]),
        queues=_read("queues", lambda: queues.list_queues(tx)["items"]),
        drifts=_read("drifts", lambda: work_pages.list_drifted(tx, None, MAX_DRIFTS)),
        events=_read(
            "events", lambda: events.list_events(tx, limit=MAX_EVENTS, newest_first=True)
        ),
        stopped=_read("stopped", lambda: timeline.stopped(tx)),
        forgotten=None if partial else _read("forgotten", lambda: forgotten.condition(tx)),
        bridge=None if partial else _read("bridge", lambda: hub_cluster.show(tx)),
    )


def _find(tx: Transaction, asked: Asked, offset: int, limit: int) -> list[JobOnPage]:
    """Unfinished jobs, then ended ones, as one list."""
    groups, text = asked.groups, asked.text
    over = [state for group in groups if group in ENDED for state in GROUPS[group]]
    going = [state for group in groups if group not in ENDED for state in GROUPS[group]]
    place = front_page.JobsPlace(
        cluster=asked.cluster,
        namespace=asked.namespace,
        any_queue=asked.queue,
        owner=asked.owner,
    )
    if over and not going:
        return front_page.ended(tx, over, text, offset, limit, place)
    found = front_page.unfinished(tx, going, text, offset, limit, place)
    if (going and not over) or len(found) == limit:
        return found
    ahead = offset
    if offset and not found:
        ahead = front_page.count_unfinished(tx, text, place, going)
    later = max(0, offset - ahead)
    return found + front_page.ended(tx, over, text, later, limit - len(found), place)


def _told(tx: Transaction, row: JobOnPage, waiting: WaitingView | None) -> Json:
    """The reason why a job waits, with its position; {} if its row says all, or it is unknown."""
    if row.state != State.PENDING:
        return {}
    try:
        return job.explain_waiting(tx, row, waiting)
    except Exception as fault:  # noqa: BLE001 - one unusable row must not take the page
        _logger.warning("a job can not be explained", uid=row.uid, error=str(fault))
        return {}


def _read(name: str, ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except StoreUnavailable:
        raise
    except Exception:  # the other parts of the page stay
        _logger.exception("a part of the page can not be read", part=name)
        return None
