"""The group `roadstead admin`, of its verbs."""

import click

from roadstead.cli.admin.availability import availability
from roadstead.cli.admin.backup import backup, restore
from roadstead.cli.admin.doctor import doctor
from roadstead.cli.admin.finalizers import release_finalizers
from roadstead.cli.admin.leftovers import adopt, forget
from roadstead.cli.admin.migrate import migrate
from roadstead.cli.admin.retention import retention


@click.group()
def admin() -> None:
    """Keep a hub in order: its schema, backups, what it keeps, and how it does.

    Most verbs work on the hub's database itself, named by --database, and need the packages of the
    hub (pip install 'roadstead[hub]').
    """


for _verb in (
    *(migrate, backup, restore, adopt, forget, doctor, retention, availability),
    release_finalizers,
):
    admin.add_command(_verb)
