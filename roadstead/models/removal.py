"""Effects of a removal in members, as previews of deletions, drains and plans."""

from roadstead.models.record import Record


class RemovedObject(Record):
    """One effect in a member. `fate`: Deleted, DeletedIfEmpty, Released, Withdrawn, Left or NotReported."""

    api_version: str = ""
    kind: str
    namespace: str = ""
    name: str
    fate: str
    message: str = ""
    inside: tuple[str, ...] = ()
    inside_count: int = 0


class MemberRemoval(Record):
    """Effects of a removal in one member: the number of objects with each fate, and the first 100."""

    cluster: str
    deleted: int = 0
    deleted_if_empty: int = 0
    released: int = 0
    withdrawn: int = 0
    left: int = 0
    not_reported: int = 0
    objects: tuple[RemovedObject, ...] = ()
