"""The group `roadstead admin` and its verbs."""

import click

from roadstead.cli.admin.availability import availability
from roadstead.cli.admin.backup import backup, restore
from roadstead.cli.admin.doctor import doctor
from roadstead.cli.admin.finalizers import release_finalizers
from roadstead.cli.admin.leftovers import abandon, adopt, forget, remove
from roadstead.cli.admin.migrate import migrate
from roadstead.cli.admin.retention import retention


@click.group()
def admin() -> None:
    """Maintain a hub: its schema, backups, retention and health.

    Most verbs use the hub's database itself, named by --database, and need the packages of the hub (pip
    install 'roadstead[hub]').
    """


for _verb in (
    *(migrate, backup, restore, adopt, forget, remove, abandon, doctor, retention),
    *(availability, release_finalizers),
):
    admin.add_command(_verb)
