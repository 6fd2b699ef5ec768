"""Kinds of work that administrators define: versions, and what a definition would do."""

import datetime as dt

from hub.api.models.base import Model
from shared.documents import Json


class DefinedVersion(Model):
    """One accepted version of a definition; it never changes."""

    name: str
    """Of its Karta."""
    version: int
    api_version: str
    """Of the kind that it defines."""
    kind: str
    current: bool
    """New objects are read by it."""
    created_at: dt.datetime
    jobs: int
    """Jobs that are read by it and have not ended."""
    lacking: list[str]
    """What it must say before the hub dispatches objects of the kind; empty: it does."""


class DefinedVersions(Model):
    """Versions by name and number."""

    items: list[DefinedVersion]


class CheckedKind(Model):
    """What a definition says, and what it would change."""

    name: str
    api_version: str
    kind: str
    suspend_path: str | None
    """Where it holds an object; null where the kind is held on the hub alone."""
    states: list[str]
    """States that it tells."""
    assumed: list[str]
    """Assumptions where it is silent."""
    lacking: list[str]
    """What it must say before the hub dispatches objects of the kind."""
    present: str
    """The version by which new objects are read now, NAME@VERSION; empty: none."""
    next: str
    """The version that it would become; the present one where nothing changes."""
    waiting: int
    """Jobs that wait and keep their version."""
    placed: int
    """Jobs that are in a member and keep their version."""


class CheckedKinds(Model):
    """A dry run: definitions, and sample objects as they would be read."""

    kinds: list[CheckedKind]
    objects: list[Json]
    """As `roadstead simulate podsets` tells them."""
