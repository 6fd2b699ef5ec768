"""The ways in which a request changes an object: one function for each action of the tables."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.realkube.gates.asking import Answer, Asker, Identity, Json

TOUCHED: Final = {"metadata": {"annotations": {"example.com/touched": "yes"}}}
# What else a change of an object of this kind does.
_OWN: Final[dict[str, Json]] = {
    "Secret": {"data": {"key": "b3Vycw=="}},
    "Deployment": {"spec": {"replicas": 0}},
    "Job": {"spec": {"parallelism": 3}},
    "ServiceAccount": {"automountServiceAccountToken": False},
    "PersistentVolumeClaim": {},
}
_PLURAL: Final = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "NetworkPolicy": "networkpolicies",
    "PriorityClass": "priorityclasses",
}
_MANAGER: Final = "gates"


def path_of(obj: Json, *, collection: bool = False) -> str:
    """Where the API server has an object, or its kind in that namespace."""
    version, metadata = obj["apiVersion"], obj["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    if namespace := metadata.get("namespace"):
        root += f"/namespaces/{namespace}"
    root += "/" + _PLURAL.get(obj["kind"], obj["kind"].lower() + "s")
    return root if collection else f"{root}/{metadata['name']}"


def merged(obj: Json, change: Json) -> Json:
    """A merge patch, carried out."""
    found = copy.deepcopy(obj)
    for key, value in change.items():
        if isinstance(value, dict):
            inner = found.get(key)
            found[key] = merged(inner if isinstance(inner, dict) else {}, value)
        elif value is None:
            found.pop(key, None)
        else:
            found[key] = value
    return found


def change_of(obj: Json) -> Json:
    """A change that the API server takes of any object of this kind."""
    return merged(TOUCHED, _OWN.get(obj["kind"], {}))


@dataclass(frozen=True)
class Request:
    """One request of somebody about one object; `change` as a merge patch."""

    asker: Asker
    who: Identity
    obj: Json
    change: Json
    dry: bool = True

    def live(self) -> Json:
        """The object as it is stored."""
        admin = Identity("admin")
        return self.asker.ask(admin, "GET", path_of(self.obj), dry=False).body

    def send(self, method: str, path: str = "", body: Any = None, **more: Any) -> Answer:
        """Send it; `path` is below the object's own."""
        return self.asker.ask(
            self.who, method, path_of(self.obj) + path, body, dry=self.dry, **more
        )


def create(it: Request) -> Answer:
    """POST one like it under another name."""
    other = merged(it.obj, {"metadata": {"name": it.obj["metadata"]["name"] + "-too"}})
    where = path_of(it.obj, collection=True)
    return it.asker.ask(it.who, "POST", where, merged(other, it.change), dry=it.dry)


def update(it: Request) -> Answer:
    """PUT the stored object with the change."""
    return it.send("PUT", body=merged(it.live(), it.change))


def merge(it: Request) -> Answer:
    """A JSON merge patch."""
    return it.send("PATCH", body=it.change, media="application/merge-patch+json")


def json_patch(it: Request) -> Answer:
    """A JSON patch that replaces whole top-level fields of the object's parts."""
    live, steps = it.live(), []
    for part, fields in it.change.items():
        if not isinstance(fields, dict):
            steps.append({"op": "add", "path": f"/{part}", "value": fields})
            continue
        after = merged(live.get(part) or {}, fields)
        if part not in live:
            steps.append({"op": "add", "path": f"/{part}", "value": {}})
        for name in fields:
            if name in after:
                steps.append({"op": "add", "path": f"/{part}/{name}", "value": after[name]})
            elif name in live.get(part, {}):
                steps.append({"op": "remove", "path": f"/{part}/{name}"})
    return it.send("PATCH", body=steps, media="application/json-patch+json")


def strategic(it: Request) -> Answer:
    """A strategic merge patch, as `kubectl patch` sends."""
    return it.send("PATCH", body=it.change, media="application/strategic-merge-patch+json")


def apply(it: Request) -> Answer:
    """A server-side apply of fields that nobody manages."""
    return _applied(it, merged(TOUCHED, it.change if it.change != change_of(it.obj) else {}))


def force(it: Request) -> Answer:
    """A forced server-side apply, which takes fields from their managers."""
    return _applied(it, it.change, force="true")


def _applied(it: Request, change: Json, **more: str) -> Answer:
    metadata = {
        key: it.obj["metadata"][key] for key in ("name", "namespace") if key in it.obj["metadata"]
    }
    named = {"apiVersion": it.obj["apiVersion"], "kind": it.obj["kind"], "metadata": metadata}
    media = "application/apply-patch+yaml"
    return it.send("PATCH", body=merged(named, change), media=media, fieldManager=_MANAGER, **more)


def scale(it: Request) -> Answer:
    """Subresource scale: to 0."""
    return it.send(
        "PATCH", "/scale", {"spec": {"replicas": 0}}, media="application/merge-patch+json"
    )


def status(it: Request) -> Answer:
    """Subresource status."""
    return it.send("PATCH", "/status", TOUCHED, media="application/merge-patch+json")


def delete(it: Request) -> Answer:
    """DELETE the object."""
    return it.send("DELETE", propagationPolicy="Background")


def collection(it: Request) -> Answer:
    """DELETE every object of the kind in that namespace that has the object's name."""
    where = path_of(it.obj, collection=True)
    named = f"metadata.name={it.obj['metadata']['name']}"
    return it.asker.ask(it.who, "DELETE", where, dry=it.dry, fieldSelector=named)


ACTIONS: Final[dict[str, Callable[[Request], Answer]]] = {
    "create": create,
    "update": update,
    "merge": merge,
    "json": json_patch,
    "strategic": strategic,
    "apply": apply,
    "force": force,
    "scale": scale,
    "status": status,
    "delete": delete,
    "collection": collection,
}
CHANGES: Final = ("update", "merge", "json", "strategic", "apply", "force")
