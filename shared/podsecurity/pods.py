"""Reads pod specs as plain JSON: what is not of the expected type counts as not there.

An API server refuses to decode such a value, so nothing can be hidden behind one.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from shared.errors import FieldError
from shared.reject_codes import RejectCode

Json = Mapping[str, Any]
Found = list[FieldError]

VIOLATION: Final = RejectCode.POLICY_VIOLATION
LISTS: Final = ("initContainers", "containers", "ephemeralContainers", "sidecars", "steps")
ONES: Final = ("container", "script")  # of an Argo template


def mapping(value: object) -> Json:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def entries(value: object, field: str) -> Iterator[tuple[str, Json]]:
    """The objects of a list with their paths."""
    for index, each in enumerate(value if isinstance(value, list) else ()):
        if isinstance(each, dict):
            yield f"{field}[{index}]", each


def containers(spec: Json, field: str) -> Iterator[tuple[str, Json]]:
    """Every container of a pod with its path: init and ephemeral ones too, and those of an Argo template."""
    for name in LISTS:
        if spec.get(name):
            yield from entries(spec[name], f"{field}.{name}")
    for name in ONES:
        if isinstance(spec.get(name), dict):
            yield f"{field}.{name}", spec[name]
    if isinstance(spec.get("containerSet"), dict):
        yield from entries(
            spec["containerSet"].get("containers"), f"{field}.containerSet.containers"
        )


def contexts(spec: Json, field: str) -> Iterator[tuple[str, Json]]:
    """The security contexts of a pod and of its containers, with their paths."""
    if spec.get("securityContext"):
        yield f"{field}.securityContext", mapping(spec["securityContext"])
    for path, container in containers(spec, field):
        if container.get("securityContext"):
            yield f"{path}.securityContext", mapping(container["securityContext"])


def violation(field: str, rule: str, text: str) -> FieldError:
    """One broken rule of a standard; `rule` is written level/name."""
    return FieldError(field, VIOLATION, f"{rule}: {text}")


def runs_windows(spec: Json) -> bool:
    """Does the pod say that it runs on Windows, where Linux' own means do not exist?"""
    return mapping(spec.get("os")).get("name") == "windows"
