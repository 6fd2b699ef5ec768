"""Objects and Jobs in members from before the store was restored, and decisions about the objects."""

from typing import Literal

from hub.api.models.base import Body, Instant, Model, example_of
from hub.api.models.clusters import LeftoverJob
from hub.api.models.removal import MemberRemoval


class LeftObject(Model):
    """An object in a member, no Job, that an agent of this hub wrote and that the store has no work for."""

    cluster: str
    uid: str
    """Of the object that it was made for in the hub, before."""
    object_uid: str
    api_version: str
    kind: str
    namespace: str
    """Empty for cluster-scoped objects."""
    name: str
    created: bool
    """An agent created it; else it was taken over."""
    placed_by: str
    """Kind and name of the placement that it was written for; empty if its agent does not report it."""
    known: bool
    """The hub has the object that it was made for: a placement may select it again."""
    decided: Literal["", "Remove", "Abandon"]
    """An administrator's decision; the object stays listed until its agent reports that it is carried out."""
    message: str
    """How far the decision has come; empty without one."""
    since: Instant
    """When its agent first reported it."""
    seen_at: Instant


class Restored(Model):
    """What is left from before the store was restored."""

    stopped: str
    """Why nothing is dispatched; empty where it is."""
    awaited: list[str]
    """Members that have not been heard since a backup was restored, and it is not accepted yet."""
    owing: list[str]
    """Members that have not reported all their Jobs since a backup was restored, accepted or not, those that
    joined later included. Until then they can not be removed, and jobs from before stay held."""
    lacking: dict[str, str]
    """By member of `owing`: kinds of jobs that its agent has no right to list, and the remedy."""
    items: list[LeftoverJob]
    objects: list[LeftObject]
    """Objects other than Jobs that agents of this hub wrote and that the store has no work for: left alone
    until an administrator decides. At most 200 of each member, of kinds that its agent may list."""


class LeftObjectsDecision(Body):
    """Selects listed objects: those that match every given field. At least one field is needed."""

    model_config = example_of({"cluster": "east", "dryRun": True})

    object_uid: str = ""
    """Of one object in its member."""
    cluster: str = ""
    namespace: str = ""
    placement: str = ""
    """Kind and name of the placement that they were written for, as `ResourcePlacement/web`."""
    dry_run: bool | None = None
    """List the effects, and decide nothing."""


class UndecidedObjects(Model):
    """Objects of one member about which the decision cannot be made."""

    cluster: str
    message: str


class DecidedObjects(Model):
    """Objects about which an administrator decided."""

    decision: Literal["Remove", "Abandon"]
    carried_out: bool
    """Decided; false: it was only listed."""
    count: int
    more: bool
    """More objects match than one decision takes: decide again once these are gone."""
    members: list[MemberRemoval]
    """What becomes of each object."""
    refused: list[UndecidedObjects]
