"""`roadstead clusters cordon` and `uncordon`: whether members get new work."""

import click

from roadstead.cli.each import for_each
from roadstead.cli.visible import say
from roadstead.models.clusters import CordonPreview


def add_to(group: click.Group) -> None:
    """Add the verbs to `roadstead clusters`."""
    group.add_command(cordon)
    group.add_command(uncordon)


@click.command("cordon")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@click.pass_context
def cordon(ctx: click.Context, names: tuple[str, ...], dry_run: bool) -> int:
    """Send no new work to members; running jobs continue."""
    return _look(ctx, names, on=True) if dry_run else _switch(ctx, names, on=True)


@click.command("uncordon")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@click.pass_context
def uncordon(ctx: click.Context, names: tuple[str, ...], dry_run: bool) -> int:
    """Send work to members again."""
    return _look(ctx, names, on=False) if dry_run else _switch(ctx, names, on=False)


def _switch(ctx: click.Context, names: tuple[str, ...], *, on: bool) -> int:
    word = _word(on=on)
    _, code = for_each(
        ctx,
        names,
        lambda hub, name: hub.cordon(name, on=on),
        lambda cluster: say(f"{cluster.name} {word}"),
        "switching" if on else "switching back",
    )
    return code


def _look(ctx: click.Context, names: tuple[str, ...], *, on: bool) -> int:
    _, code = for_each(
        ctx,
        names,
        lambda hub, name: hub.preview_cordon(name, on=on),
        lambda found: say(_previewed(found)),
        "looking",
    )
    say("nothing was changed", err=True)
    return code


def _word(*, on: bool) -> str:
    return "cordoned" if on else "uncordoned"


def _previewed(found: CordonPreview) -> str:
    word = _word(on=found.would_be)
    if found.cordoned == found.would_be:
        return f"{found.name} is {word} already: nothing would change"
    jobs = "its 1 job continues" if found.jobs == 1 else f"its {found.jobs} jobs continue"
    work = "no new work goes there" if found.would_be else "new work goes there again"
    return f"{found.name} would be {word}: {work}; {jobs}"
