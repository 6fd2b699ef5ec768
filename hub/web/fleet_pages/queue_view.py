"""A queue as its page shows it: quota as bars, its place among cohorts, its doors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hub.web.fleet_pages.lines import NamedPage
from hub.web.fleet_view import quota_rank
from hub.web.words import path_of, percent, text
from shared import quantity
from shared.documents import Json

MOST_SIBLINGS: Final = 30
_WIDE: Final = 1000  # of a bar
_MOST_SHARE: Final = 10**12  # in thousandths, of a weight that is not 0
_UNLIMITED: Final = "unlimited"
_STATES: Final = {"Ready": "good", "OverQuota": "wait", "Stopped": "bad", "Inactive": "bad"}


@dataclass(frozen=True, slots=True)
class QueueQuotaBar:
    """One flavor and resource: `own` and `borrowed` of what is in use, the mark at the nominal quota."""

    id: str
    resource: str
    flavor: str
    own: int  # in thousandths of the bar
    borrowed: int
    reserved: int  # of `own` and `borrowed`, what may not run yet: the end of what is used
    mark: int
    used: str
    nominal: str
    says: tuple[str, ...]
    full: bool

    @property
    def aria(self) -> str:
        """The whole bar in words."""
        return f"{self.used} of {self.nominal} used" + "".join(f", {each}" for each in self.says)


@dataclass(frozen=True, slots=True)
class CohortStep:
    """One cohort on the way to the root, with what else is in it."""

    name: str
    queues: tuple[NamedPage, ...]
    more: int
    cohorts: str
    bars: tuple[QueueQuotaBar, ...]


@dataclass(frozen=True, slots=True)
class Entrance:
    """One LocalQueue that leads in."""

    link: NamedPage
    namespace: str
    pending: int
    admitted: int
    weight: str
    consumed: str
    stopped: str


@dataclass(frozen=True, slots=True)
class QueueHead:
    """The properties and state of a queue."""

    kind: str
    name: str
    namespace: str
    leads_to: NamedPage
    state: str
    tone: str
    message: str
    facts: tuple[tuple[str, str], ...]


def head_of(shown: Json, policy: str) -> QueueHead:
    """`shown`: a ClusterQueue or LocalQueue as REST has it."""
    own = shown["kind"] == "ClusterQueue"
    active: Json = next((c for c in shown["conditions"] if c.get("type") == "Active"), {})
    if own:
        state = shown["state"]
    elif policy != "None":
        state = "Stopped"
    else:
        state = "Inactive" if active.get("status") == "False" else "Ready"
    message = text(active.get("message")) if state in {"Stopped", "Inactive"} else ""
    if state == "OverQuota":
        message = "it has more than its quota allows by now: the hub evicts nothing and admits nothing more"
    facts = [("waiting", str(shown["pending"])), ("admitted", str(shown["admitted"]))]
    held = shown["reserving"] - shown["admitted"]
    if held > 0:
        facts.append(("reserved, checks open", str(held)))
    if own:
        facts += [("strategy", text(shown["strategy"])), ("fair share", _share(shown))]
        if shown["weight"] != "1":
            facts.append(("weight", text(shown["weight"])))
        if shown["cohort"]:
            facts.append(("cohort", text(shown["cohort"])))
    else:
        facts.append(("weight", text(shown["fairSharing"]["weight"])))
        if shown["fairSharing"]["admissionFairSharingStatus"] is not None:
            facts.append(("used of late", consumed_words(shown["fairSharing"]) or "nothing"))
    if policy != "None":
        facts.append(("stop policy", policy))
    facts.append(
        ("declared", "on the hub cluster" if shown["origin"] == "hub-cluster" else "here")
    )
    leads = "" if own else text(shown["clusterQueue"])
    return QueueHead(
        kind=shown["kind"],
        name=text(shown["name"]),
        namespace=text(shown.get("namespace")),
        leads_to=NamedPage(leads, path_of("queues", leads) if leads else ""),
        state=state,
        tone=_STATES.get(state, "wait"),
        message=message,
        facts=tuple(facts),
    )


def _share(shown: Json) -> str:
    """Its weighed borrowing beyond its quota, in thousandths of the cohort's."""
    share = shown["weightedShare"]
    if share > _MOST_SHARE:
        return "borrows with weight 0: comes after all others"
    return "borrows nothing" if not share else f"borrows {share / 10:.1f} % of its cohort"


