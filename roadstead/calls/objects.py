"""Objects of any kind: apply, list, find; placements, and what has drifted."""

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


def plan(
    documents: bytes | str,
    *,
    content_type: str | None = None,
    namespace: str | None = None,
    manifests: bool = False,
    cluster: str = "",
) -> Steps[Plan]:
    """Where documents would go, were they applied now: every cluster's score or refusal. Stores nothing.

    Takes what `apply` takes, at most 200 documents. `manifests`: with what each picked cluster would get, or
    `cluster` alone. Raises Rejected where one of them can not be read.
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
    """Every object of a kind, of one namespace or of all; not Jobs, which are `jobs`.

    Raises NotFound where the hub holds none, and holds a kind of that name in another case or group.
    """
    path = f"/v1/objects/{part(group or 'core')}/{part(kind)}"
    if not (yield from counted_pages(path, {"namespace": namespace}, KubernetesObject)):
        yield from _refuse_namesake(kind, group)


def _refuse_namesake(kind: str, group: str) -> Steps[None]:
    """Raise NotFound where the hub holds this kind by another spelling, or of another group alone."""
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
    """The kinds that the hub holds objects of, Jobs aside, with how many of each."""
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

    `drain`: what a ClusterQueue has admitted is taken back first. `dry_run`: only say what that does in
    members. Raises NotFound, and Rejected while
    something needs the object: a queue with jobs, a cluster that runs some, a Namespace that is not empty.
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
    """Every placement with what it selected and where it put it."""
    return pages("/v1/placements", {}, Placement)


def placement(name: str) -> Steps[Placement]:
    """One ClusterResourcePlacement, or a ResourcePlacement as `namespace/name`."""
    return one(Request("GET", f"/v1/placements/{either(name)}"), Placement)


def rebalance(name: str, *, carry_out: bool = False) -> Steps[Rebalanced]:
    """What would move of a placement's objects, were they picked anew; `carry_out` moves them.

    `name` as for `placement`. Jobs that run are never moved. Raises NotFound.
    """
    path = f"/v1/placements/{either(name)}/rebalance"
    return one(Request("POST", path, body=body_of({"carryOut": carry_out})), Rebalanced)


def render(name: str, cluster: str) -> Steps[RenderedPlacement]:
    """What a placement would give a cluster now: overrides applied, envelopes opened, Jobs aside.

    `name` as for `placement`. Raises NotFound.
    """
    path = f"/v1/placements/{either(name)}/manifests"
    return one(Request("GET", path, {"cluster": cluster}), RenderedPlacement)


def evict(name: str, cluster: str, *, dry_run: bool = False) -> Steps[Evicted]:
    """Take a placement off one cluster, where its disruption budget allows it; `dry_run` only asks.

    `name` as for `placement`. Raises NotFound.
    """
    asked = {"cluster": cluster, "dryRun": dry_run}
    path = f"/v1/placements/{either(name)}/evict"
    return one(Request("POST", path, body=body_of(asked)), Evicted)


def drift() -> Flow[DriftedField]:
    """Every field that no longer is as the hub wants it, with path and both values."""
    return pages("/v1/drift", {}, DriftedField)


def settle_drift(
    how: str, cluster: str, kind: str, name: str, *, namespace: str = "", path: str = ""
) -> Steps[SettledDrift]:
    """Decide about a drifted object of a member: `accept`, `restore` or `ignore` what differs.

    `path`: the one field that is meant; else all that has drifted. Raises NotFound, Rejected.
    """
    asked = {"how": how, "cluster": cluster, "kind": kind, "namespace": namespace, "name": name}
    return one(
        Request("POST", "/v1/drift:settle", body=body_of({**asked, "path": path})), SettledDrift
    )
