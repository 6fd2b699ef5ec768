"""`roadstead submit`: one or several Jobs, and wait for them."""

import click

from roadstead.cli.output import client
from roadstead.errors import JobFailed


@click.command()
@click.argument("files", metavar="FILE...", type=click.File("rb"), nargs=-1, required=True)
@click.option("--wait", is_flag=True, help="Return when the jobs have ended; 1 if one failed.")
@click.option("--timeout", type=float, metavar="SECONDS", help="Give up waiting after this long.")
@click.option("--key", help="Idempotency key: repeating the command submits once.")
@click.pass_context
def submit(
    ctx: click.Context, files: tuple[click.File, ...], wait: bool, timeout: float | None, key: str
) -> None:
    """Submit a Job from each FILE ('-' is standard input)."""
    with client(ctx) as hub:
        submitted = []
        for i, file in enumerate(files):
            body: bytes = file.read()  # type: ignore[attr-defined]  # click.File gives a stream
            job = hub.submit(body, key=f"{key}/{i}" if key and len(files) > 1 else key)
            submitted.append(job)
            click.echo(f"{job['namespace']}/{job['name']} submitted ({job['uid']})")
        if not wait:
            first = submitted[0]
            click.echo(
                f"Next: roadstead explain {first['namespace']}/{first['name']}"
                f"  |  roadstead jobs ls --watch",
                err=True,
            )
            return
        ended = [hub.wait(job["uid"], timeout_s=timeout) for job in submitted]
    for job in ended:
        where = f" on {job['cluster']}" if job["cluster"] else ""
        click.echo(f"{job['namespace']}/{job['name']} {job['state']}{where}")
    failed = [f"{j['namespace']}/{j['name']}" for j in ended if j["state"] != "Succeeded"]
    if failed:
        raise JobFailed(f"did not succeed: {', '.join(failed)}")
