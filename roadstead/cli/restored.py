"""`roadstead restored`: whether the hub's store went back to an older copy, and how to go on from it."""

import click

from roadstead.cli.output import age, answer_option, client, dump, is_data
from roadstead.cli.tables import Column, table

COLUMNS = [
    Column("CLUSTER", lambda row: row.cluster, shrinks=True),
    Column("JOB", lambda row: row.name or row.job or "unknown", shrinks=True),
    Column("UID", lambda row: row.uid),
    Column("EPOCH", lambda row: row.epoch),
    Column("THERE", lambda row: row.there),
    Column("HERE", lambda row: row.state or "unknown"),
    Column("MANIFEST", lambda row: row.manifest),
    Column("DECIDED", lambda row: row.decided),
    Column("SEEN", lambda row: age(row.seen_at)),
]

STOPPED = 1  # the exit code that a script waits to see gone


@click.command()
@click.option("--accept", is_flag=True, help="Go on from the restored state.")
@answer_option
@click.pass_context
def restored(ctx: click.Context, accept: bool, output: str) -> int:
    """Tell whether the hub has found its store to be an older copy, and go on from it.

    Until that is accepted nothing is dispatched. Afterwards jobs that waited are held, for they may have
    been started since: release those that run nowhere. Jobs that members hold from before are left
    alone: they are listed with what the hub has of the same uid, for as long as they are there.
    Without --accept the exit code is 1 while the hub stands still, else 0.
    """
    with client(ctx) as hub:
        if accept:
            answer = hub.accept_restored()
            if is_data(output):
                dump(answer.raw, output)
                return 0
            click.echo(f"going on under incarnation {answer.incarnation}")
            click.echo("Jobs that waited are held (Restored): release those that run nowhere.")
            return 0
        told = hub.restored()
    if is_data(output):
        dump(told.raw, output)
        return STOPPED if told.stopped else 0
    click.echo(told.stopped or "The store is as the hub left it.")
    if told.awaited:
        click.echo(f"Not heard since then: {', '.join(told.awaited)}")
    if told.items:
        click.echo("\nJobs in members from before it was restored, which are left alone:")
        click.echo(table(told.items, COLUMNS))
        click.echo("Find one there: kubectl get jobs -A -l roadstead.dev/job-uid=UID", err=True)
    return STOPPED if told.stopped else 0
