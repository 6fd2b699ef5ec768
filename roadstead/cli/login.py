"""`roadstead login`: a hub's address and a token for it, kept for the commands that follow."""

import contextlib
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from roadstead import contexts
from roadstead.cli.examples import examples
from roadstead.cli.names import context_meant
from roadstead.cli.progress import hint
from roadstead.cli.visible import visible
from roadstead.client import Client
from roadstead.context import name_in_force
from roadstead.errors import NotAllowed, WrongContext
from roadstead.sign_in import LOOPBACK, alone

_LONGEST_NAME: Final = 253
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._:/@-]{0,251}[A-Za-z0-9])?", re.ASCII)
_LONGEST_TOKEN: Final = 16_384


def named(_ctx: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    """A name that a context may have. Raises click.BadParameter."""
    if given is not None and (not _NAME.fullmatch(given) or given == contexts.LOCAL):
        raise click.BadParameter(f"{given!r}: letters, digits and . _ : / @ -, and not 'local'.")
    return given


@examples(
    "roadstead login --server https://example.com --token-file token --ca ca.pem",
    "pass show hub | roadstead login --server https://example.com --token-stdin",
    "roadstead login --server https://example.com --oidc",
)
@click.command("login")
@click.option("--server", metavar="URL", help="Address of the hub.")
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A file with your token.",
)
@click.option("--token-stdin", is_flag=True, help="Read your token from standard input.")
@click.option("--oidc", is_flag=True, help="Sign in at the hub's provider, by a browser anywhere.")
@click.option(
    "--oidc-ca",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    metavar="FILE",
    help="CA of the provider's certificate.",
)
@click.option(
    "--ca",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    metavar="FILE",
    help="CA of the hub's certificate.",
)
@click.option("-n", "--namespace", metavar="NAME", help="Namespace of what names none.")
@click.option(
    "--name",
    callback=named,
    metavar="NAME",
    help="Name of the context [default: HOST:PORT/USER].",
)
@click.option(
    "--force", is_flag=True, help="Replace a context of another hub or person without asking."
)
@click.pass_context
def login(
    ctx: click.Context,
    server: str | None,
    token_file: Path | None,
    token_stdin: bool,
    oidc: bool,
    oidc_ca: str | None,
    ca: str | None,
    namespace: str | None,
    name: str | None,
    *,
    force: bool,
) -> None:
    """Keep a hub's address and your token for it, once the hub has accepted it.

    With --oidc an address and a code are printed: open the one, in any browser, and type the other in. The
    token that the provider then gives is kept, and refreshed when it ends.

    They go to a file that nobody else may read (~/.config/roadstead/contexts.json), and are used from
    then on where no option and no variable says otherwise. A token is never an argument here: others
    could see it in the list of processes.

    Each login is one context. Logging in again as the same person at the same hub refreshes that context. A
    context of another hub or person is replaced only with --force, or once you have confirmed it.
    """
    given = ctx.find_root().obj or {}
    if given.get("token"):
        raise click.UsageError("--token can be seen by others: --token-file or --token-stdin.")
    if [bool(token_file), token_stdin, oidc].count(True) != 1:
        raise click.UsageError("Give your token by --token-file FILE or --token-stdin, or --oidc.")
    if name or given.get("context"):
        name = named(ctx, ctx.command.params[0], context_meant(name))
    wanted = _wanted(name, server or given.get("server"), ca or given.get("ca"), oidc_ca)
    _warn_in_clear(wanted.server)
    if oidc:
        from roadstead.cli.by_device import by_device

        kept = by_device(wanted)
    else:
        kept = replace(wanted, token=_token(token_file))
    with Client(kept.server, kept.token, ca=kept.ca or None) as hub:
        kept = replace(kept, user=_person(hub))
    name = store_login(
        name, kept, namespace, may_replace=_may_replace(force=force, asks=not token_stdin)
    )
    click.echo(f"logged in to {kept.server} as {visible(kept.user)}, context {name}")
    overriding = name_in_force()
    if overriding != name:
        click.echo(f"note: the environment selects context {visible(overriding)}", err=True)
    hint("roadstead whoami", "roadstead jobs ls")


