"""Locates each kind on an API server: path, plural, scope and verbs.

Discovery documents are read per group and version when first needed, so that a client that speaks
of Jobs and Pods alone costs two small requests; the whole picture is read only when asked for.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One served kind. `root` is `/api/v1` or `/apis/GROUP/VERSION`."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str]
    root: str
    has_status: bool = False

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """The URL path; a namespaced kind without namespace means all namespaces."""
        parts = [self.root]
        if self.namespaced and namespace:
            parts.append(f"namespaces/{quote(namespace, safe='')}")
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


class Discovery(Mapping[tuple[str, str], Endpoint]):
    """Endpoints by (apiVersion, kind). `complete`: every group version was read.

    `unanswered`: group versions whose API server did not answer the last time all were read.
    """

    def __init__(self) -> None:
        self.complete = False
        self.unanswered: set[str] = set()
        self._endpoints: dict[tuple[str, str], Endpoint] = {}

    def __getitem__(self, key: tuple[str, str]) -> Endpoint:
        return self._endpoints[key]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._endpoints)

    def __len__(self) -> int:
        return len(self._endpoints)

    def learn(self, api_version: str, document: Mapping[str, Any] | None) -> None:
        """Take in the APIResourceList of one group version; None: it is no longer served."""
        for key in [key for key in self._endpoints if key[0] == api_version]:
            del self._endpoints[key]
        if document is not None:
            for endpoint in _endpoints(api_version, document):
                self._endpoints[(api_version, endpoint.kind)] = endpoint

    def forget_others(self, api_versions: set[str]) -> None:
        """Drop the group versions that the server no longer lists."""
        for key in [key for key in self._endpoints if key[0] not in api_versions]:
            del self._endpoints[key]

    def versions_of(self, api_version: str, kind: str) -> list[str]:
        """The versions of this kind's group in which it is known to be served, sorted."""
        group = group_of(api_version)
        return sorted(at for at, of in self._endpoints if of == kind and group_of(at) == group)

    def names(self) -> list[str]:
        """`apiVersion/Kind` of everything served, sorted."""
        return sorted(f"{api_version}/{kind}" for api_version, kind in self._endpoints)


def group_of(api_version: str) -> str:
    """The API group; "" for the core group."""
    return api_version.rpartition("/")[0]


def root_of(api_version: str) -> str:
    """`/api/v1` for the core group, else `/apis/GROUP/VERSION`."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _endpoints(api_version: str, document: Mapping[str, Any]) -> Iterator[Endpoint]:
    resources = document.get("resources") or []
    with_status = {r["name"].split("/")[0] for r in resources if r["name"].endswith("/status")}
    for resource in resources:
        if "/" in resource["name"]:
            continue
        yield Endpoint(
            api_version=api_version,
            kind=resource["kind"],
            plural=resource["name"],
            namespaced=bool(resource.get("namespaced")),
            verbs=frozenset(resource.get("verbs") or ()),
            root=root_of(api_version),
            has_status=resource["name"] in with_status,
        )
