"""Principals and their credentials as records."""

import datetime as dt
from typing import NamedTuple


class StoredPrincipal(NamedTuple):
    """A principal: a field for each column of the table `principals`, in its order."""

    id: str
    role: str  # administrator | viewer | user | agent
    name: str
    cluster: str  # agents: their cluster, exactly
    created_at: dt.datetime
    groups: list[str] | None = None


class Token(NamedTuple):
    """A credential: the columns of the table `tokens`, in its order, and whose it is."""

    id: str
    principal: str
    purpose: str  # bearer | join | session
    secret_hash: str
    created_at: dt.datetime
    expires_at: dt.datetime | None
    used_at: dt.datetime | None  # join tokens: once; agents' bearers: first; sessions: last
    revoked_at: dt.datetime | None
    replaces: str | None  # an agent's bearer: the one that this was given in place of
    superseded_at: (
        dt.datetime | None
    )  # an agent's bearer: when one that replaces it was first used
    role: str
    name: str
    cluster: str
    groups: list[str] | None = None
