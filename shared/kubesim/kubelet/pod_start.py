"""Checks whether a node can start a pod's containers, with the reason and message if not. Pure.

Images of hosts under `.invalid` never pull; a reference that is none is InvalidImageName; an
environment that needs a ConfigMap or Secret which is not there is CreateContainerConfigError. The
words are the kubelet's.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

PULL_FAILED = "ErrImagePull"
PULL_BACK_OFF = "ImagePullBackOff"
_IMAGE = re.compile(
    r"(?:[A-Za-z0-9.-]+(?::\d+)?/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
    r"(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::[\w][\w.-]{0,127})?(?:@[\w+.-]+:[0-9a-fA-F]{32,})?"
)

Exists = Callable[[str, str], bool]  # (resource key, name) -> is it in the pod's namespace


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why containers wait. `may_pass`: it can go away by itself, so look again."""

    reason: str
    message: str
    may_pass: bool = False


def obstacle(spec: Mapping[str, Any], exists: Exists) -> Obstacle | None:
    """What keeps the containers of a pod from starting, if anything."""
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    for container in containers:
        image = str(container.get("image") or "")
        if not _IMAGE.fullmatch(image):
            message = (
                f'Failed to apply default image tag "{image}": couldn\'t parse image name'
                f' "{image}": invalid reference format'
            )
            return Obstacle("InvalidImageName", message)
        host = registry_host(image)
        if host.endswith(".invalid"):
            return Obstacle(PULL_FAILED, _pull_failure(image, host))
    for key, kind, name in _references(containers):
        if not exists(key, name):
            message = f'{kind} "{name}" not found'
            return Obstacle("CreateContainerConfigError", message, may_pass=True)
    return None


def back_off(failed: Obstacle, image: str) -> Obstacle:
    """What follows a failed pull."""
    message = f'Back-off pulling image "{image}": ErrImagePull: {failed.message}'
    return Obstacle(PULL_BACK_OFF, message)


def unpullable(spec: Mapping[str, Any]) -> str:
    """The first image that will never pull, or ""."""
    for container in [*(spec.get("initContainers") or ()), *spec["containers"]]:
        image = str(container.get("image") or "")
        if registry_host(image).endswith(".invalid"):
            return image
    return ""


def registry_host(image: str) -> str:
    """The registry's host name in an image reference, without the port; "" if it names none."""
    first, slash, _ = image.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost"):
        return ""
    return first.partition(":")[0]


def _pull_failure(image: str, host: str) -> str:
    return (
        f'failed to pull and unpack image "{image}": failed to resolve reference "{image}":'
        f" dial tcp: lookup {host}: no such host"
    )


def _references(containers: list[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """(resource key, kind as the kubelet writes it, name) of what the environments need."""
    for container in containers:
        for entry in container.get("env") or ():
            source = entry.get("valueFrom") or {}
            yield from _reference(source.get("configMapKeyRef"), source.get("secretKeyRef"))
        for entry in container.get("envFrom") or ():
            yield from _reference(entry.get("configMapRef"), entry.get("secretRef"))


def _reference(
    config_map: Mapping[str, Any] | None, secret: Mapping[str, Any] | None
) -> Iterator[tuple[str, str, str]]:
    for key, kind, reference in (
        ("configmaps", "configmap", config_map),
        ("secrets", "secret", secret),
    ):
        if reference and reference.get("name") and not reference.get("optional"):
            yield key, kind, reference["name"]
