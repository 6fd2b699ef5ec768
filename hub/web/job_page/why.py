"""The explanation of a job as pictures: a funnel of clusters and bars of scores."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from hub.web.job_view import score_words
from hub.web.words import path_of, percent, text
from shared.documents import Json

MOST: Final = 20  # clusters that are shown; the rest is counted
_NAMED: Final = 3  # clusters that one step of the funnel names
_LISTED: Final = 50  # maximum verdicts of a decision: there may be more
_WIDTH: Final = 1000


class _Step(NamedTuple):
    label: str
    rules: frozenset[str]
    reasons: frozenset[str] = frozenset()  # of the rule Fits


_PROFILES: Final = {
    "placement": "compared by the preferences of its placement",
    "queue": "compared by how the hub balances work of queues",
}
_FITS: Final = "Fits"
_NO_ROOM: Final = "InsufficientRoom"
# The rules of `hub.domain.placement.registry`, then room, in the order of the checks.
_STEPS: Final = (
    _Step("joined, heard and healthy", frozenset({"Eligible", "Healthy"})),
    _Step(
        "not cordoned, not set aside",
        frozenset({"Uncordoned", "NotSetAside", "QueueNotStopped"}),
    ),
    _Step("named, selected, by affinity", frozenset({"Named", "AffinityRequired"})),
    _Step("serves its kind, taints tolerated", frozenset({"KindServed", "TaintsTolerated"})),
    _Step("has nodes of its flavors", frozenset({_FITS})),
    _Step("has the room now", frozenset({_FITS}), frozenset({_NO_ROOM})),
)


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """The number of clusters left after one rule; `out` of those that it takes away."""

    label: str
    left: int
    out: int
    percent: int
    named: str  # some of those that it takes away


@dataclass(frozen=True, slots=True)
class Funnel:
    """From all clusters to the one; `at_least`: more may have been refused than is known."""

    steps: tuple[FunnelStep, ...]
    chosen: str
    chosen_href: str
    chosen_words: str
    at_least: bool
    told: str


@dataclass(frozen=True, slots=True)
class Part:
    """The result of one rule, as a piece of the bar."""

    index: int
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """One cluster that competes."""

    cluster: str
    href: str
    chosen: bool
    score: str
    parts: tuple[Part, ...]
    because: str


@dataclass(frozen=True, slots=True)
class Refused:
    """One cluster that does not."""

    cluster: str
    href: str
    rule: str
    because: str


@dataclass(frozen=True, slots=True)
class ClusterStanding:
    """The states of clusters for it: of a past decision, or of a decision now."""

    funnel: Funnel | None
    by: str  # whose rules compared them
    legend: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    more_candidates: int
    refused: tuple[Refused, ...]
    more_refused: int


def standing_of(shown: Json, told: Json) -> ClusterStanding:
    """`told`: the explanation, with `survey` while it waits and the scheduler was asked."""
    waits = shown["cluster"] == ""
    decision: Json = (told.get("survey") if waits else told.get("decision")) or {}
    verdicts: Sequence[Json] = decision.get("clusters") or ()
    if waits and not decision:
        verdicts = (told.get("waiting") or {}).get("clusters") or ()
    fit = [each for each in verdicts if not each.get("rule")]
    names = {each["cluster"] for each in fit}
    out = [each for each in verdicts if each.get("rule") and each["cluster"] not in names]
    counted = decision.get("refused")
    refusals = _refusals(counted, out)
    competed = len(fit) + int(decision.get("others") or 0)
    total_out = sum(refusals.values())
    legend = tuple(dict.fromkeys(str(t["name"]) for each in fit for t in each.get("terms") or ()))
    used = _that_count(fit, legend)
    return ClusterStanding(
        funnel=_funnel(fit, out, refusals, competed, waits=waits, exact=counted is not None),
        by=_PROFILES.get(str(decision.get("profile") or ""), ""),
        legend=tuple(text(score_words(name)) for name in used),
        candidates=tuple(_candidates(fit[:MOST], used, waits=waits)),
        more_candidates=competed - min(len(fit), MOST),
        refused=tuple(_refused(each) for each in out[:MOST]),
        more_refused=max(0, total_out - min(len(out), MOST)),
    )


def _refusals(counted: object, out: Sequence[Json]) -> Counter[tuple[str, str]]:
    """The number of clusters that each rule refuses, by rule and reason."""
    found: Counter[tuple[str, str]] = Counter()
    if isinstance(counted, list):
        for each in counted:
            found[str(each["rule"]), str(each["reason"])] += int(each["count"])
        return found
    found.update((str(each["rule"]), str(each.get("reason") or "")) for each in out)
    return found


def _funnel(
    fit: Sequence[Json],
    out: Sequence[Json],
    refusals: Mapping[tuple[str, str], int],
    competed: int,
    *,
    waits: bool,
    exact: bool,
) -> Funnel | None:
    total = competed + sum(refusals.values())
    if not total:
        return None
    steps = [FunnelStep("all clusters", total, 0, 100, "")]
    left = total
    known: set[tuple[str, str]] = set()
    for step in (*_STEPS, None):
        if step is None:
            taken = {key for key in refusals if key not in known}
            label = "by other rules"
        else:
            taken = {key for key in refusals if _takes(step, *key)} - known
            label = step.label
        known |= taken
        gone = sum(refusals[key] for key in taken)
        if step is None and not gone:
            continue
        left -= gone
        of_it = [e["cluster"] for e in out if (e["rule"], e.get("reason") or "") in taken]
        steps.append(FunnelStep(label, left, gone, percent(left, total), _named(of_it, gone)))
    best = next((e for e in fit if e.get("selected")), fit[0] if fit and waits else None)
    words = "" if best is None else ("would be picked first" if waits else "chosen")
    said = "; ".join(f"{s.left} {s.label}" for s in steps)
    return Funnel(
        steps=tuple(steps),
        chosen="" if best is None else text(best["cluster"]),
        chosen_href="" if best is None else path_of("clusters", str(best["cluster"])),
        chosen_words=words,
        at_least=not exact and len(out) >= _LISTED,
        told=text(said + (f"; {best['cluster']} {words}" if best else "")),
    )


def _takes(step: _Step, rule: str, reason: str) -> bool:
    if rule not in step.rules:
        return False
    if rule != _FITS:
        return True
    return (reason in step.reasons) if step.reasons else reason != _NO_ROOM


def _named(names: Sequence[str], gone: int) -> str:
    shown = [str(each) for each in names[:_NAMED]]
    more = gone - len(shown)
    return text(", ".join(shown) + (f" and {more} more" if more > 0 and shown else ""))


def _that_count(fit: Sequence[Json], legend: Sequence[str]) -> tuple[str, ...]:
    """Rules that gave any cluster anything."""
    gave = {
        str(t["name"]) for each in fit for t in each.get("terms") or () if float(t["score"]) > 0
    }
    return tuple(name for name in legend if name in gave)


def _candidates(fit: Sequence[Json], legend: Sequence[str], *, waits: bool) -> Iterator[Candidate]:
    index = {name: at for at, name in enumerate(legend)}
    sums = [sum(max(0.0, float(t["score"])) for t in each.get("terms") or ()) for each in fit]
    best = max(sums, default=0.0) or 1.0
    for each in fit:
        x, parts = 0.0, []
        for term in each.get("terms") or ():
            score = max(0.0, float(term["score"]))
            if not score:
                continue
            width = _WIDTH * score / best
            parts.append(Part(index[str(term["name"])], round(x, 1), round(width, 1)))
            x += width
        yield Candidate(
            cluster=text(each["cluster"]),
            href=path_of("clusters", str(each["cluster"])),
            chosen=bool(each.get("selected")) and not waits,
            score=text(each.get("score")),
            parts=tuple(parts),
            because=text(each.get("message") or each.get("reason")),
        )


def _refused(each: Json) -> Refused:
    return Refused(
        cluster=text(each["cluster"]),
        href=path_of("clusters", str(each["cluster"])),
        rule=text(each.get("rule")),
        because=text(each.get("message") or each.get("reason")),
    )
