"""Consent of a member's namespaces: constants and the command, shared by hub and agent."""

from typing import Final

from shared.labels import ACCEPT

NOT_ACCEPTED: Final = "NotAccepted"  # the reason of work whose namespace does not accept the hub
MOST_NAMES: Final = 2000  # namespaces that the hub asks agents about


def accept_command(target: str, hub_id: str) -> str:
    """The command by which a member's people accept a hub; `target`: kind and name, as `namespace team`."""
    return f"kubectl label {target} {ACCEPT}={hub_id}"
