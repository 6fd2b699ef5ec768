"""Settings of the hub, read once at start: small frozen records by concern, from ROADSTEAD_* variables.

Nothing below `hub.main` reads the environment: services get the values passed in.
"""

import datetime as dt
import types
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from shared.wire.agent_v1 import SUSPECT_AFTER_S


@dataclass(frozen=True, slots=True)
class Intake:
    """What becomes of what users send."""

    unqueued_jobs: Literal["Default", "Reject"] = "Default"
    """A Job without queue in a namespace without LocalQueue `default`: provide one, or refuse it."""
    missing_namespace_selector: Literal["Everything", "Nothing"] = "Everything"
    """Namespaces that a ClusterQueue without namespaceSelector admits (Kueue's is Nothing)."""
    idempotency_kept: dt.timedelta = dt.timedelta(hours=24)
    """How long a reply can be replayed under its Idempotency-Key."""


@dataclass(frozen=True, slots=True)
class Scheduling:
    """Limits of the live cycle."""

    cycle_s: float = 0.5
    """A cycle ends after this long and goes on from a fresh snapshot, s."""
    cycle_placements: int = 5000
    """Placements of one cycle: one transaction."""
    pods_pending_timeout_s: float = 600.0
    """Placed without all pods bound for this long: withdraw and requeue, s."""
    suspect_after_s: float = SUSPECT_AFTER_S
    """A cluster silent for this long gets no new work, s."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long what grows is kept."""

    events: dt.timedelta = dt.timedelta(days=7)
    changes: dt.timedelta = dt.timedelta(hours=1)
    finished_jobs: dt.timedelta = dt.timedelta(days=7)
    audit: dt.timedelta = dt.timedelta(days=90)
    explanations: dt.timedelta = dt.timedelta(days=1)
    shapes: dt.timedelta = dt.timedelta(days=1)
    tokens: dt.timedelta = dt.timedelta(days=30)
    every_s: float = 30.0
    """How often old rows are looked for, s."""
    rows_per_turn: int = 5000
    """Rows deleted in one transaction: bounds how long writers wait."""


@dataclass(frozen=True, slots=True)
class Api:
    """The HTTP edge."""

    body_bytes: int = 1 << 20
    """Largest body of one request."""
    bulk_body_bytes: int = 16 << 20
    """Largest body of a batch or of several documents."""
    agent_body_bytes: int = 8 << 20
    """Largest body of an agent's request."""
    streams_per_principal: int = 1000
    """Change streams one principal may hold open."""
    token_cache_s: float = 5.0
    """A revoked credential ends within this long, s."""
    continue_kept: dt.timedelta = dt.timedelta(minutes=15)
    """How long a list can be continued."""
    join_token_kept: dt.timedelta = dt.timedelta(minutes=15)
    """How long a join token can be redeemed."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. `from_environ` reads ROADSTEAD_<CONCERN>_<NAME>, durations in seconds."""

    intake: Intake = field(default_factory=Intake)
    scheduling: Scheduling = field(default_factory=Scheduling)
    retention: Retention = field(default_factory=Retention)
    api: Api = field(default_factory=Api)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Defaults, overridden by the environment. Raises ValueError naming the variable."""
        defaults = cls()
        return cls(
            **{
                each.name: _read(each.name, getattr(defaults, each.name), environ)
                for each in fields(cls)
            }
        )


def _read(concern: str, defaults: Any, environ: Mapping[str, str]) -> Any:
    hints = get_type_hints(type(defaults))
    given: dict[str, Any] = {}
    for each in fields(defaults):
        variable = f"ROADSTEAD_{concern}_{each.name}".upper()
        if variable in environ:
            given[each.name] = _value(variable, environ[variable], hints[each.name])
    return type(defaults)(
        **{
            each.name: given.get(each.name, getattr(defaults, each.name))
            for each in fields(defaults)
        }
    )


def _value(variable: str, text: str, hint: type | types.GenericAlias) -> Any:
    try:
        if get_origin(hint) is Literal:
            if text not in get_args(hint):
                raise ValueError(f"expected one of {', '.join(get_args(hint))}")
            return text
        if hint is dt.timedelta:
            return dt.timedelta(seconds=float(text))
        return int(text) if hint is int else float(text) if hint is float else text
    except ValueError as error:
        raise ValueError(f"{variable}={text}: {error}") from error
