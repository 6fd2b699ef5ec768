"""A job as the page shows it: its state, why it waits in words and numbers, or where it went and why."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hub.domain.plan import Reason
from hub.services.context.rendering import began_at, ended_at
from hub.services.questions.dashboard import ShownJob
from hub.store.records.lists import JobOnPage
from hub.web.words import Instant, count, instant, percent, text, tone
from shared import quantity
from shared.documents import Json

_PREFIX: Final = "resources.kubernetes-fleet.io/"
_AVAILABLE: Final = "available-"
_MAX_CHOICES: Final = 20
_WITH_QUOTA: Final = frozenset({Reason.EXCEEDS_MAX_QUOTA, Reason.WAITING_FOR_QUOTA})
# The default text if neither the hub nor the member has a message.
_WORDS: Final = {
    "Held": "held by its user or its queue",
    "Pending": "has not been considered yet",
    "Reserved": "quota is charged; admission checks are open",
    "Placed": "not offered to its agent yet",
    "Offered": "offered to its agent; not in the cluster yet",
    "Applied": "in the cluster; no pod has run yet",
    "Running": "",
    "Withdrawing": "is being withdrawn from its cluster",
    "Succeeded": "",
    "Unknown": "its cluster does not answer: it waits, and its quota stays charged",
}


_NOT_STARTED: Final = frozenset(
    {"Held", "Pending", "Reserved", "Placed", "Offered", "Deactivated"}
)


@dataclass(frozen=True, slots=True)
class ScoredCluster:
    """One cluster that was considered."""

    cluster: str
    chosen: bool
    score: str  # "" for one that did not compete
    percent: int
    because: str


@dataclass(frozen=True, slots=True)
class JobLine:
    """One row of the table of jobs."""

    uid: str
    namespace: str
    name: str
    queue: str
    owner: str
    cluster: str
    state: str
    tone: str
    since: Instant | None  # when it ended, else started
    since_word: str
    created: Instant | None
    reason: str
    message: str
    facts: tuple[str, ...]
    choices_title: str
    choices: tuple[ScoredCluster, ...]

    @property
    def scored(self) -> bool:
        """Did any cluster compete?"""
        return any(each.score for each in self.choices)


def job_line(shown: ShownJob, now: dt.datetime) -> JobLine:
    """One row of `services.questions.dashboard.JobsPage`."""
    row, told = shown.job, shown.told
    waiting: Json = told.get("waiting") or {}
    if waiting:
        title, choices = _verdicts(waiting)
    else:
        title, choices = _decision(row.scores or {}) if row.cluster else ("", ())
    outside = row.state == "Placed" and not row.cluster  # a bare Workload, admitted
    words = "its executor runs it" if outside else _WORDS.get(row.state, "")
    message = text(told.get("message") or row.message or words)
    return JobLine(
        uid=row.uid,
        namespace=text(row.namespace),
        name=text(row.name),
        queue=text(row.queue),
        owner=text(row.owner),
        cluster=text(row.cluster),
        state=text(row.state),
        tone=tone(row.state),
        since=instant(ended_at(row) or _started(row), now),
        since_word="" if row.finished_at else "started ",
        created=instant(row.created_at, now),
        reason=text(told.get("reason") or row.reason),
        message=message,
        facts=tuple(_facts(told, waiting, str(waiting.get("reason") or ""))),
        choices_title=title,
        choices=choices,
    )


def _started(row: JobOnPage) -> dt.datetime | None:
    """The start of the present run; a withdrawn epoch does not count."""
    return None if row.state in _NOT_STARTED else began_at(row)


def unreadable(row: JobOnPage) -> JobLine:
    """The placeholder of an unreadable row."""
    return JobLine(
        uid=text(row.uid),
        namespace=text(row.namespace),
        name=text(row.name),
        queue="",
        owner="",
        cluster="",
        state=text(row.state),
        tone="bad",
        since=None,
        since_word="",
        created=None,
        reason="Unreadable",
        message="the hub's record of this job can not be shown; the hub's log says why",
        facts=(),
        choices_title="",
        choices=(),
    )


def _facts(told: Json, waiting: Json, reason: str) -> Iterator[str]:
    """The numbers behind the reason, one line each."""
    position: Json = told.get("position") or {}
    if position:
        yield (
            f"position {position['inQueue']} of {position['ofQueue']} in {told['clusterQueue']}, "
            f"{position['overall']} of {position['ofOverall']} overall"
        )
    for short in waiting.get("quota") or () if reason not in _WITH_QUOTA else ():
        if said := short.get("message"):
            yield text(f"quota: {said}")
            continue
        yield text(
            f"quota: asks {short['asked']} {short['resource']} of flavor {short['flavor']}, "
            f"{short['used']} of {short['limit']} used"
            f"{' in cohort ' + short['cohort'] if short.get('cohort') else ''}"
            f", {short['missing']} more needed"
        )
    nearest: Json = waiting.get("nearest") or {}
    if nearest and reason != Reason.NO_CLUSTER_FITS:
        yield text(f"nearest miss: {nearest['message']}")


def _verdicts(waiting: Json) -> tuple[str, tuple[ScoredCluster, ...]]:
    """The reason why no cluster takes it."""
    verdicts: Sequence[Json] = waiting.get("clusters") or ()
    choices = tuple(
        ScoredCluster(text(v["cluster"]), False, "", 0, text(v.get("message") or v.get("reason")))
        for v in verdicts[:_MAX_CHOICES]
    )
    return f"{count(len(verdicts), 'cluster')} considered", choices


def _decision(decision: Json) -> tuple[str, tuple[ScoredCluster, ...]]:
    """The reason for this cluster."""
    clusters: Sequence[Json] = decision.get("clusters") or ()
    scored = [c for c in clusters if not c.get("rule")]
    names = {c["cluster"] for c in scored}
    refused = [c for c in clusters if c.get("rule") and c["cluster"] not in names]
    chosen = next((c for c in scored if c.get("selected")), None)
    if chosen is None:
        return "", ()
    competed = len(scored) + int(decision.get("others") or 0)
    if competed > 1:
        others = ", ".join(f"{c['cluster']} {c['score']}" for c in scored if c is not chosen)
        title = text(f"score {chosen['score']}, best of {competed} clusters that fit ({others})")
    elif refused:
        title = f"the only cluster of {1 + len(refused)} that fits"
    else:
        title = "the only cluster"
    choices = [_scored(c) for c in scored] + [
        ScoredCluster(text(c["cluster"]), False, "", 0, text(c.get("message") or c.get("reason")))
        for c in refused
    ]
    return title, tuple(choices[:_MAX_CHOICES])


def _scored(each: Json) -> ScoredCluster:
    terms: Sequence[Json] = each.get("terms") or ()
    balanced = "running" in each
    most = (
        int(terms[0]["weight"]) if balanced else sum(abs(int(t["weight"])) for t in terms) or 100
    )
    because = "" if balanced else ", ".join(_term(t) for t in terms)
    return ScoredCluster(
        cluster=text(each["cluster"]),
        chosen=bool(each.get("selected")),
        score=text(each.get("score")),
        percent=percent(float(each.get("score") or 0), most),
        because=text(because or each.get("message") or each.get("reason")),
    )


_FULLNESS: Final = "in-use-after"  # its score is what is not in use


def score_words(name: str) -> str:
    """The terms of a score, in words: `available cpu`; a long bar is much of it."""
    if name == _FULLNESS:
        return "left free after it is placed"
    return name.removeprefix(_PREFIX).replace("-", " ")


def _term(term: Json) -> str:
    """`available cpu 128: 40 of 40`."""
    name = str(term["name"]).removeprefix(_PREFIX)
    value = term.get("value")
    shown = "" if value is None else f" {_amount(name, float(value))}"
    return f"{name.replace('-', ' ', 1)}{shown}: {term['score']} of {term['weight']}"


def _amount(name: str, value: float) -> str:
    """A property's value; memory as people write it."""
    if name.endswith("memory") and value == int(value):
        return quantity.canonical("memory", int(value))
    return f"{value:.15g}"
