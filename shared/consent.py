"""Constants of the consent of a member's namespaces, shared by hub and agent."""

from typing import Final

NOT_ACCEPTED: Final = "NotAccepted"  # the reason of work whose namespace does not accept the hub
MOST_NAMES: Final = 2000  # namespaces that the hub asks agents about
