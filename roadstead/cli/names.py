"""Names of jobs: by uid, as namespace/name, or by a name in the default namespace."""

import re
from typing import Any, Final

import click

from roadstead.cli.visible import visible
from roadstead.context import name_in_force, resolve

_UID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

ONLY_NAMESPACE: Final = click.option(
    "-n", "--namespace", metavar="NAME", help="Only this namespace [default: all]."
)
ALL_NAMESPACES: Final = click.option(
    "-A",
    "--all-namespaces",
    is_flag=True,
    help="All namespaces, overriding the default namespace.",
)


def given_context() -> str | None:
    """The context from `roadstead --context NAME`, before the verb."""
    name: str | None = _options().get("context") or None
    return name


def context_meant(*names: str | None) -> str:
    """The single context for a command: `names` and --context, else the active one.

    Raises click.UsageError if they name two different contexts.
    """
    said = dict.fromkeys(each for each in (*names, given_context()) if each)
    if len(said) > 1:
        raise click.UsageError(f"{' and '.join(said)} are two contexts: use one of them.")
    return next(iter(said), None) or name_in_force()


def default_namespace() -> str:
    """The default namespace for the command's hub; "" if none is set."""
    given = _options()
    return resolve(
        given.get("server"), given.get("token"), given.get("ca"), name=given.get("context")
    ).namespace


def beside_the_list(namespace: str | None, *, everywhere: bool) -> str:
    """Hint for an empty list that the default namespace has narrowed; else ""."""
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
    """Resolve a name for the hub: a uid and a full name unchanged, a plain name with its namespace.

    The namespace is the option, else the default one; without either, `given` unchanged. Raises
    click.UsageError if a full name and the option name two namespaces.
    """
    if namespace and "/" in given and given.partition("/")[0] != namespace:
        raise click.UsageError(
            f"{visible(given)} names its namespace: leave out -n {visible(namespace)}."
        )
    space = namespace or default_namespace()
    if not space or not given or "/" in given or is_uid(given):
        return given
    return f"{space}/{given}"
