"""Letting an object go from our finalizer, while those of others stay."""

from typing import Final

from shared.finalizers import finalizers_of, without
from shared.kube import errors
from shared.kube.client import KubeClient

_TRIES: Final = 5


async def let_go(
    client: KubeClient, place: tuple[str, str, str, str], uid: str, finalizer: str, manager: str
) -> None:
    """Take one finalizer off the object of this uid at `place` (apiVersion, kind, namespace, name).

    Nothing to do where it is gone, or another, or does not carry it. Raises KubeError; Conflict where it
    was changed each time that it was tried.
    """
    for left in reversed(range(_TRIES)):
        try:
            live = await client.get(*place)
            if live["metadata"]["uid"] != uid or finalizer not in finalizers_of(live):
                return
            await client.merge_patch(*place, without(live, finalizer), field_manager=manager)
        except errors.NotFound:
            return
        except errors.Conflict:  # it changed meanwhile: as it now is
            if not left:
                raise
        else:
            return
