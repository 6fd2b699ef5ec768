"""Consent of a member's namespaces: constants and the command, shared by hub and agent."""

from typing import Final

from shared.labels import ACCEPT, ACCEPT_TOKENS

NOT_ACCEPTED: Final = "NotAccepted"  # the reason of work whose namespace does not accept the hub
REPLACED: Final = (
    "Replaced"  # the state of one that was created for an earlier namespace of its name
)
CREATE_FORBIDDEN: Final = (
    "CreateForbidden"  # the reason of a Job that the agent's account may not create there
)
# The reason of work whose pods ask for a token that its namespace does not give.
NO_TOKEN: Final = "TokenNotAllowed"  # noqa: S105  # a reason
CLOSED: Final = frozenset({NOT_ACCEPTED, REPLACED})  # states of namespaces that take nothing
MOST_NAMES: Final = 2000  # namespaces that the hub asks agents about


def accept_command(target: str, hub_id: str) -> str:
    """The command by which a member's people accept a hub; `target`: kind and name, as `namespace team`."""
    return f"kubectl label {target} {ACCEPT}={hub_id}"


def tokens_command(namespace: str) -> str:
    """The command by which a member's people let pods of a hub have tokens in a namespace of theirs."""
    return f"kubectl label namespace {namespace} {ACCEPT_TOKENS}=true"


def refused(namespace: str, state: str, hub_id: str) -> str:
    """The reason why a namespace of a member accepts nothing of a hub, and the command that changes it."""
    command = accept_command(f"namespace {namespace}", hub_id)
    if state == REPLACED:
        return f"{replaced(namespace)}, or accept what it holds: {command}"
    return f"namespace {namespace} does not accept this hub; to accept it there: {command}"


def replaced(namespace: str) -> str:
    """The reason against a namespace that was created for an earlier one of its name."""
    return (
        f"namespace {namespace} was created there for an earlier namespace {namespace} of the hub and may "
        "hold what that left; delete it there"
    )