def consumed_words(sharing: Json) -> str:
    """Resources that a LocalQueue used of late, decayed by age; "" for none."""
    told: Json = (sharing["admissionFairSharingStatus"] or {}).get("consumedResources") or {}
    return text(", ".join(f"{name} {amount}" for name, amount in sorted(told.items())))


def bars_of(rows: Sequence[Json]) -> tuple[QueueQuotaBar, ...]:
    """Quota rows of a queue or cohort."""
    return tuple(_bar(row) for row in sorted(rows, key=quota_rank))


def _bar(row: Json) -> QueueQuotaBar:
    resource = row["resource"]
    used, nominal = _amount(row, "used") or 0, _amount(row, "subtree", "nominal")
    borrowed = _amount(row, "borrowed") or 0
    potential = _amount(row, "potential")
    admitted = _amount(row, "admitted") if row.get("admitted") else used
    most = max(used, nominal or 0, _bounded(potential, nominal))
    reserved = max(0, used - (admitted or 0))
    says: list[str] = []
    if borrowed:
        says.append(f"{_text(resource, borrowed)} of it borrowed")
    if reserved:
        says.append(f"{_text(resource, reserved)} reserved, not running yet")
    if lent := _lent(row, used, nominal):
        says.append(f"{_text(resource, lent)} lent to others of its cohort now")
    if nominal is not None and row.get("lendingLimit") is not None:
        says.append(f"lends at most {row['lendingLimit']}")
    if potential is None and nominal is not None:
        says.append("may borrow any amount")
    elif potential is not None and nominal is not None and potential > nominal:
        says.append(f"may borrow up to {_text(resource, potential)} in all")
    return QueueQuotaBar(
        id=text(f"{row['flavor']}-{resource}"),
        resource=text(resource),
        flavor=text(row["flavor"]),
        own=_part(used - borrowed, most),
        borrowed=_part(borrowed, most),
        reserved=_part(reserved, most),
        mark=0 if nominal is None else min(_WIDE - 4, _part(nominal, most)),
        used=_text(resource, used),
        nominal=_UNLIMITED if nominal is None else _text(resource, nominal),
        says=tuple(says),
        full=nominal is not None and used >= nominal,
    )


def _lent(row: Json, used: int, nominal: int | None) -> int:
    """The part of its own quota that others of its cohort use now; at least that."""
    available = _amount(row, "available")
    if nominal is None or available is None:
        return 0
    return max(0, nominal - used - available)


def _bounded(potential: int | None, nominal: int | None) -> int:
    """The end of the bar: an unlimited or very high borrowing limit is not drawn."""
    own = nominal or 0
    return own if potential is None else min(potential, max(1, own) * 3)


def _amount(row: Json, *names: str) -> int | None:
    """The first of these that is given; None: without limit."""
    for name in names:
        if name in row:
            told = row[name]
            return None if told is None else quantity.parse(row["resource"], told)
    return 0


def _text(resource: str, amount: int) -> str:
    return quantity.canonical(resource, amount)


def _part(amount: int, most: int) -> int:
    return 0 if most <= 0 or amount <= 0 else max(4, percent(amount, most) * 10)


def steps_of(cohorts: Sequence[Json], queue: str) -> tuple[CohortStep, ...]:
    """Cohorts from its own to the root."""
    found = []
    for each in cohorts:
        others = [name for name in each["queues"] if name != queue]
        found.append(
            CohortStep(
                name=text(each["name"]),
                queues=tuple(
                    NamedPage(text(n), path_of("queues", n)) for n in others[:MOST_SIBLINGS]
                ),
                more=max(0, len(others) - MOST_SIBLINGS),
                cohorts=text(", ".join(each["cohorts"])),
                bars=bars_of(each["quotas"]),
            )
        )
    return tuple(found)


def doors_of(shown: Json) -> tuple[Entrance, ...]:
    """LocalQueues that lead to a ClusterQueue."""
    return tuple(_door(each) for each in shown.get("localQueues", ()))


def _door(each: Json) -> Entrance:
    active: Json = next((c for c in each["conditions"] if c.get("type") == "Active"), {})
    off = active.get("status") == "False"
    return Entrance(
        link=NamedPage(text(each["name"]), path_of("queues", each["namespace"], each["name"])),
        namespace=text(each["namespace"]),
        pending=each["pending"],
        admitted=each["admitted"],
        weight=text(each["fairSharing"]["weight"]),
        consumed=consumed_words(each["fairSharing"]),
        stopped=text(active.get("message")) if off else "",
    )
