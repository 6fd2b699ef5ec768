"""A member as its page shows it: room as bars, what it is, what it lacks and what to type then."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hub.store.records.works import CountedWorks
from hub.web.fleet_view import RoomView, rank, taint_text
from hub.web.words import Instant, count, instant, labels, percent, text, tone
from shared import quantity
from shared.documents import Json

_KNOWN: Final = ("kubernetes-fleet.io", "k8s.io")
_OF_KINDS: Final = {
    "Served": "runs",
    "NotServed": "kinds not served",
    "AgentTooOld": "agent too old for",
    "RightMissing": "right missing for",
}
_MOST_ASKED: Final = 3  # namespaces of which a page prints the question


@dataclass(frozen=True, slots=True)
class RoomBar:
    """One resource: what the hub's jobs ask, what others use, what is free."""

    room: RoomView
    ours: int  # percent of all that is allocatable
    others: int
    reserved: str


@dataclass(frozen=True, slots=True)
class Lack:
    """Something that keeps work from it, and what to type."""

    sentence: str
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterHead:
    """Its properties and state."""

    name: str
    state: str
    tone: str
    heard: Instant | None
    joined: Instant | None
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ClusterFact:
    """A name and what it says."""

    name: str
    value: str


def head_of(shown: Json, now: dt.datetime) -> ClusterHead:
    """`shown`: a member as REST has it."""
    jobs, nodes = shown["jobs"], shown["nodeCount"]
    return ClusterHead(
        name=text(shown["name"]),
        state=text(shown["state"]),
        tone=tone(shown["state"]),
        heard=instant(shown["heartbeatAt"], now),
        joined=instant(shown["joinedAt"], now),
        facts=(
            ("jobs", str(jobs)),
            ("nodes", str(nodes)),
            ("Kubernetes", text(shown["kubernetesVersion"]) or "not told yet"),
            ("agent", text(shown["agentVersion"]) or "none has joined"),
        ),
    )


def lacks_of(shown: Json, now: dt.datetime) -> tuple[Lack, ...]:
    """The reasons that keep new work from it, in the order of the checks."""
    name, state = text(shown["name"]), shown["state"]
    found: list[Lack] = []
    if state == "Declared":
        found.append(
            Lack(
                "It is declared, and no agent has joined it yet. A fresh join token for its agent:",
                (f"roadstead clusters token {name}",),
            )
        )
    elif state == "Suspect":
        silent = instant(shown["heartbeatAt"], now)
        since = f" for {silent.age}" if silent else ""
        found.append(
            Lack(
                f"Its agent has been silent{since}: it gets no new work, and its jobs keep their quota until "
                "it is certain that they do not run. Check the agent there:",
                (
                    "kubectl -n roadstead get pods",
                    "kubectl -n roadstead logs statefulset/roadstead-agent --tail=50",
                ),
            )
        )
        found.append(
            Lack(
                "Only if the cluster is destroyed, start its jobs elsewhere with:",
                (f"roadstead clusters fence {name} --destroyed",),
            )
        )
    elif state == "Unhealthy":
        found.append(Lack(f"It gets no new work: {text(shown['message'])}.", ()))
    elif state == "Fenced":
        found.append(Lack(f"{text(shown['message'])}.", (f"roadstead clusters rm {name}",)))
    if shown["cordoned"] and state != "Fenced":
        found.append(
            Lack(
                "It is cordoned: new work goes elsewhere; running jobs continue.",
                (f"roadstead clusters uncordon {name}",),
            )
        )
    if state in {"Ready", "Cordoned"} and not shown["ready"]:
        found.append(
            Lack("Its agent has joined and has not reported the cluster's capacity yet.", ())
        )
    faults = (text(each) for each in shown["propertyFaults"])
    found += [Lack(f"A property is not taken: {each}", ()) for each in faults]
    if shown["jobsForbiddenIn"]:
        found.append(_lacks_right([text(each) for each in shown["jobsForbiddenIn"]]))
    found += _lacks_kinds(shown["workKinds"])
    if shown["plainHttp"]:
        found.append(Lack("Its agent connects to the hub without TLS.", ()))
    if shown["leftovers"]:
        left = count(shown["leftovers"], "Job")
        found.append(
            Lack(f"It holds {left} from before the hub forgot it.", ("roadstead restored",))
        )
    return tuple(found)


