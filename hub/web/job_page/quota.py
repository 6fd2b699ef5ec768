"""Bars of the quota that a job asks for or holds, of its ClusterQueue as it is now."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hub.web.words import text
from shared import quantity
from shared.documents import Json

_WIDTH: Final = 1000  # of a picture, in its own units


@dataclass(frozen=True, slots=True)
class JobQuota:
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
    drawn: bool  # False where nothing limits it
    told: str


def quota_bars(shown: Json, quotas: Sequence[Json]) -> tuple[JobQuota, ...]:
    """Bars of its requests; of its whole ClusterQueue if the requests are unknown.

    An ended one has none: it holds no quota any more.
    """
    if shown["finishedAt"]:
        return ()
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
    """Its charge by flavor and resource, if charged, else its request of each resource."""
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


def _bar(row: Json, asked: int, *, holds: bool) -> JobQuota:
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
    return JobQuota(
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
        drawn=nominal is not None,
        told=text(f"{resource} of flavor {row['flavor']}: {said}"),
    )


def _amount(row: Json, name: str) -> int | None:
    told = row.get(name)
    return None if told is None else quantity.parse(row["resource"], str(told))
