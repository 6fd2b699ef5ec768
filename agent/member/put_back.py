"""Puts an object of ours back where a forced apply is refused because of what others added to it.

Never by deletion: a patch that carries uid and resourceVersion writes the manifest's values over exactly
the version that the agent read, without those entries of others that make the API server refuse it. Dry
runs find these entries: all others stay.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog

from agent.objects import drift, replacing
from agent.objects.facts import Object
from shared import labels
from shared.documents import Json
from shared.kube import errors
from shared.kube.client import KubeClient

log = structlog.get_logger(__name__)
_MOST_DRY_RUNS: Final = 16
Causes = Sequence[Mapping[str, Any]]


class PutBack:
    """Of one object: looks for the entries that have to go, and writes."""

    def __init__(self, client: KubeClient, manifest: Object, live: Object) -> None:
        self._client, self._manifest, self._live = client, manifest, live
        self._left = _MOST_DRY_RUNS

    async def write(self) -> bool:
        """Write the manifest over the object; False where no removal makes it valid. Raises KubeError."""
        made: Json = replacing.laid_over(self._manifest, self._live, labels.FIELD_MANAGER)
        causes = await self._refusal(made)
        removed: list[str] = []
        while causes:
            found = await self._better(made, causes)
            if found is None:
                return False
            made, causes, gone = found
            removed.append(gone)
        await self._patch(made, dry_run=False)
        metadata = self._live["metadata"]
        log.info(
            "object.put_back",
            object=f"{metadata.get('namespace') or ''}/{metadata['name']}",
            kind=self._live["kind"],
            removed=removed,
        )
        return True

    async def _better(self, made: Json, causes: Causes) -> tuple[Json, Causes, str] | None:
        """The object without one more entry of others, where the server finds less wrong with it."""
        for field in replacing.blamed(causes):
            for path in replacing.suspects(field, made, self._manifest):
                if self._left <= 0:
                    return None
                smaller = drift.without(made, [path])
                after = await self._refusal(smaller)
                if len(after) < len(causes):
                    return smaller, after, "/" + "/".join(path)
        return None

    async def _refusal(self, made: Json) -> Causes:
        """The causes for which the server refuses it; () if it takes it."""
        self._left -= 1
        try:
            await self._patch(made, dry_run=True)
        except errors.Invalid as refusal:
            return causes_of(refusal) or ({"field": ""},)
        return ()

    async def _patch(self, made: Json, *, dry_run: bool) -> None:
        live = self._live
        metadata = live["metadata"]
        await self._client.merge_patch(
            live["apiVersion"],
            live["kind"],
            metadata.get("namespace") or "",
            metadata["name"],
            replacing.patch_to(made, live),
            field_manager=labels.FIELD_MANAGER,
            dry_run=dry_run,
        )


def causes_of(refusal: errors.Invalid) -> Causes:
    """The fields that a refusal names, each with why."""
    found = refusal.details.get("causes") or ()
    return [each for each in found if isinstance(each, Mapping) and each.get("field")]
