"""The last lines and the exit reason of pods that failed, kept with the job: as events among its others.

They are asked for after the job's end is stored, so that no result waits for them or depends on them. They
are kept as long as events are, without the values of environment variables, and once for each job.
"""

import datetime as dt
import signal
from collections.abc import Collection, Sequence
from typing import Final

from hub.domain.instants import told_instant
from hub.services.live import places
from hub.services.live.shown import Hiding
from hub.store import events, jobs, workloads, works
from hub.store.records.history import EventFacts
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.wire.streams_v1 import (
    LAST_BYTES,
    LAST_LINES,
    MOST_FAILED,
    ContainerTold,
    FailedPod,
    LogLine,
    PodTold,
    StreamPart,
)

POD_FAILED: Final = "PodFailed"  # reason of the event; lines follow the first one of its message
MOST_KEPT: Final = 20  # of one job, of all its epochs
LOOKS_BACK: Final = dt.timedelta(seconds=60)
_MOST_EVENTS: Final = 500
_LOOKED_AT: Final = 500
_SIGNALS: Final = {int(each): each.name for each in signal.Signals}


def due(
    tx: Transaction,
    heard: Collection[str],
    without: Collection[str],
    most: int,
    suspect_after_s: float,
) -> list[places.PodsPlace]:
    """At most so many jobs that failed in the last minute in a cluster that is `heard`.

    None of those in `without`, and of the newest hundreds alone.
    """
    found: list[places.PodsPlace] = []
    for uid, cluster in jobs.failed_since(tx, tx.now - LOOKS_BACK, _LOOKED_AT):
        if uid in without or cluster not in heard:
            continue
        if len(found) == most:
            break
        try:
            found.append(places.find(tx, uid, (), suspect_after_s))
        except Rejected:
            continue  # its cluster is silent, or gone
    return found


def keep(tx: Transaction, place: places.PodsPlace, told: StreamPart) -> int:
    """Store an agent's report of failed pods; returns their number. Nothing, where that was done before."""
    row = workloads.get(tx, place.uid)
    known = events.list_events(tx, uid=place.uid, limit=_MOST_EVENTS, newest_first=True)
    if row is None or any(each.reason == POD_FAILED for each in known):
        return 0
    hiding = Hiding(place.hidden)
    for pod in told.pods[:MOST_FAILED]:
        text, facts = (
            _stored(pod, _lines(told.lines, pod), hiding),
            _facts(pod, row.cluster, tx.now),
        )
        tx.say(row, POD_FAILED, text, warning=True, facts=facts)
    return len(told.pods[:MOST_FAILED])


def keep_told(tx: Transaction, cluster: str, told: Sequence[FailedPod]) -> int:
    """Keep pods that failed in a cluster that has or had their jobs; how many were new.

    Of a job the newest are kept, of all its epochs and wherever they ran.
    """
    by_job: dict[str, list[FailedPod]] = {}
    for each in told:
        by_job.setdefault(each.job, []).append(each)
    rows = workloads.get_many(tx, list(by_job))
    return sum(_keep_of_job(tx, rows[uid], cluster, by_job[uid]) for uid in sorted(rows))


def _keep_of_job(tx: Transaction, row: Workload, cluster: str, told: Sequence[FailedPod]) -> int:
    had = row.cluster == cluster or cluster in (row.set_aside or {})
    if not had and not any(work.cluster == cluster for work in works.of_uids(tx, [row.uid])):
        return 0
    known = events.about(tx, row.uid, POD_FAILED, MOST_KEPT)
    names = {each.subject for each in known}
    try:
        hiding, with_lines = Hiding(places.values_of(tx, row.uid)), True
    except Rejected:  # too much to hide
        hiding, with_lines = Hiding(()), False
    new = []
    for each in told[-MOST_FAILED:]:
        facts = _facts(each.pod, cluster, tx.now)
        if each.namespace != row.namespace or facts.subject in names:
            continue
        lines = _lines(each.lines, each.pod) if with_lines else []
        elsewhere = ""
        if (cluster, each.pod.epoch) != (row.cluster, row.epoch):
            elsewhere = f" (in {cluster}, epoch {each.pod.epoch})"
        new.append((_stored(each.pod, lines, hiding, elsewhere), facts))
        names.add(facts.subject)
    events.remove(tx, [each.id for each in known[: max(0, len(known) + len(new) - MOST_KEPT)]])
    for text, facts in new:
        tx.say(row, POD_FAILED, text, warning=True, facts=facts)
    return len(new)


def _stored(pod: PodTold, lines: Sequence[str], hiding: Hiding, elsewhere: str = "") -> str:
    """The message that is stored: name and node as lists of pods show them, the rest redacted."""
    words = "\n".join(hiding(each) for each in [_how(pod) + elsewhere, *lines])
    return f"pod {_plain(pod.name)} on {_plain(pod.node or 'no node')}: {words}"


def _facts(pod: PodTold, cluster: str, now: dt.datetime) -> EventFacts:
    return EventFacts(
        cluster, pod.epoch, subject=_plain(pod.name), member_at=told_instant(pod.finished_at, now)
    )


def _how(pod: PodTold) -> str:
    """Describe a pod's failure in one line without its name."""
    ended = [
        f"container {each.name} exited with code {each.exit_code}{_why(each)}"
        for each in pod.containers
        if each.state == "terminated" and each.exit_code
    ]
    words = "; ".join(ended[:5]) or pod.reason or pod.phase
    return _plain(words)


def _why(ended: ContainerTold) -> str:
    """The kubelet's own word, or the signal that the code stands for: 128 and its number, as of shells."""
    if ended.reason not in {"", "Error"}:
        return f" ({ended.reason})"
    number = (ended.exit_code or 0) - 128
    return f" ({_SIGNALS[number]})" if number in _SIGNALS else ""


def _lines(told: Sequence[LogLine], pod: PodTold) -> list[str]:
    """Its last lines, within bounds, whatever an agent says."""
    found = [each.line for each in told if each.pod == pod.name and not each.note]
    kept: list[str] = []
    left = LAST_BYTES
    for line in reversed(found[-LAST_LINES:]):
        left -= len(line.encode())
        if left < 0:
            break
        kept.insert(0, _plain(line))
    return kept


def _plain(text: str) -> str:
    """One line, as the store takes it."""
    return text.replace("\n", " ").replace("\0", "\ufffd")
