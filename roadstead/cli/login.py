"""`roadstead login`: a hub's address and a token for it, kept for the commands that follow."""

import contextlib
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from roadstead import contexts
from roadstead.cli.examples import examples
from roadstead.cli.progress import hint
from roadstead.client import Client
from roadstead.errors import NotAllowed
from roadstead.sign_in import LOOPBACK

_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", re.ASCII)
_LONGEST_TOKEN: Final = 16_384


def named(_ctx: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    """A name that a context may have. Raises click.BadParameter."""
    if given is not None and (not _NAME.fullmatch(given) or given == contexts.LOCAL):
        raise click.BadParameter(f"{given!r}: letters, digits, '.', '_' and '-', and not 'local'.")
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
    "--name", callback=named, metavar="NAME", help="Name of the context [default: the hub's host]."
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
) -> None:
    """Keep a hub's address and your token for it, once the hub has accepted it.

    With --oidc an address and a code are printed: open the one, in any browser, and type the other in. The
    token that the provider then gives is kept, and refreshed when it ends.

    They go to a file that nobody else may read (~/.config/roadstead/contexts.json), and are used from
    then on where no option and no variable says otherwise. A token is never an argument here: others
    could see it in the list of processes.
    """
    given = ctx.find_root().obj or {}
    if given.get("token"):
        raise click.UsageError("--token can be seen by others: --token-file or --token-stdin.")
    server = server or given.get("server")
    if not server:
        raise click.UsageError("Missing option '--server'.")
    if [bool(token_file), token_stdin, oidc].count(True) != 1:
        raise click.UsageError("Give your token by --token-file FILE or --token-stdin, or --oidc.")
    ca = ca or given.get("ca") or ""
    kept = contexts.Stored(server.rstrip("/"), "", ca, namespace or "")
    _warn_in_clear(server)
    if oidc:
        from roadstead.cli.by_device import by_device

        kept = by_device(replace(kept, issuer_ca=oidc_ca or ""))
    else:
        kept = replace(kept, token=_token(token_file))
        with Client(server, kept.token, ca=ca or None) as hub:
            _let_in(hub)
    name = name or _of_host(server)
    contexts.save(contexts.load().having(name, kept).using(name))
    click.echo(f"logged in to {server} as context {name}")
    hint("roadstead whoami", "roadstead jobs ls")


def _warn_in_clear(server: str) -> None:
    """Whoever is on the way reads what is sent in clear."""
    parts = urlsplit(server)
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        said = f"warning: {server} is reached in clear: others on the way can read your token"
        click.echo(said, err=True)


def _let_in(hub: Client) -> None:
    """Raises NotAllowed where the hub does not know the token. Whoever has no role yet is known to it."""
    try:
        next(iter(hub.jobs(limit=1)), None)
    except NotAllowed as refused:
        if refused.status != 403:
            said = "the hub does not know this token, or it has ended: ask an administrator for another"
            raise NotAllowed(f"{said} (roadstead tokens issue)", 403) from refused
        click.echo("note: no role lets you look at jobs yet: an administrator binds one", err=True)


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


def _of_host(server: str) -> str:
    host = re.sub(r"[^A-Za-z0-9.-]+", "-", urlsplit(server).hostname or "").strip("-.")
    return host[:63] if host and host != contexts.LOCAL else "hub"
