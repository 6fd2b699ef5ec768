"""`roadstead restored`: shows whether the hub's store was rolled back, and accepts it."""

import click

from roadstead.cli.output import age, answer_option, client, dump, is_data
from roadstead.cli.tables import Column, table, wrapped
from roadstead.cli.visible import say

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

OBJECT_COLUMNS = [
    Column("CLUSTER", lambda row: row.cluster, shrinks=True),
    Column("KIND", lambda row: row.kind),
    Column("NAMESPACE", lambda row: row.namespace or "-", shrinks=True),
    Column("NAME", lambda row: row.name, shrinks=True),
    Column("ORIGIN", lambda row: "created" if row.created else "taken over"),
    Column("HERE", lambda row: "known" if row.known else "unknown"),
    Column("UID", lambda row: row.object_uid),
    Column("DECIDED", lambda row: row.decided or "-"),
    Column("SINCE", lambda row: age(row.since)),
]

STOPPED = 1  # the exit code that a script waits to see gone


@click.command()
@click.option("--accept", is_flag=True, help="Resume from the restored state.")
@answer_option
@click.pass_context
def restored(ctx: click.Context, accept: bool, output: str) -> int:
    """Show whether the hub's store was rolled back to an older copy, and resume.

    Until you accept it, the hub dispatches nothing. Afterwards it holds jobs that were waiting, because
    they may have started since: release those that run nowhere. Jobs in members from before are left alone,
    and listed with the hub's job of the same uid, for as long as they exist. So are other objects that this
    hub wrote there and has no work for, until you decide (admin remove, admin abandon). Without --accept the
    exit code is 1 while the hub is paused, else 0.
    """
    with client(ctx) as hub:
        if accept:
            answer = hub.accept_restored()
            if is_data(output):
                dump(answer.raw, output)
                return 0
            say(f"resumed under incarnation {answer.incarnation}")
            say("Jobs that were waiting are held (Restored): release those that run nowhere.")
            return 0
        told = hub.restored()
    if is_data(output):
        dump(told.raw, output)
        return STOPPED if told.stopped else 0
    say(told.stopped or "The store has not been rolled back.")
    if told.awaited:
        say(f"No contact since then: {', '.join(told.awaited)}")
    for name in told.owing:
        _say_owing(name, told.lacking.get(name, ""))
    if told.items:
        say("Jobs in members from before the restore, left alone:")
        say(table(told.items, COLUMNS))
        say("Find one there: kubectl get jobs -A -l roadstead.dev/job-uid=UID", err=True)
    if told.objects:
        say("Other objects in members that this hub wrote and has no work for, left alone:")
        say(table(told.objects, OBJECT_COLUMNS))
        for each in told.objects:
            if each.message:
                place = "/".join(part for part in (each.namespace, each.name) if part)
                say(f"  {each.kind} {place} in {each.cluster}: {each.message}")
        say("Decide: roadstead admin remove UID, or roadstead admin abandon UID", err=True)
    return STOPPED if told.stopped else 0


def _say_owing(name: str, lacking: str) -> None:
    """Say of a member what its missing report holds up; `lacking`: which right its agent lacks for it."""
    say(f"{name} has not reported its Jobs since the restore: until it does, earlier jobs")
    say("  stay held, and you cannot remove the cluster. Wait for its agent. If the cluster")
    say(f"  is destroyed: roadstead clusters fence {name} --destroyed")
    if lacking:
        for line in wrapped(f"It cannot report them: {lacking}", "  "):
            say(line)
