"""The interface of plug-ins. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shared.workkinds.components import ObjectView
from shared.workkinds.pod_sets import DescribedPods

Json = Mapping[str, Any]


class NotYet(Exception):
    """What the object refers to is not there: it waits, and the text says for what."""


@dataclass(frozen=True, slots=True)
class PluginCall:
    """`view`: the object as it would run. `find`: another object, by kind, namespace and name.

    `describe`: the pod sets of an object within this one, by its own definition; None for what has no pods.
    """

    view: ObjectView
    find: Callable[[str, str, str], Json | None]
    describe: Callable[[Json], DescribedPods | None]


Plugin = Callable[[PluginCall], DescribedPods]


def mapping(value: object, *path: str) -> Json:
    """An object below `value`; empty where it is not there, or is none."""
    at = value
    for name in path:
        at = at.get(name) if isinstance(at, dict) else None
    return at if isinstance(at, dict) else {}


def mappings(value: object, *path: str) -> list[Json]:
    """The objects of a list below `value`."""
    *above, last = path
    listed = mapping(value, *above).get(last)
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
