"""What the three owners do: each act is drawn as data, and carried out as one person or program would."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MEMBERS = ("m1", "m2")
SPACES = ("shop", "bank")
# Objects that the hub's users declare in each namespace, and names that only others use.
PLACED = (("v1", "ConfigMap", "settings"), ("v1", "Secret", "keys"), ("v1", "ConfigMap", "more"))
OTHERS = (("v1", "ConfigMap", "theirs"), ("v1", "Secret", "hidden"), ("v1", "ConfigMap", "copy"))
CLASS = ("scheduling.k8s.io/v1", "PriorityClass", "gold")
PLACEMENTS = (
    "ns-shop", "ns-shop", "ns-bank", "shop/one", "shop/one", "shop/two", "bank/one", "classes",
    "classes-2",
)  # fmt: skip
EVERYWHERE = (
    "both", (("whenToTakeOver", "Never"),), "Delete", "NamespaceWithResources",
)  # fmt: skip
OF_THE_STORE = ("lose", "decide")  # the store loses rows: not on processes
_RUN_S = 26.0


@dataclass(frozen=True, slots=True)
class Act:
    """Something that happens at an instant. `given` says all of it."""

    at: float
    what: str
    given: tuple[Any, ...] = ()


# --- drawing -----------------------------------------------------------------------------------------


def draw(dice: random.Random) -> list[Act]:
    """The acts of one run, in order."""
    acts = [_opening(dice) for _ in range(dice.randrange(3, 7))]
    acts += [_placing(dice, dice.random() * 6.0) for _ in range(dice.randrange(2, 5))]
    if dice.random() < 0.7:  # what places the namespace
        acts.append(_placing(dice, dice.random() * 3.0, "ns-shop"))
    if dice.random() < 0.4:
        acts += _made_again(dice, 1.0 + dice.random() * 10.0)
    for _ in range(dice.randrange(8, 26)):
        acts.append(_any(dice, 2.0 + dice.random() * _RUN_S))
    if dice.random() < 0.5:
        acts += _lost(dice)
    return sorted(acts, key=lambda act: act.at)


def _opening(dice: random.Random) -> Act:
    """Members mostly have namespaces and objects of their own before anything is placed."""
    at, member, space = dice.random() * 3.0, _member(dice), _space(dice)
    if dice.random() < 0.5:
        return Act(at, "make-namespace", (member, space, dice.random() < 0.4))
    return Act(at + 0.5, "make", (member, space, *_named(dice), dice.random() < 0.4, "people"))


def _made_again(dice: random.Random, at: float) -> list[Act]:
    """Jobs in a namespace of the hub, which is made again, and Jobs of the next one."""
    space = _space(dice)
    jobs = [(at, "before"), (at + dice.random() * 2.0, "more")]
    later = at + 2.0 + dice.random() * 6.0
    jobs += [(later + dice.random() * 8.0, f"after-{number}") for number in range(3)]
    acts = [Act(when, "submit", (space, name, dice.choice((2, 10)))) for when, name in jobs]
    left = (_member(dice), space, *_named(dice), False, "people")
    return [*acts, Act(later - 0.5, "make", left), Act(later, "remake", (space,))]


def _lost(dice: random.Random) -> list[Act]:
    """The store loses placements, as by a restore; an administrator decides about what members then list."""
    acts = []
    for _ in range(dice.randrange(1, 4)):
        at = 4.0 + dice.random() * 14.0
        acts.append(Act(at, "lose", (dice.choice(PLACEMENTS),)))
        how = dice.choice(("Remove", "Remove", "Abandon"))
        acts += [
            Act(at + dice.random() * 12.0, "decide", (member, how)) for member in ("m1", "m2")
        ]
    return acts


def _space(dice: random.Random) -> str:
    """Most happens in one namespace, so that the owners meet."""
    return dice.choice(("shop", "shop", "shop", "bank"))


def _member(dice: random.Random) -> str:
    return dice.choice(("m1", "m1", "m2"))


def _named(dice: random.Random) -> tuple[str, str, str]:
    return dice.choice((*PLACED, *PLACED, *OTHERS))


def _placing(dice: random.Random, at: float, name: str = "") -> Act:
    name = name or dice.choice(PLACEMENTS)
    policy = dice.choice(("all", "m1", "m2", "one", "both", "both"))
    apply: dict[str, Any] = {}
    if dice.random() < 0.85:
        apply["whenToTakeOver"] = dice.choice(("Always", "Always", "IfNoDiff", "Never"))
    kind = dice.random()
    if kind < 0.2:
        apply["type"] = "ReportDiff"
    elif kind < 0.35:
        apply |= {
            "type": "ServerSideApply",
            "serverSideApplyConfig": {"force": dice.random() < 0.5},
        }
    if dice.random() < 0.3:
        apply["comparisonOption"] = "FullComparison"
    if dice.random() < 0.3:
        apply["whenToApply"] = "IfNotDrifted"
    if dice.random() < 0.3:
        apply["allowCoOwnership"] = True
    end = "Abandon" if dice.random() < 0.2 else "Delete"
    scope = "NamespaceOnly" if dice.random() < 0.5 else "NamespaceWithResources"
    return Act(
        at,
        "place",
        (name, policy, tuple(sorted((k, _frozen(v)) for k, v in apply.items())), end, scope),
    )


def _frozen(value: Any) -> Any:
    return tuple(value.items()) if isinstance(value, dict) else value


def _any(dice: random.Random, at: float) -> Act:
    member, space, named = _member(dice), _space(dice), _named(dice)
    roll = dice.random()
    if roll < 0.30:
        return _by_users(dice, at, member, space)
    if roll < 0.42:
        return _fault(dice, at, member)
    what, more = dice.choice(_BY_OTHERS)
    return Act(at, what, (member, space, *named, *more(dice)))


def _by_users(dice: random.Random, at: float, member: str, space: str) -> Act:
    match dice.randrange(11):
        case 10:
            return Act(at, "remake", (space,))
        case 0 | 1 | 2:
            return _placing(dice, at)
        case 3 | 4:
            return Act(at, "unplace", (dice.choice(PLACEMENTS),))
        case 5:
            return Act(at, "drain", (member, 3.0 + dice.random() * 20.0))
        case 6 | 7:
            return Act(
                at, "submit", (space, f"job-{dice.randrange(1 << 20)}", dice.choice((2, 20, 60)))
            )
        case 8:
            return Act(at, "unsubmit", (space,))
        case _:
            return Act(at, "change", (space, dice.choice(PLACED), dice.randrange(3)))


def _fault(dice: random.Random, at: float, member: str) -> Act:
    match dice.randrange(7):
        case 0 | 1 | 2:
            when = dice.choice(("before", "after"))
            return Act(at, "agent-dies", (member, dice.randrange(0, 6), when, dice.random() * 8.0))
        case 3:
            return Act(at, "agent-dies", (member, -1, "now", dice.random() * 8.0))
        case 4:
            return Act(at, "hub-dies", (0.5 + dice.random() * 6.0,))
        case 5:
            return Act(at, "cut", (member, 1.0 + dice.random() * 25.0))
        case _:
            return Act(at, "lossy", (dice.random() * 0.4,))


def _nothing(_dice: random.Random) -> tuple[Any, ...]:
    return ()


_BY_OTHERS: tuple[tuple[str, Callable[[random.Random], tuple[Any, ...]]], ...] = (
    ("accept", lambda dice: (dice.random() < 0.75,)),
    ("accept", lambda dice: (dice.random() < 0.75,)),
    ("make", lambda dice: (dice.random() < 0.4, "people")),
    ("make", lambda dice: (dice.random() < 0.4, "people")),
    ("edit", lambda dice: (dice.choice(("color", "own")),)),
    ("edit", lambda dice: (dice.choice(("color", "own")),)),
    ("remove", _nothing),
    ("remove-namespace", lambda dice: (dice.random() < 0.6, dice.random() * 6.0)),
    ("hold", _nothing),
    ("own", _nothing),
    ("strip", lambda dice: (dice.choice(("created-by", "managed-by", "job-uid")),)),
    ("reapply", lambda dice: (dice.random() < 0.5,)),
    ("reapply", lambda dice: (dice.random() < 0.5,)),
    ("copy", _nothing),
    ("copy", _nothing),
    ("accept-class", lambda dice: (dice.random() < 0.75,)),
    ("make-class", _nothing),
)
