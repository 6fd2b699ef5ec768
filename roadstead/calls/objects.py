"""Objects of any kind: apply, list, find; placements, and drift."""

from roadstead.calls.bodies import body_of
from roadstead.errors import NotFound
from roadstead.media_types import type_of
from roadstead.models.objects import Applied, Deleted, HandedOver, HeldKind, KubernetesObject
from roadstead.models.placements import DriftedField, Placement, SettledDrift
from roadstead.models.plan import Evicted, Plan, Rebalanced, RenderedPlacement
from roadstead.paths import either, object_path, part
from roadstead.steps import Flow, Request, Steps, counted_pages, items, one, pages


def apply(
    manifests: bytes | str, *, content_type: str | None = None, namespace: str | None = None
) -> Steps[list[Applied]]:
    """Apply documents of any kind, as `kubectl apply` would: JSON, or YAML with several documents.

    Returns a result per document; some may be rejected. Raises Rejected if every document was;
    `problem["items"]` then has each error. `namespace` is for documents without one. A dropped request with
    generateName is not resent, because each one creates another object.
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


def plan(
    documents: bytes | str,
    *,
    content_type: str | None = None,
    namespace: str | None = None,
    manifests: bool = False,
    cluster: str = "",
) -> Steps[Plan]:
    """Preview where documents would go if applied now: every cluster's score or rejection. Stores nothing.

    Accepts what `apply` accepts, at most 200 documents. `manifests`: include the manifests for each picked
    cluster, or for `cluster` alone. Raises Rejected if a document is unreadable.
    """
    body = documents.encode() if isinstance(documents, str) else documents
    kind = content_type or type_of(body)
    asked = {
        "namespace": namespace,
        "manifests": "true" if manifests else None,
        "cluster": cluster or None,
    }
    return one(Request("POST", "/v1/plan", asked, body, kind, repeatable=True), Plan)


def objects(kind: str, *, group: str = "core", namespace: str = "") -> Flow[KubernetesObject]:
    """Every object of a kind, of one namespace or of all; except Jobs, which are `jobs`.

    Raises NotFound if the hub holds none, but holds a kind of that name in another case or group.
    """
    path = f"/v1/objects/{part(group or 'core')}/{part(kind)}"
    if not (yield from counted_pages(path, {"namespace": namespace}, KubernetesObject)):
        yield from _refuse_namesake(kind, group)


def _refuse_namesake(kind: str, group: str) -> Steps[None]:
    """Raise NotFound if the hub holds this kind only in another spelling or group."""
    held = yield from kinds()
    alike = [each for each in held if each.is_called(kind)]
    if not alike or any(
        (each.group or "core", each.kind) == (group or "core", kind) for each in alike
    ):
        return
    meant = " or ".join(f"{each.kind!r}, group={each.group or 'core'!r}" for each in alike)
    detail = f"the hub holds no {kind!r} of group {group or 'core'!r}, but {meant}"
    raise NotFound(404, {"code": "NotFound", "detail": detail})


def kinds() -> Steps[list[HeldKind]]:
    """The kinds that the hub holds objects of, except Jobs, with their counts."""
    return items(Request("GET", "/v1/objects"), HeldKind)


def find(
    kind: str, name: str, *, group: str = "core", namespace: str = ""
) -> Steps[KubernetesObject]:
    """One object: its manifest with uid, generation and status. Raises NotFound."""
    return one(Request("GET", object_path(group, kind, namespace, name)), KubernetesObject)


def delete_object(
    kind: str,
    name: str,
    *,
    group: str = "core",
    namespace: str = "",
    drain: bool = False,
    dry_run: bool = False,
) -> Steps[Deleted]:
    """Delete one object of any kind but Job and Workload (`delete_job`, `delete_workload`).

    `drain`: evict a ClusterQueue's admitted jobs first. `dry_run`: only return the effects in members.
    Raises NotFound, and Rejected while the object is in use: a queue with jobs, a cluster with jobs, a
    Namespace that is not empty.
    """
    path = object_path(group, kind, namespace, name)
    asked = {"drain": "true" if drain else None, "dryRun": "true" if dry_run else None}
    return one(Request("DELETE", path, asked), Deleted)


def hand_over(
    kind: str, name: str, *, group: str = "core", namespace: str = "", to: str = "rest"
) -> Steps[HandedOver]:
    """Hand an object over to `rest` or the `hub-cluster`. Raises NotFound, Rejected (NotHandedOver)."""
    asked = {"group": group, "kind": kind, "namespace": namespace, "name": name, "to": to}
    return one(Request("POST", "/v1/hand-over", body=body_of(asked)), HandedOver)


def placements() -> Flow[Placement]:
    """Every placement with its objects and clusters."""
    return pages("/v1/placements", {}, Placement)


def placement(name: str) -> Steps[Placement]:
    """One ClusterResourcePlacement, or a ResourcePlacement as `namespace/name`."""
    return one(Request("GET", f"/v1/placements/{either(name)}"), Placement)


def rebalance(name: str, *, carry_out: bool = False) -> Steps[Rebalanced]:
    """Preview a new pick of a placement's clusters; `carry_out` moves the objects.

    `name` as for `placement`. Running Jobs never move. Raises NotFound.
    """
    path = f"/v1/placements/{either(name)}/rebalance"
    return one(Request("POST", path, body=body_of({"carryOut": carry_out})), Rebalanced)


def render(name: str, cluster: str) -> Steps[RenderedPlacement]:
    """Render a placement's manifests for a cluster: overrides applied, envelopes opened, without Jobs.

    `name` as for `placement`. Raises NotFound.
    """
    path = f"/v1/placements/{either(name)}/manifests"
    return one(Request("GET", path, {"cluster": cluster}), RenderedPlacement)


def evict(name: str, cluster: str, *, dry_run: bool = False) -> Steps[Evicted]:
    """Evict a placement from one cluster, if its disruption budget allows it; `dry_run` only previews.

    `name` as for `placement`. Raises NotFound.
    """
    asked = {"cluster": cluster, "dryRun": dry_run}
    path = f"/v1/placements/{either(name)}/evict"
    return one(Request("POST", path, body=body_of(asked)), Evicted)


def drift() -> Flow[DriftedField]:
    """Every drifted field, with path and both values."""
    return pages("/v1/drift", {}, DriftedField)


def settle_drift(
    how: str, cluster: str, kind: str, name: str, *, namespace: str = "", path: str = ""
) -> Steps[SettledDrift]:
    """Settle drift of one object in a member: `accept`, `restore` or `ignore`.

    `path`: one field; default: all drifted fields. Raises NotFound, Rejected.
    """
    asked = {"how": how, "cluster": cluster, "kind": kind, "namespace": namespace, "name": name}
    return one(
        Request("POST", "/v1/drift:settle", body=body_of({**asked, "path": path})), SettledDrift
    )