def _lacks_right(namespaces: list[str]) -> Lack:
    """Its agent's account may not create Jobs in these namespaces."""
    asks = "kubectl auth can-i create jobs.batch --as system:serviceaccount:roadstead:agent -n"
    return Lack(
        f"Its agent's account may not create Jobs (403) in {', '.join(namespaces)}: their jobs go elsewhere. "
        "Grant it verb create on jobs.batch, as ClusterRole roadstead-agent-jobs of its chart does, and ask "
        "there:",
        tuple(f"{asks} {each}" for each in namespaces[:_MOST_ASKED]),
    )


def _lacks_kinds(kinds: Sequence[Json]) -> list[Lack]:
    """Its agent's account may not read some kinds that it serves."""
    found = [each for each in kinds if each["state"] == "RightMissing"]
    if not found:
        return []
    named = ", ".join(text(each["kind"]) for each in found)
    return [Lack(f"It serves {named}, and a right is missing: {text(found[0]['remedy'])}.", ())]


def _kind_facts(kinds: Sequence[Json]) -> Iterator[ClusterFact]:
    """The kinds of work that it runs, and for each reason those that it does not run."""
    for state, name in _OF_KINDS.items():
        found = [each for each in kinds if each["state"] == state]
        if found:
            remedy = f": {found[0]['remedy']}" if found[0]["remedy"] else ""
            named = ", ".join(each["kind"] for each in found)
            yield ClusterFact(name, text(f"{named}{remedy}"))


def unheard_of(shown: Json) -> str:
    """The reason why the state of objects there is unknown; "" if its agent reports."""
    if shown["state"] == "Unhealthy":
        return text(shown["message"]) or "its API server does not answer or refuses its agent"
    reasons = {
        "Suspect": "its agent has been silent",
        "Declared": "no agent has joined it yet",
        "Fenced": "it is fenced",
    }
    return reasons.get(shown["state"], "")


def rooms_of(shown: Json) -> tuple[RoomBar, ...]:
    """Its resources, those that people ask about most first."""
    rows: Json = shown["resources"]
    return tuple(_room(name, rows[name]) for name in sorted(rows, key=rank))


def _room(resource: str, row: Json) -> RoomBar:
    total = quantity.parse(resource, row["allocatable"])
    free = max(0, quantity.parse(resource, row["free"]))
    used = max(0, total - free)
    ours = min(used, quantity.parse(resource, row["reserved"]))
    free_text, total_text = quantity.readable(row["free"]), quantity.readable(row["allocatable"])
    view = RoomView(text(resource), free_text, total_text, percent(used, total))
    return RoomBar(view, percent(ours, total), percent(used - ours, total), row["reserved"])


def facts_of(shown: Json, works: Sequence[CountedWorks]) -> tuple[ClusterFact, ...]:
    """Everything else that is known of it."""
    found = [ClusterFact("labels", labels(shown["labels"] or {}) or "none")]
    taints = ", ".join(taint_text(each) for each in shown["taints"] or ())
    found.append(ClusterFact("taints", text(taints) or "none"))
    for pool in shown["pools"]:
        said = count(pool["nodes"], "node")
        named = labels(pool["labels"]) or "no labels"
        tainted = f", taints {', '.join(pool['taints'])}" if pool["taints"] else ""
        found.append(ClusterFact("pool", text(f"{said}: {named}{tainted}")))
    found += [
        ClusterFact("may grow", text(f"{pool['name']} by {count(pool['mayAdd'], 'node')}"))
        for pool in shown["growingPools"]
    ]
    told = sorted(shown["properties"].items())
    found += [ClusterFact(text(_property(name)), text(value)) for name, value in told]
    if shown["agentProtocol"] is not None:
        certificate = ", by client certificate" if shown["clientCertificate"] else ""
        found.append(
            ClusterFact("agent speaks", f"protocol {text(shown['agentProtocol'])}{certificate}")
        )
    found += _kind_facts(shown["workKinds"])
    by_phase: Counter[str] = Counter()
    for each in works:
        by_phase[each.phase or "not reported yet"] += each.number
    works_told = ", ".join(f"{number} {phase}" for phase, number in sorted(by_phase.items()))
    found.append(ClusterFact("objects and jobs of the hub", works_told or "none"))
    return tuple(found)


def _property(name: str) -> str:
    """A property of KubeFleet's or Kubernetes' own in words; others as they are called."""
    domain, slash, own = name.partition("/")
    if slash and domain.endswith(_KNOWN):
        return own.replace("-", " ")
    return name
