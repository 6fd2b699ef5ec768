"""Values of the annotations that users may set: what is decided about them so far.

A bad value is refused at the intake, where its author can fix it, and not skipped later.
`cluster-selector` is read by the hub's own selector rules; `rerun` is free text until what reads it exists.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from shared import labels as keys
from shared.kinds import after, names, retry_on
from shared.kinds.problems import Problems
from shared.quantity import shown
from shared.reject_codes import RejectCode

SHORTEST_LOSS_S: Final = 60
LONGEST_S: Final = 30 * 24 * 3600

_DURATION: Final = re.compile(
    r"(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,9})s?)?"
)
_EPOCHS: Final = re.compile("[1-9][0-9]{0,4}")
_AFTER: Final = re.compile(r"RescheduleAfter\((.*)\)")


def seconds_of(text: str) -> int | None:
    """A duration such as `90s`, `1h30m`, `2d` or `3600` (seconds); None if it is invalid."""
    match = _DURATION.fullmatch(text) if text else None
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def loss_policy(text: str) -> tuple[str, int | None] | None:
    """`Wait`, `RescheduleWhenFenced`, or `RescheduleAfter(d)` with its seconds; None for others."""
    if text in {"Wait", "RescheduleWhenFenced"}:
        return text, None
    match = _AFTER.fullmatch(text)
    seconds = seconds_of(match[1]) if match else None
    if seconds is None or not SHORTEST_LOSS_S <= seconds <= LONGEST_S:
        return None
    return "RescheduleAfter", seconds


def check_user_annotation(key: str, value: str, field: str, problems: Problems) -> None:
    """Note a value that the annotation of this key cannot have."""
    rule = _RULES.get(key)
    if rule is not None and not rule[0](value):
        problems.add(
            f"{field}[{key}]", RejectCode.INVALID_ANNOTATION, f"{shown(value)}: {rule[1]}"
        )


def _is_runtime(text: str) -> bool:
    seconds = seconds_of(text)
    return seconds is not None and 0 < seconds <= LONGEST_S


def _are_clusters(text: str) -> bool:
    listed = [name.strip() for name in text.split(",")]
    return all(names.is_dns_subdomain(name) for name in listed)


def _are_pointers(text: str) -> bool:
    return all(pointer.startswith("/") for pointer in text.replace(",", " ").split())


_RULES: Final[Mapping[str, tuple[Callable[[str], bool], str]]] = {
    f"{keys.PREFIX}on-cluster-loss": (
        lambda text: loss_policy(text) is not None,
        "must be Wait, RescheduleWhenFenced, or RescheduleAfter(d) with d from 60s to 30d",
    ),
    f"{keys.PREFIX}expected-runtime": (_is_runtime, "must be a duration such as 90s or 1h30m"),
    f"{keys.PREFIX}retry": (
        lambda text: _EPOCHS.fullmatch(text) is not None,
        "must be how many epochs it may have in all: a whole number from 1 to 99999",
    ),
    keys.AFTER: (
        lambda text: after.read(text) is not None,
        f"must be up to {after.MOST} names of Jobs, each once, with :ok, :any or :fail: prepare:ok, b:any",
    ),
    keys.RETRY_ON: (
        lambda text: retry_on.read(text) is not None,
        "must be exit codes from 1 to 255, spans of them and reasons: 137, 250-255, OOMKilled",
    ),
    keys.PER_OBJECT: (lambda text: text in {"true", "false"}, "must be true or false"),
    f"{keys.PREFIX}clusters": (_are_clusters, "must be names of clusters, separated by commas"),
    f"{keys.PREFIX}ignore-drift": (_are_pointers, "must be JSON pointers such as /spec/replicas"),
}
