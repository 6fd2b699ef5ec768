"""Remedies, expected start and preemption candidates of a job, in sentences."""

from dataclasses import dataclass

from hub.domain.workloads.states import State
from hub.web.words import count, path_of, text
from shared.documents import Json


@dataclass(frozen=True, slots=True)
class JobOutlook:
    """Its remedies, its expected start, and its possible victims."""

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
    lost: tuple[str, ...]  # what can become of it while its cluster is silent
    elsewhere: tuple[str, ...]  # earlier epochs that may still run


def outlook_of(told: Json) -> JobOutlook:
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
    return JobOutlook(
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
        lost=tuple(text(each) for each in (told.get("clusterLoss") or {}).get("choices") or ()),
        elsewhere=tuple(text(_earlier(each)) for each in told.get("earlierEpochs") or ()),
        aside=tuple(
            _aside(name, at, because)
            for name, at in (told.get("setAside") or {}).items()
            if told.get("state") == State.PENDING
        ),
    )


def _short(each: Json) -> str:
    if said := each.get("message"):  # explanations of earlier releases lack it
        return str(said)
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


def _earlier(each: Json) -> str:
    """An epoch that a lost cluster may still run."""
    ran = "ran beside a later one" if each.get("overlapped") else "may still run"
    heard = each.get("clusterHeardAt")
    since = f", which was heard last at {heard}" if heard else ""
    return f"epoch {each['epoch']} {ran} in {each['cluster']}{since}"
