"""Jobs as people name them: by uid, as namespace/name, or by a name in the namespace that is set."""

import re
from typing import Any, Final

import click

from roadstead.context import name_in_force, resolve

_UID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def given_context() -> str | None:
    """The context that the command line names by `roadstead --context NAME`, before the verb."""
    name: str | None = _options().get("context") or None
    return name


def context_meant(*names: str | None) -> str:
    """The one context that a command is about: `names` and --context, else the one in force.

    Raises click.UsageError where two different contexts are named.
    """
    said = dict.fromkeys(each for each in (*names, given_context()) if each)
    if len(said) > 1:
        raise click.UsageError(f"{' and '.join(said)} are two contexts: name one of them.")
    return next(iter(said), None) or name_in_force()


def default_namespace() -> str:
    """The namespace that is set for the hub that the command talks to; "" where none is."""
    given = _options()
    return resolve(
        given.get("server"), given.get("token"), given.get("ca"), name=given.get("context")
    ).namespace


def beside_the_list(namespace: str | None, *, everywhere: bool) -> str:
    """What an empty list adds where a namespace that is set, not named, narrowed it; else ""."""
    space = "" if namespace or everywhere else default_namespace()
    return (
        f" That is in namespace {space}, which is set; -A lists all namespaces." if space else ""
    )


def _options() -> dict[str, Any]:
    """The options before the verb."""
    ctx = click.get_current_context(silent=True)
    return (ctx.find_root().obj if ctx else None) or {}


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
