"""The parts of an object that definitions read, without the bulk of its pods. Pure.

Every expression gets the whole object as text, some dozen times: environments, arguments and volumes of
megabytes would cost that often. They are checked where they stand, by `shared.workkinds.object_rules`.
"""

from typing import Any, Final

import orjson

from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.reject_codes import RejectCode

MOST_BYTES: Final = 256 << 10
_LONGEST: Final = 1024  # characters of a text; names and amounts are shorter
_METADATA: Final = (
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
    "ownerReferences",
)
_CONTAINER: Final = frozenset({"name", "image", "resources", "restartPolicy"})
_CONTAINERS: Final = frozenset({"containers", "initContainers"})
_NOT_READ: Final = frozenset({"volumes", "ephemeralContainers"})  # of a pod spec


def essentials(document: JsonView) -> Json:
    """A copy without status, and with name, image, resources and restartPolicy of each container.

    Raises Rejected (TooManyItems) where it is still larger than 256 KiB.
    """
    made: Json = {key: _kept(value) for key, value in document.items() if key != "status"}
    metadata = made.get("metadata")
    if isinstance(metadata, dict):
        made["metadata"] = {key: metadata[key] for key in _METADATA if key in metadata}
    if len(orjson.dumps(made)) > MOST_BYTES:
        rule = (
            f"spec: has more than {MOST_BYTES >> 10} KiB, environments, arguments and volumes of its pods "
            "not counted: name fewer components and containers"
        )
        raise Rejected(RejectCode.TOO_MANY_ITEMS, rule, "spec")
    return made


def _kept(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_LONGEST]
    if isinstance(value, list):
        return [_kept(each) for each in value]
    if not isinstance(value, dict):
        return value
    of_pod = isinstance(value.get("containers"), list)
    return {
        key: _containers(each) if of_pod and key in _CONTAINERS else _kept(each)
        for key, each in value.items()
        if not (of_pod and key in _NOT_READ)
    }


def _containers(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [
        {key: _kept(inner) for key, inner in each.items() if key in _CONTAINER}
        if isinstance(each, dict)
        else each
        for each in value
    ]
