"""Discovery of the server: /version, /api, /apis and their aggregated form."""

from typing import Any

from shared.kubesim.apimachinery.registry import Registry, Resource, version_priority
from shared.kubesim.requests.call import Call, Reply, json_reply
from shared.kubesim.store.serializer import dumps

VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3+kubesim",
    "gitCommit": "0000000000000000000000000000000000000000",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "linux/amd64",
}

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_STATUS_VERBS = ["get", "patch", "update"]
# Resources without storage: what they answer is computed (see `reviews`).
_CREATED_ONLY = (
    ("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    ("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
    ("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview"),
    ("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview"),
    ("authentication.k8s.io", "v1", "tokenreviews", "TokenReview"),
)
# Subresources beside status and scale: (resource key, name, kind, group and version, verbs).
_FURTHER = (
    ("pods", "binding", "Binding", "", "v1", ["create"]),
    ("pods", "eviction", "Eviction", "policy", "v1", ["create"]),
    ("pods", "log", "Pod", "", "v1", ["get"]),
    ("namespaces", "finalize", "Namespace", "", "v1", ["update"]),
    ("serviceaccounts", "token", "TokenRequest", "authentication.k8s.io", "v1", ["create"]),
)


def version_of(major: int, minor: int) -> dict[str, str]:
    """What a server of this release says at /version."""
    if (VERSION["major"], VERSION["minor"]) == (str(major), str(minor)):
        return VERSION
    told = {"major": str(major), "minor": str(minor), "gitVersion": f"v{major}.{minor}.0+kubesim"}
    return {**VERSION, **told}


class DiscoveryRoutes:
    """Describes a registry; the answers are made anew when it changes."""

    def __init__(self, registry: Registry, version: dict[str, str]) -> None:
        self._registry = registry
        self._version = version
        self._made: dict[tuple[str, ...], bytes] = {}
        self._revision = -1

    def answer(self, call: Call) -> Reply | None:
        """The reply to a discovery path, or None if the path is something else."""
        parts = [part for part in call.path.split("/") if part]
        if parts == ["version"]:
            return json_reply(self._version)
        if not parts or parts[0] not in ("api", "apis"):
            return None
        if len(parts) == 1:
            aggregated = _aggregated_version(call.accept)
            if aggregated:
                body = self._cached((parts[0], aggregated))
                kind = f"application/json;g=apidiscovery.k8s.io;v={aggregated};as=APIGroupDiscoveryList"
                return Reply(200, body, kind)
        expected = 2 if parts[0] == "api" else 3
        if len(parts) > expected:
            return None
        body = self._cached(tuple(parts))
        return Reply(200, body) if body else None

    def _cached(self, parts: tuple[str, ...]) -> bytes:
        if self._revision != self._registry.revision:
            self._made.clear()
            self._revision = self._registry.revision
        if parts not in self._made:
            made = self._make(parts)
            self._made[parts] = dumps(made) if made else b""
        return self._made[parts]

    def _make(self, parts: tuple[str, ...]) -> dict[str, Any] | None:
        root, rest = parts[0], parts[1:]
        if rest and rest[0] in ("v2", "v2beta1"):
            return self._aggregate(root, rest[0])
        if root == "api":
            if not rest:
                return {
                    "kind": "APIVersions",
                    "versions": ["v1"],
                    "serverAddressByClientCIDRs": [],
                }
            return self._resource_list("", rest[0])
        if not rest:
            groups = [self._group(name) for name in self.groups() if name]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        if len(rest) == 1:
            if rest[0] not in self.groups():
                return None
            return {"kind": "APIGroup", "apiVersion": "v1", **self._group(rest[0])}
        return self._resource_list(rest[0], rest[1])

    def groups(self) -> dict[str, list[str]]:
        """Every group with its versions, preferred first."""
        groups: dict[str, list[str]] = {}
        for resource in self._registry:
            versions = groups.setdefault(resource.group, [])
            if resource.version not in versions:
                versions.append(resource.version)
        for group, version, _, _ in _CREATED_ONLY:
            groups.setdefault(group, [version])
        for versions in groups.values():
            versions.sort(key=version_priority)
        return groups

    def _group(self, name: str) -> dict[str, Any]:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version}
            for version in self.groups()[name]
        ]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _resource_list(self, group: str, version: str) -> dict[str, Any] | None:
        if version not in self.groups().get(group, ()):
            return None
        rows: list[dict[str, Any]] = []
        for resource in self._in(group, version):
            rows.append(_row(resource))
            rows += [
                {
                    "name": f"{resource.plural}/{name}",
                    "singularName": "",
                    "namespaced": resource.namespaced,
                    **({"group": kind_group, "version": kind_version} if kind_group else {}),
                    "kind": kind,
                    "verbs": verbs,
                }
                for name, kind, kind_group, kind_version, verbs in subresources(resource)
            ]
        rows += [
            {
                "name": plural,
                "singularName": kind.lower(),
                "namespaced": False,
                "kind": kind,
                "verbs": ["create"],
            }
            for its_group, its_version, plural, kind in _CREATED_ONLY
            if (its_group, its_version) == (group, version)
        ]
        rows.sort(key=lambda row: str(row["name"]))
        group_version = f"{group}/{version}" if group else version
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": group_version,
            "resources": rows,
        }

    def _in(self, group: str, version: str) -> list[Resource]:
        return [one for one in self._registry if (one.group, one.version) == (group, version)]

    def _aggregate(self, root: str, version: str) -> dict[str, Any]:
        items = []
        for group, versions in self.groups().items():
            if (group == "") is not (root == "api"):
                continue
            entries = [
                {
                    "version": one,
                    "resources": self._aggregated_rows(group, one),
                    "freshness": "Current",
                }
                for one in versions
            ]
            meta: dict[str, Any] = {"creationTimestamp": None}
            if group:
                meta["name"] = group
            items.append({"metadata": meta, "versions": entries})
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{version}",
            "metadata": {},
            "items": items,
        }

    def _aggregated_rows(self, group: str, version: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for resource in self._in(group, version):
            row: dict[str, Any] = {
                "resource": resource.plural,
                "responseKind": _kind(resource.group, resource.version, resource.kind),
                "scope": "Namespaced" if resource.namespaced else "Cluster",
                "singularResource": resource.singular,
                "verbs": _VERBS,
                "shortNames": list(resource.short_names),
                "categories": list(resource.categories),
                "subresources": [
                    {
                        "subresource": name,
                        "responseKind": _kind(kind_group, kind_version, kind),
                        "verbs": verbs,
                    }
                    for name, kind, kind_group, kind_version, verbs in subresources(resource)
                ],
            }
            rows.append({field: value for field, value in row.items() if value != []})
        rows += [
            {
                "resource": plural,
                "responseKind": _kind(group, version, kind),
                "scope": "Cluster",
                "singularResource": kind.lower(),
                "verbs": ["create"],
            }
            for its_group, its_version, plural, kind in _CREATED_ONLY
            if (its_group, its_version) == (group, version)
        ]
        return rows


def subresources(resource: Resource) -> list[tuple[str, str, str, str, list[str]]]:
    """(name, kind, kind's group, kind's version, verbs) of each subresource."""
    found = []
    if resource.has_status:
        kind = (resource.kind, resource.group, resource.version)
        found.append(("status", *kind, _STATUS_VERBS))
    if resource.scale:
        found.append(("scale", "Scale", "autoscaling", "v1", _STATUS_VERBS))
    found += [
        (name, kind, group, version, verbs)
        for key, name, kind, group, version, verbs in _FURTHER
        if key == resource.key
    ]
    return found


def _kind(group: str, version: str, kind: str) -> dict[str, str]:
    return {"group": group, "version": version, "kind": kind}


def _row(resource: Resource) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _VERBS,
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    return row


def _aggregated_version(accept: str) -> str:
    for option in accept.split(","):
        if "as=APIGroupDiscoveryList" in option:
            return "v2beta1" if "v=v2beta1" in option else "v2"
        if option.strip().startswith("application/json") and ";" not in option:
            return ""
    return ""
