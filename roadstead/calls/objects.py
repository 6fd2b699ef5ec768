"""Objects of any kind: apply, list, find; placements, and what has drifted."""

from roadstead.media_types import type_of
from roadstead.models.objects import Applied, KubernetesObject
from roadstead.models.placements import DriftedField, Placement
from roadstead.paths import either, part
from roadstead.steps import Flow, Request, Steps, items, one, pages


def apply(
    manifests: bytes | str, *, content_type: str | None = None, namespace: str | None = None
) -> Steps[list[Applied]]:
    """Apply documents of any kind, as `kubectl apply` would: JSON, or YAML with several documents.

    Returns a result per document; some may be rejected. Raises Rejected if every document was;
    `problem["items"]` then tells of each. `namespace` is for those without one. Where a name is to be
    generated, a request that was cut off is not repeated: each one makes another object.
    """
    body = manifests.encode() if isinstance(manifests, str) else manifests
    ask = Request(
        "POST",
        "/v1/apply",
        {"namespace": namespace},
        body,
        content_type or type_of(body),
        repeatable=b"generateName" not in body,
    )
    return items(ask, Applied)


def objects(kind: str, *, group: str = "core", namespace: str = "") -> Flow[KubernetesObject]:
    """Every object of a kind, of one namespace or of all; not Jobs, which are `jobs`."""
    path = f"/v1/objects/{part(group)}/{part(kind)}"
    return pages(path, {"namespace": namespace}, KubernetesObject)


def find(
    kind: str, name: str, *, group: str = "core", namespace: str = ""
) -> Steps[KubernetesObject]:
    """One object: its manifest with uid, generation and status. Raises NotFound."""
    within = f"namespaces/{part(namespace)}/" if namespace else ""
    path = f"/v1/objects/{part(group)}/{part(kind)}/{within}{part(name)}"
    return one(Request("GET", path), KubernetesObject)


def placements() -> Steps[list[Placement]]:
    """Every placement with what it selected and where it put it."""
    return items(Request("GET", "/v1/placements"), Placement)


def placement(name: str) -> Steps[Placement]:
    """One ClusterResourcePlacement, or a ResourcePlacement as `namespace/name`."""
    return one(Request("GET", f"/v1/placements/{either(name)}"), Placement)


def drift() -> Flow[DriftedField]:
    """Every field that no longer is as the hub wants it, with path and both values."""
    return pages("/v1/drift", {}, DriftedField)
