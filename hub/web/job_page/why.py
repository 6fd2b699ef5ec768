"""Why a job is where it is, or waits, as pictures: a funnel of clusters, bars of scores, bars of quota."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from hub.web.job_view import score_words
from hub.web.words import count, path_of, percent, text
from shared import quantity
from shared.documents import Json

MOST: Final = 20  # clusters that are shown; the rest is counted
_NAMED: Final = 3  # clusters that one step of the funnel names
_LISTED: Final = 50  # verdicts that a decision keeps: so many may be more
_WIDTH: Final = 1000


class _Step(NamedTuple):
    label: str
    rules: frozenset[str]
    reasons: frozenset[str] = frozenset()  # of the rule Fits


_FITS: Final = "Fits"
_NO_ROOM: Final = "InsufficientRoom"
# The rules of `hub.domain.placement.registry`, then room, in the order in which they are asked.
_STEPS: Final = (
    _Step("joined, heard and healthy", frozenset({"Eligible", "Healthy"})),
    _Step("not cordoned, not set aside", frozenset({"Uncordoned", "NotSetAside"})),
    _Step("named, selected, by affinity", frozenset({"Named", "AffinityRequired"})),
    _Step("serves its kind, taints tolerated", frozenset({"KindServed", "TaintsTolerated"})),
    _Step("has nodes of its flavors", frozenset({_FITS})),
    _Step("has the room now", frozenset({_FITS}), frozenset({_NO_ROOM})),
)


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """How many clusters are left after one rule; `out` of those that it takes away."""

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
    """What one rule gave, as a piece of the bar."""

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
class Standing:
    """How clusters stand for it: the picture of a decision, or of what would be decided now."""

    funnel: Funnel | None
    legend: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    more_candidates: int
    refused: tuple[Refused, ...]
    more_refused: int


@dataclass(frozen=True, slots=True)
class QuotaBar:
    """One flavor and resource: what is used, what this job asks, and where the nominal quota ends."""

    resource: str
    flavor: str
    used: str
    asked: str
    holds: bool  # what it asks is in `used` already
    nominal: str
    borrowed: str
    limit: str  # with what may be borrowed
    others: float
    own_x: float
    own: float
    mark: float  # of the nominal quota
    short: bool
    told: str


def standing_of(shown: Json, told: Json) -> Standing:
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
    return Standing(
        funnel=_funnel(fit, out, refusals, competed, waits=waits, exact=counted is not None),
        legend=tuple(text(score_words(name)) for name in used),
        candidates=tuple(_candidates(fit[:MOST], used, waits=waits)),
        more_candidates=competed - min(len(fit), MOST),
        refused=tuple(_refused(each) for each in out[:MOST]),
        more_refused=max(0, total_out - min(len(out), MOST)),
    )


def _refusals(counted: object, out: Sequence[Json]) -> Counter[tuple[str, str]]:
    """How many clusters each rule refuses, by rule and reason."""
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


# --- quota -----------------------------------------------------------------------------------


def quota_bars(shown: Json, quotas: Sequence[Json]) -> tuple[QuotaBar, ...]:
    """Bars of what it asks for; of all that its ClusterQueue has where nobody knows what it asks for."""
    by_flavor, by_resource = asked_of(shown)
    holds = bool(by_flavor)
    bars = []
    for row in quotas:
        key = (row["flavor"], row["resource"])
        asked = by_flavor.get(key) if holds else by_resource.get(row["resource"])
        if asked is None and (by_flavor or by_resource):
            continue
        bars.append(_bar(row, asked or 0, holds=holds))
    return tuple(bars)


def asked_of(shown: Json) -> tuple[dict[tuple[str, str], int], dict[str, int]]:
    """What it is charged with by flavor and resource, once it is, else what it asks of each resource."""
    charged: Counter[tuple[str, str]] = Counter()
    for pod_set in (shown.get("admission") or {}).get("podSets") or ():
        flavors = pod_set.get("flavors") or {}
        for resource, amount in (pod_set.get("usage") or {}).items():
            charged[flavors.get(resource, ""), resource] += int(amount)
    asked: Counter[str] = Counter()
    for pod_set in shown.get("podSets") or ():
        asked["pods"] += int(pod_set["count"])
        for resource, amount in (pod_set.get("requests") or {}).items():
            asked[resource] += int(amount) * int(pod_set["count"])
    return dict(charged), dict(asked)


def _bar(row: Json, asked: int, *, holds: bool) -> QuotaBar:
    resource = str(row["resource"])
    used, nominal = _amount(row, "used") or 0, _amount(row, "nominal")
    potential = _amount(row, "potential")
    available = _amount(row, "available")
    others = max(0, used - asked) if holds else used
    short = not holds and available is not None and asked > available
    whole = max(others + asked, nominal or 0, potential or 0, 1)
    scale = _WIDTH / whole
    named = quantity.canonical(resource, asked) if asked else ""
    limit = row["potential"] if potential is not None and potential != nominal else ""
    does = "of it holds" if holds else "asks"
    said = f"{row['used']} of {row['nominal'] or 'unlimited'} used"
    said += f"; this job {does} {named}" if named else ""
    return QuotaBar(
        resource=text(resource),
        flavor=text(row["flavor"]),
        used=text(row["used"]),
        asked=text(named),
        holds=holds,
        nominal=text(row["nominal"] or "unlimited"),
        borrowed=text(row["borrowed"]) if _amount(row, "borrowed") else "",
        limit=text(limit or ""),
        others=round(others * scale, 1),
        own_x=round(others * scale, 1),
        own=round(asked * scale, 1),
        mark=0.0 if nominal is None or nominal >= whole else round(nominal * scale, 1),
        short=short,
        told=text(f"{resource} of flavor {row['flavor']}: {said}"),
    )


def _amount(row: Json, name: str) -> int | None:
    told = row.get(name)
    return None if told is None else quantity.parse(row["resource"], str(told))


# --- words -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outlook:
    """What would change it, when it is expected to start, and who could go for it."""

    position: str
    quota: tuple[str, ...]
    remedies: tuple[str, ...]
    complete: bool
    starts_at: str
    forecast: str
    rests_on: tuple[tuple[str, str, str], ...]  # name, address of its page, when it ends
    checks: tuple[tuple[str, str, str], ...]  # name, state, message
    candidates: tuple[str, ...]
    spared: tuple[str, ...]
    aside: tuple[str, ...]


def outlook_of(told: Json) -> Outlook:
    """The explanation's sentences."""
    place: Json = told.get("position") or {}
    position = (
        f"position {place['inQueue']} of {place['ofQueue']} in {told['clusterQueue']}, "
        f"{place['overall']} of {place['ofOverall']} overall"
        if place
        else ""
    )
    forecast: Json = told.get("forecast") or {}
    preemption: Json = told.get("preemption") or {}
    because: Json = told.get("setAsideBecause") or {}
    return Outlook(
        position=text(position),
        quota=tuple(text(_short(each)) for each in (told.get("waiting") or {}).get("quota") or ()),
        remedies=tuple(text(each["message"]) for each in told.get("remedies") or ()),
        complete=bool(told.get("complete", True)),
        starts_at=text(forecast.get("at")),
        forecast=text(forecast.get("message")),
        rests_on=tuple(_ends(each) for each in forecast.get("restsOn") or ())
        if forecast.get("at")
        else (),
        checks=tuple(
            (text(each.get("name")), text(each.get("state")), text(each.get("message")))
            for each in told.get("checks") or ()
        ),
        candidates=tuple(
            text(f"{each['namespace']}/{each['name']} (priority {each['priority']})")
            for each in preemption.get("candidates") or ()
        ),
        spared=tuple(
            text(f"{count(each['count'], 'job')} may not: {each['reason']}")
            for each in preemption.get("spared") or ()
        ),
        aside=tuple(
            _aside(name, at, because) for name, at in (told.get("setAside") or {}).items()
        ),
    )


def _short(each: Json) -> str:
    where = f" in cohort {each['cohort']}" if each.get("cohort") else ""
    return (
        f"asks {each['asked']} {each['resource']} of flavor {each['flavor']}: {each['used']} of "
        f"{each['limit']} used{where}, {each['missing']} more needed"
    )


def _ends(each: Json) -> tuple[str, str, str]:
    name = f"{each['namespace']}/{each['name']}" if each.get("namespace") else str(each["name"])
    return text(name), path_of("jobs", str(each["uid"])), text(each.get("endsAt"))


def _aside(name: str, at: object, because: Json) -> str:
    until = f"until {at}" if at else "until a person releases it"
    said = (because.get(name) or {}).get("message")
    return text(f"{name} is avoided {until}" + (f": {said}" if said else ""))