def _wanted(
    name: str | None, server: str | None, ca: str | None, issuer_ca: str | None
) -> contexts.Stored:
    """The hub to log in to; what is not given comes from the context of that name, for its hub alone."""
    before = contexts.load().named.get(name or "") or contexts.Stored("")
    server = (server or before.server).rstrip("/")
    if not server:
        raise click.UsageError("Missing option '--server'.")
    if server != before.server:
        before = contexts.Stored(server)
    return contexts.Stored(server, ca=ca or before.ca, issuer_ca=issuer_ca or before.issuer_ca)


def store_login(
    name: str | None,
    login: contexts.Stored,
    namespace: str | None,
    *,
    may_replace: Callable[[str, contexts.Stored], bool],
) -> str:
    """Write the login to its context, and use it from now on; returns the name.

    Without a name: the context that the same person has for the same hub, else HOST:PORT/USER. The namespace
    stays unless one is given. Raises RoadsteadError where another login has the name and may not be replaced.
    """
    before = contexts.load()
    name = name or _own(before, login) or _default_name(login)
    there = before.named.get(name)
    same = there is not None and there.is_same_login(login)
    if there is not None and not same and not may_replace(name, there):
        raise WrongContext(
            f"context {name} is {_whose(there)}: choose another --name, or replace it by --force"
        )
    kept_namespace = there.namespace if there is not None and same else ""
    login = replace(login, namespace=kept_namespace if namespace is None else namespace)

    def write(kept: contexts.Contexts) -> contexts.Contexts:
        if _login_of(kept.named.get(name)) != _login_of(there):
            raise WrongContext(f"context {name} was changed meanwhile: log in again")
        return kept.having(name, login).using(name)

    with alone(name):
        contexts.change(write)
    return name


def _login_of(stored: contexts.Stored | None) -> tuple[str, str] | None:
    return None if stored is None else (stored.server, stored.user)


def _own(kept: contexts.Contexts, login: contexts.Stored) -> str | None:
    """The context of the same person at the same hub: the one in use, else the first by name."""
    same = [name for name, each in sorted(kept.named.items()) if each.is_same_login(login)]
    return kept.current if kept.current in same else next(iter(same), None)


def _whose(stored: contexts.Stored) -> str:
    return f"of {visible(stored.user or 'somebody')} at {visible(stored.server)}"


def _may_replace(*, force: bool, asks: bool) -> Callable[[str, contexts.Stored], bool]:
    def may(name: str, there: contexts.Stored) -> bool:
        if force or not (asks and sys.stdin.isatty()):
            return force
        return click.confirm(f"context {name} is {_whose(there)}; replace it?", err=True)

    return may


def _warn_in_clear(server: str) -> None:
    """Whoever is on the way reads what is sent in clear."""
    parts = urlsplit(server)
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        said = f"warning: {server} is reached in clear: others on the way can read your token"
        click.echo(said, err=True)


def _person(hub: Client) -> str:
    """Ask the hub for the name of the token's holder. Raises NotAllowed for an unknown token."""
    try:
        who = hub.whoami()
    except NotAllowed as refused:
        said = (
            "the hub does not know this token, or it has ended: ask an administrator for another"
        )
        raise NotAllowed(f"{said} (roadstead tokens issue)", 403) from refused
    if who.role == "user" and not who.roles:
        click.echo("note: no role lets you look at jobs yet: an administrator binds one", err=True)
    return who.name


def _token(file: Path | None) -> str:
    """The token, without the end of its line. Raises click.UsageError."""
    try:
        with file.open() if file else contextlib.nullcontext(sys.stdin) as source:
            text = source.read(_LONGEST_TOKEN + 1).strip()
    except (OSError, ValueError) as failure:
        why = getattr(failure, "strerror", None) or "it is no text"
        raise click.UsageError(f"{file or 'standard input'} can not be read: {why}.") from failure
    if not text or len(text) > _LONGEST_TOKEN or not text.isascii() or len(text.split()) != 1:
        raise click.UsageError(f"{file or 'standard input'} holds no token: one word is expected.")
    return text


def _default_name(login: contexts.Stored) -> str:
    """HOST:PORT/USER; HOST/USER where the address names no port."""
    parts = urlsplit(login.server)
    host = f"{parts.hostname or 'hub'}:{parts.port}" if parts.port else parts.hostname or "hub"
    made = re.sub(r"[^A-Za-z0-9._:/@-]+", "-", f"{host}/{login.user}")
    return made[:_LONGEST_NAME].strip("._:/@-")
