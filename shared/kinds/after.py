"""Annotation `roadstead.dev/after`: which jobs a job waits for, and how they must have ended.

`prepare:ok, fetch:any`: names of Jobs of the same namespace, each with a condition; `ok` without one.
"""

from typing import Final, NamedTuple

from shared.kinds import names

MOST: Final = 64  # jobs that one job may wait for
WANTED: Final = (
    "ok",
    "any",
    "fail",
)  # it succeeded; however it ended; it ended and did not succeed


class After(NamedTuple):
    """One dependency of a job, and its required end."""

    name: str
    wanted: str


def read(text: str) -> tuple[After, ...] | None:
    """The dependencies of the annotation, in its order; None for what can not be read."""
    found = [_one(part.strip()) for part in text.split(",", MOST)]
    read_ = tuple(each for each in found if each is not None)
    if len(read_) < len(found) or len({each.name for each in read_}) < len(read_):
        return None
    return read_ if len(read_) <= MOST else None


def _one(text: str) -> After | None:
    name, colon, wanted = text.partition(":")
    if not names.is_dns_subdomain(name) or (colon and wanted not in WANTED):
        return None
    return After(name, wanted or WANTED[0])
