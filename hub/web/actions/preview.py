"""The preview of an action in its dialog, and its API call."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hub.web.words import count
from shared.documents import Json

MOST_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class Act:
    """An action offered to a user: `verb` is its last part in addresses."""

    verb: str
    label: str
    href: str
    harm: bool = False


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One request of the REST API. `key`: it has an Idempotency-Key, so that sent twice it does one thing."""

    method: str
    path: str
    body: Json | None = None
    key: bool = False


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """One that may be chosen in a field."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Field:
    """A question of a dialog. `into`: where the answer goes in the body.

    `again`: another answer shows another preview. `kind`: text, select or checkbox.
    """

    name: str
    label: str
    into: str
    kind: str
    value: str = ""
    choices: Sequence[FieldChoice] = ()
    again: bool = False


@dataclass(frozen=True, slots=True)
class ShownItem:
    """One of a list; `href` leads to it, where there is a page."""

    text: str
    href: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """Some of what is concerned, and how many more there are."""

    title: str
    items: Sequence[ShownItem]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Preview:
    """One dialog. `refusal`: why it can not be done as things stand; then there is no call."""

    title: str
    confirm: str
    call: ApiCall
    command: str
    sentences: Sequence[str] = ()
    lists: Sequence[Listed] = ()
    fields: Sequence[Field] = ()
    manifest: str = ""
    harm: bool = False
    refusal: str = ""
    of: dict[str, str] = field(default_factory=dict)


def listed(title: str, items: Sequence[ShownItem], total: int | None = None) -> Listed:
    """The first of them, with the number of the others."""
    shown = tuple(items[:MOST_LISTED])
    return Listed(title, shown, (len(items) if total is None else total) - len(shown))


def freed(told: Json) -> list[str]:
    """The result of `explain.if_gone`, in sentences; `starting` lists the jobs that would start."""
    if not told["freed"]:
        return []
    amounts = ", ".join(
        f"{each['amount']} {each['resource']} of flavor {each['flavor']}" for each in told["freed"]
    )
    said = [f"That frees {amounts}."]
    if told["starts"] or told["hidden"]:
        if told["hidden"]:
            said.append(f"{count(told['hidden'], 'job')} that you may not see would start for it.")
    elif told["tried"]:
        tried = count(told["tried"], "job")
        said.append(f"Of the first {tried} in line, none would start because of it alone.")
    else:
        said.append("No job waits for it.")
    return said


def starting(told: Json) -> list[Listed]:
    """Jobs that would be admitted, each considered alone."""
    if not told["starts"]:
        return []
    items = [
        ShownItem(f"{j['namespace']}/{j['name']}", f"/jobs/{j['uid']}") for j in told["starts"]
    ]
    return [listed("Would start then, each considered alone", items)]
