"""Chains of jobs: what a job that waits for others is to do, by how those have ended.

Only an end that nothing can take back counts (docs/explain/exactly-once.md, rule 20): a job that succeeded,
failed or was cancelled never runs again. One that is deactivated may be released: it has not ended, until
it gives its name back.
"""

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from enum import StrEnum
from typing import Final, NamedTuple

from hub.domain.workloads.states import HeldFor, State

WAITS: Final = "WaitsForJobs"  # reason of a held job
NEVER: Final = "DependencyNeverSatisfied"
HELD_FOR_OTHERS: Final = frozenset({WAITS, NEVER})
_SHOWN: Final = 3  # in a sentence


def waits_for_others(state: State, held_for: str, reason: str) -> bool:
    """True if a job is held only because it waits for other jobs.

    Hubs of the releases before 2026_11_30 change the reason alone, and leave `held_for` as it was. So the
    reason decides while such hubs may run beside (`schema.BESIDE`); this release writes both.
    """
    if state is not State.HELD:
        return False
    return held_for != HeldFor.RESTORE and reason in HELD_FOR_OTHERS


class EndCondition(StrEnum):
    """The required end of a job for its dependents."""

    OK = "ok"  # it succeeded
    ANY = "any"  # however it ended
    FAIL = "fail"  # it ended and did not succeed


class LinkState(StrEnum):
    """States of a dependency."""

    WAITING = "Waiting"
    SATISFIED = "Satisfied"
    NEVER = "NeverSatisfied"
    WAIVED = "Waived"  # a person let the job go regardless


class JobLink(NamedTuple):
    """One dependency of a job: the other job, its required end, and the state."""

    name: str
    wanted: EndCondition
    state: LinkState
    ended: str = ""  # how it had ended when this was decided; "": not, or it is not there


class Followed(NamedTuple):
    """The consequence for a job. `may_go`: it has no open dependency; else it is held with these words."""

    may_go: bool
    reason: str = ""
    message: str = ""


# What no transition leads out of.
FINAL: Final = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED})
_VERBS: Final[Mapping[EndCondition, str]] = {
    EndCondition.OK: "succeed",
    EndCondition.ANY: "end",
    EndCondition.FAIL: "fail",
}
_ENDS: Final[Mapping[str, str]] = {
    "Succeeded": "succeeded",
    "Failed": "failed",
    "Cancelled": "was cancelled",
    "Deactivated": "was deactivated",
}


def judge(wanted: EndCondition, state: State) -> LinkState:
    """The state of a dependency on a job in this state."""
    return judge_end(wanted, state) if state in FINAL else LinkState.WAITING


def judge_end(wanted: EndCondition, state: State) -> LinkState:
    """The state of a dependency on a job that has finally ended this way."""
    succeeded = state is State.SUCCEEDED
    holds = wanted is EndCondition.ANY or succeeded is (wanted is EndCondition.OK)
    return LinkState.SATISFIED if holds else LinkState.NEVER


def follows(links: Sequence[JobLink]) -> Followed:
    """The consequence of all dependencies for a job."""
    never = [each for each in links if each.state is LinkState.NEVER]
    if never:
        what = " and ".join(_never(each) for each in never[:_SHOWN]) + _more(len(never))
        hint = "release it to run it all the same, or cancel it"
        return Followed(False, NEVER, f"{what}: it never runs by itself; {hint}")
    waiting = [each for each in links if each.state is LinkState.WAITING]
    if waiting:
        what = " and ".join(f"{each.name} to {_VERBS[each.wanted]}" for each in waiting[:_SHOWN])
        return Followed(False, WAITS, f"waits for {what}{_more(len(waiting))}")
    return Followed(True, message=_satisfied(links))


def _never(link: JobLink) -> str:
    said = _ENDS.get(link.ended, link.ended or "is not there")
    return f"{link.name} was to {_VERBS[link.wanted]} and {said}"


def _satisfied(links: Sequence[JobLink]) -> str:
    what = ", ".join(f"{each.name} {_ENDS.get(each.ended, 'ended')}" for each in links[:_SHOWN])
    return f"its dependencies have ended: {what}{_more(len(links))}"


def _more(count: int) -> str:
    return f" and {count - _SHOWN} more" if count > _SHOWN else ""


def in_cycles(after: Mapping[str, Iterable[str]]) -> AbstractSet[str]:
    """The jobs of a circle among jobs and their dependencies, by whatever path.

    Jobs that only wait for such a job are not among them.
    """
    graph = {name: [each for each in awaited if each in after] for name, awaited in after.items()}
    # Kahn's algorithm in both directions: remove jobs without dependencies left, then jobs without
    # dependents left.
    left = _stripped(graph)
    return frozenset(_stripped(_turned({name: graph[name] for name in left})))


def _stripped(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """Kahn's algorithm; the remainder contains the circles."""
    open_ = {name: len(set(awaited) & graph.keys()) for name, awaited in graph.items()}
    back = _turned(graph)
    free = [name for name, count in open_.items() if not count]
    for name in free:
        for waiting in back[name]:
            open_[waiting] -= 1
            if not open_[waiting]:
                free.append(waiting)
    return [name for name, count in open_.items() if count]


def _turned(graph: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    turned: dict[str, list[str]] = {name: [] for name in graph}
    for name, awaited in graph.items():
        for each in set(awaited):
            if each in turned:
                turned[each].append(name)
    return turned
