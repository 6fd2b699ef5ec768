"""Effects of a removal in members, as plan, deletions and drains show them beforehand."""

from typing import Literal

from hub.api.models.base import Model


class RemovedObject(Model):
    """An object or Job in a member, and its fate."""

    api_version: str
    kind: str
    namespace: str
    name: str
    fate: Literal["Deleted", "DeletedIfEmpty", "Released", "Withdrawn", "Left", "NotReported"]
    message: str
    """Why."""
    inside: list[str]
    """Of a Namespace that is kept: the first five objects in it, of the hub's or of other people's."""
    inside_count: int


class MemberRemoval(Model):
    """Effects of a removal in one member, by the last reports of its agent."""

    cluster: str
    deleted: int
    """Objects that the member's agent created."""
    deleted_if_empty: int
    """Namespaces that it created, deleted if empty by then; a dry run asks the agent what is inside."""
    released: int
    """Objects that stay, without Roadstead's marks: taken over, or abandoned by their placement."""
    withdrawn: int
    """Jobs: their pods end, then the member's agent deletes them."""
    left: int
    """Objects and Jobs that stay: only compared, never applied, or of another placement or a queue."""
    not_reported: int
    """Objects of which the agent has not reported whether it created them: deleted or released."""
    objects: list[RemovedObject]
    """At most 100 of them."""
