"""Effects of a removal in members: objects deleted, released or left there, by the agents' reports. Pure.

`fates_of` makes every list that is shown before a removal: of `plan`, of deletions, of a drain and of the
page's dialogs. It follows the agent's rules (`agent/decide/plain_objects.py`): only what the agent created is
deleted.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple


class Fate(StrEnum):
    """The fate of an object in a member."""

    DELETED = "Deleted"  # its agent created it
    DELETED_IF_EMPTY = "DeletedIfEmpty"  # a Namespace that its agent created
    RELEASED = "Released"  # it stays, without Roadstead's marks
    WITHDRAWN = "Withdrawn"  # a Job: its pods end, then it is deleted
    LEFT = "Left"  # it stays as it is
    NOT_REPORTED = "NotReported"  # deleted or released: the agent has not reported which


class MemberObject(NamedTuple):
    """An object or Job that the hub gave to a member, as the member's agent reported it last."""

    cluster: str
    uid: str
    api_version: str
    kind: str
    namespace: str
    name: str
    is_job: bool = False
    action: str = "Apply"
    phase: str = ""
    reason: str = ""
    message: str = ""
    created: bool | None = None
    abandon: bool = False


class ObjectFate(NamedTuple):
    """An object, its fate, and why; `inside`: what the hub has in a Namespace."""

    of: MemberObject
    fate: Fate
    why: str
    inside: tuple[str, ...] = ()


COMPARED: Final = "it is only compared with the hub's"
_NOT_PLACED: Final = "this removal does not concern it"
_FOREIGN: Final = frozenset(
    {"NameConflict", "NotAccepted"}
)  # the agent's reasons: others' objects
_UNKNOWN_INSIDE: Final = (
    "deleted if nothing else is in it: objects of others in it are not reported"
)


def fates_of(going: Sequence[MemberObject], staying: Iterable[MemberObject]) -> list[ObjectFate]:
    """Each object with its fate: `going` is removed, `staying` is in the same members and is not."""
    left = list(staying)
    inside: dict[tuple[str, str], list[str]] = {}
    for each in left:
        inside.setdefault((each.cluster, each.namespace), []).append(f"{each.kind} {each.name}")
    found = [_fate(each, inside) for each in going]
    found += [ObjectFate(each, Fate.LEFT, _NOT_PLACED) for each in left]
    return sorted(found, key=lambda each: each.of[:1] + each.of[2:6])


def counts_of(outcomes: Iterable[ObjectFate]) -> dict[Fate, int]:
    """The number of objects of each fate."""
    counts = dict.fromkeys(Fate, 0)
    for each in outcomes:
        counts[each.fate] += 1
    return counts


def _fate(each: MemberObject, inside: Mapping[tuple[str, str], list[str]]) -> ObjectFate:
    if each.is_job:
        return ObjectFate(each, Fate.WITHDRAWN, "its pods end, and it is deleted there")
    if each.action == "Compare":
        return ObjectFate(each, Fate.LEFT, COMPARED)
    if each.created is None:
        return _unreported(each)
    if each.abandon:
        return ObjectFate(each, Fate.RELEASED, "its placement abandons it")
    if not each.created:
        return ObjectFate(each, Fate.RELEASED, "it was taken over")
    if each.kind != "Namespace" or each.api_version != "v1":
        return ObjectFate(each, Fate.DELETED, "the member's agent created it")
    return _fate_of_namespace(each, sorted(inside.get((each.cluster, each.name), ())))


def _fate_of_namespace(each: MemberObject, held: Sequence[str]) -> ObjectFate:
    if held:
        text = f"it is kept until the {len(held)} objects and jobs of the hub in it are gone"
        return ObjectFate(each, Fate.LEFT, text, tuple(held))
    if each.action == "Withdraw" and each.message:  # the agent has looked, and says what it found
        return ObjectFate(each, Fate.DELETED_IF_EMPTY, each.message)
    return ObjectFate(each, Fate.DELETED_IF_EMPTY, _UNKNOWN_INSIDE)


def _unreported(each: MemberObject) -> ObjectFate:
    if each.phase == "Failed" and each.reason in _FOREIGN:
        return ObjectFate(each, Fate.LEFT, f"it was never applied there: {each.reason}")
    if each.abandon:
        return ObjectFate(each, Fate.RELEASED, "its placement abandons it")
    text = "not reported: the agent has not said whether it created the object"
    return ObjectFate(each, Fate.NOT_REPORTED, text)
