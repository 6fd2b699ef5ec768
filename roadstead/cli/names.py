"""Jobs as people name them: by uid, as namespace/name, or by a name in the namespace that is set."""

import re
from typing import Final

import click

from roadstead.context import resolve

_UID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def default_namespace() -> str:
    """The namespace that is set for the hub that the command talks to; "" where none is."""
    ctx = click.get_current_context(silent=True)
    given = (ctx.find_root().obj if ctx else None) or {}
    return resolve(
        given.get("server"), given.get("token"), given.get("ca"), name=given.get("context")
    ).namespace


def is_uid(given: str) -> bool:
    """Whether it is a uid rather than a name."""
    return _UID.fullmatch(given) is not None


def full_name(given: str, namespace: str | None = None) -> str:
    """What the hub is asked for: a uid and a full name as they are, a name with its namespace.

    The namespace is the one given, else the one that is set; where there is none, `given` as it is.
    """
    space = namespace or default_namespace()
    if not space or not given or "/" in given or is_uid(given):
        return given
    return f"{space}/{given}"
