"""The head of a job's page: its state and since when, why, and the facts that lead to other pages."""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from hub.domain.workloads.course import Course, Phase
from hub.domain.workloads.states import State
from hub.web.fleet_pages.lines import asked
from hub.web.words import Instant, count, instant, path_of, text, tone
from shared.documents import Json

_LASTS: Final[Mapping[Phase, str]] = {
    Phase.WAITING: "waits for",
    Phase.HELD: "for",
    Phase.CHECKED: "checked for",
    Phase.PLACING: "on its way for",
    Phase.STARTING: "starting for",
    Phase.RUNNING: "for",
    Phase.SILENT: "silent for",
    Phase.LEAVING: "leaving for",
    Phase.ENDED: "ended",
}
# What an explanation says of a state where there is nothing to say: the state stands above.
_SAID_BY_STATE: Final = frozenset({"runs", "finished", "failed", "cancelled", "deactivated"})
_DECIDED: Final = {"NeverSatisfied": "never", "Waived": "let go regardless"}
_NOWHERE: Final = frozenset({State.HELD, State.PENDING, State.RESERVED, State.PLACED})
_IDLE: Final = frozenset({Phase.WAITING, Phase.HELD, Phase.CHECKED})


@dataclass(frozen=True, slots=True)
class HeadFact:
    """One of the facts; `at`, with `after`, where it is a moment; `href` "" where there is no page of it."""

    label: str
    text: str
    href: str = ""
    at: Instant | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Related:
    """Another job that this one waits for, or that waits for it."""

    name: str
    href: str
    condition: str
    state: str
    tone: str


@dataclass(frozen=True, slots=True)
class JobHead:
    """The head of the page."""

    uid: str
    namespace: str
    name: str
    state: str
    tone: str
    lasts: str  # the words before the age of `since`
    since: Instant | None
    ended: bool
    there: bool  # a cluster may hold pods of it
    reason: str
    message: str
    back: str  # why it is where it was before; "" where it was never taken back, or runs again
    back_at: Instant | None
    facts: tuple[HeadFact, ...]
    after: tuple[Related, ...]
    before: tuple[Related, ...]


def head_of(shown: Json, told: Json, course: Course, now: dt.datetime) -> JobHead:
    """`shown`: the record; `told`: its explanation."""
    last = course.last
    back, back_at = _back(shown, course, now)
    lasts = "waits again for" if last.again and last.phase is Phase.WAITING else _LASTS[last.phase]
    return JobHead(
        uid=text(shown["uid"]),
        namespace=text(shown["namespace"]),
        name=text(shown["name"]),
        state=text(shown["state"]),
        tone=tone(shown["state"]),
        lasts=lasts,
        since=instant(last.since, now),
        ended=last.phase is Phase.ENDED,
        there=bool(shown["cluster"]) and shown["state"] not in _NOWHERE,
        reason=text(told["reason"]),
        message="" if told["message"] in _SAID_BY_STATE else text(told["message"]),
        back=back,
        back_at=back_at,
        facts=tuple(_facts(shown, told, course, now)),
        after=_related(shown.get("after")),
        before=_related(shown.get("before")),
    )


def _back(shown: Json, course: Course, now: dt.datetime) -> tuple[str, Instant | None]:
    """The reason why it waits again, or is held, and when it was withdrawn."""
    evicted = shown.get("evicted") or {}
    if not evicted or course.last.phase not in {*_IDLE, Phase.LEAVING}:
        return "", None
    cause = f" ({evicted['cause']})" if evicted.get("cause") else ""
    said = f": {evicted['message']}" if evicted.get("message") else ""
    return text(f"{evicted.get('reason', '')}{cause}{said}"), instant(evicted.get("at"), now)


def _facts(shown: Json, told: Json, course: Course, now: dt.datetime) -> Iterator[HeadFact]:
    yield HeadFact("Owner", text(shown["owner"]))
    cluster_queue = str(told.get("clusterQueue") or shown["clusterQueue"] or "")
    local = text(shown["queue"])
    if cluster_queue:
        note = f"by LocalQueue {local}" if local and local != cluster_queue else ""
        yield HeadFact("Queue", text(cluster_queue), path_of("queues", cluster_queue), note=note)
    else:
        page = path_of("queues", str(shown["namespace"]), str(shown["queue"])) if local else ""
        yield HeadFact("Queue", local or "none", page)
    if shown["cluster"]:
        yield HeadFact(
            "Cluster", text(shown["cluster"]), path_of("clusters", str(shown["cluster"]))
        )
    elif nominated := (told.get("nomination") or {}).get("cluster"):
        note = "while those leave that it preempts"
        yield HeadFact("Cluster", text(nominated), path_of("clusters", str(nominated)), note=note)
    named = f" ({shown['priorityClass']})" if shown["priorityClass"] else ""
    yield HeadFact("Priority", text(f"{shown['priority']}{named}"))
    yield HeadFact("Pods", text(_pods(shown)))
    if asks := asked(shown.get("requests") or {}):
        yield HeadFact("Asks for", asks)
    yield HeadFact("Created", "", at=instant(shown["createdAt"], now))
    if course.last.phase not in _IDLE and shown["startedAt"]:
        yield HeadFact("Started", "", at=instant(shown["startedAt"], now))
    if shown["finishedAt"]:
        yield HeadFact("Ended", "", at=instant(shown["finishedAt"], now))
    if len(course.attempts) > 1:
        yield HeadFact("Attempts", count(len(course.attempts), "placement"))
    origin = "on the hub cluster" if shown["origin"] == "hub-cluster" else "by the API"
    yield HeadFact("Kind", text(f"{shown['kind']}, {origin}"))


def _pods(shown: Json) -> str:
    counts = shown["counts"]
    wanted = shown["completions"] or shown["parallelism"] or 0
    parts = [f"{counts[name]} {name}" for name in ("succeeded", "failed") if counts[name]]
    if counts["active"]:
        parts.insert(0, f"{counts['ready']} of {counts['active']} ready")
    told = f": {', '.join(parts)}" if parts else ""
    at_once = shown["parallelism"] or 0
    some = f", {at_once} at a time" if at_once and at_once < wanted else ""
    return f"{wanted}{some}{told}"


def _related(given: object) -> tuple[Related, ...]:
    """Jobs of its chain, as the record lists them."""
    listed = given if isinstance(given, list) else []
    return tuple(_link(each) for each in listed if isinstance(each, dict))


def _link(each: Json) -> Related:
    uid, state = str(each.get("uid") or ""), str(each.get("jobState") or each.get("ended") or "")
    decided = str(each.get("state") or "")
    wanted = str(each.get("condition") or "")
    said = f"{wanted}: {_DECIDED[decided]}" if decided in _DECIDED else wanted
    return Related(
        name=text(each.get("name") or uid),
        href=path_of("jobs", uid) if uid else "",
        condition=text(said),
        state=text(state),
        tone=tone(state),
    )
