"""Kinds that the simulated cluster serves: the built-in ones and those of CRDs.

A `Resource` is one plural in one version. Versions of one plural share storage, so the store and
the behaviours name a resource by its `key` alone (`pods`, `jobs.batch`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shared.kubesim.apimachinery.columns import Column


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where `/scale` reads and writes, as dotted paths without the leading dot."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


@dataclass(frozen=True)
class Resource:
    """One served resource. `has_generation`: the server counts changes of its spec."""

    group: str
    version: str
    plural: str
    kind: str
    singular: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    has_status: bool = False
    categories: tuple[str, ...] = ()
    list_kind: str = ""
    has_generation: bool = False
    scale: ScalePaths | None = None
    custom: bool = False
    columns: tuple[Column, ...] = ()

    def __post_init__(self) -> None:
        # Read on every request: computed once.
        object.__setattr__(self, "list_kind", self.list_kind or f"{self.kind}List")
        object.__setattr__(self, "key", resource_key(self.plural, self.group))
        api_version = f"{self.group}/{self.version}" if self.group else self.version
        object.__setattr__(self, "api_version", api_version)

    key: str = ""
    api_version: str = ""


def resource_key(plural: str, group: str) -> str:
    """`pods`, `jobs.batch`: how the store names a resource."""
    return f"{plural}.{group}" if group else plural


class Registry:
    """Finds resources by key, by path and by kind. The first version of a key is its storage one."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._by_key: dict[str, list[Resource]] = {}
        self._by_path: dict[tuple[str, str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        self.revision = 0
        for resource in resources:
            self.add([resource])

    def __iter__(self) -> Iterator[Resource]:
        return (resource for versions in self._by_key.values() for resource in versions)

    def add(self, versions: list[Resource]) -> None:
        """Serve all versions of one key (the storage version first), replacing what was served."""
        if not versions:
            return
        self.remove(versions[0].key)
        self._by_key[versions[0].key] = list(versions)
        for resource in versions:
            self._by_path[(resource.group, resource.version, resource.plural)] = resource
            self._by_kind[(resource.api_version, resource.kind)] = resource
        self.revision += 1

    def remove(self, key: str) -> None:
        """Stop serving a key; unknown keys are ignored."""
        for resource in self._by_key.pop(key, ()):
            self._by_path.pop((resource.group, resource.version, resource.plural), None)
            self._by_kind.pop((resource.api_version, resource.kind), None)
        self.revision += 1

    def get(self, key: str) -> Resource:
        """The storage version of a key; KeyError when nothing serves it."""
        return self._by_key[key][0]

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    def versions(self, key: str) -> list[Resource]:
        return list(self._by_key.get(key, ()))

    def by_path(self, group: str, version: str, plural: str) -> Resource | None:
        return self._by_path.get((group, version, plural))

    def by_kind(self, api_version: str, kind: str) -> Resource | None:
        return self._by_kind.get((api_version, kind))


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sort key of Kubernetes' version order: v2, v1, v1beta2, v1beta1, v1alpha1, then others."""
    body = version[1:] if version.startswith("v") else ""
    for rank, word in ((1, "beta"), (2, "alpha")):
        major, found, minor = body.partition(word)
        if found and major.isdigit() and minor.isdigit():
            return (rank, -int(major), -int(minor), version)
    if body.isdigit():
        return (0, -int(body), 0, version)
    return (3, 0, 0, version)
