"""The objects and identities of the tables, on one control plane, with our policies in force."""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.charts import helm
from tests.charts.helm import AGENT, HUB, Release
from tests.e2e.running import REPOSITORY, until
from tests.realkube.gates.asking import EVERY_RIGHT, Answer, Asker, Identity, Json, account
from tests.realkube.gates.requests import ACTIONS, Request, merged
from tests.realkube.plane import Plane, PlaneError
from tests.realkube.processes import protect

HUB_ID: Final = "hub-1"
MANAGED: Final = {"roadstead.dev/managed-by": HUB_ID}
CREATED: Final = {**MANAGED, "roadstead.dev/created-by": HUB_ID}
TAKEN: Final = {**MANAGED, "roadstead.dev/job-uid": "u"}
ACCEPT: Final = {"roadstead.dev/accept": HUB_ID}
QUEUED: Final = {"kueue.x-k8s.io/queue-name": "main"}
ORIGIN: Final = {"roadstead.dev/origin": "rest"}
SUBMITTED_BY: Final = "roadstead.dev/submitted-by"
OWN: Final = {"managedBy": "roadstead.dev/hub"}
_RBAC: Final = "rbac.authorization.k8s.io"
_RESTRICTED: Final = {"pod-security.kubernetes.io/enforce": "restricted"}

ADMIN: Final = Identity("admin")
IDENTITIES: Final = {
    each.name: each
    for each in (
        account("agent", "roadstead", "agent"),
        account("agent+", "roadstead", "agent", EVERY_RIGHT),
        account("hub", "roadstead", "hub"),
        account("hub+", "roadstead", "hub", EVERY_RIGHT),
        Identity("submitter", "ana"),
        Identity("person", "petra"),
        ADMIN,
        account("tool", "argocd", "argocd", EVERY_RIGHT),
    )
}
Manifests = Mapping[str, Json]


def an_object(kind: str, version: str, name: str, namespace: str, **fields: Any) -> Json:
    """An object with an annotation, so that JSON patches have something to add to."""
    labels, spec = fields.pop("labels", {}), fields
    metadata = {"name": name, "labels": labels, "annotations": {"example.com/there": "yes"}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **spec}


def a_secret(name: str, namespace: str, **labels: str) -> Json:
    """A Secret with one key."""
    return an_object("Secret", "v1", name, namespace, labels=labels, data={"key": "dGhlaXJz"})


def a_deployment(name: str, namespace: str, **labels: str) -> Json:
    """A Deployment of no pods: its controller writes nothing after the first status."""
    pod = {"containers": [{"name": "main", "image": "nginx:1.27"}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": pod}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": template}
    return an_object("Deployment", "apps/v1", name, namespace, labels=labels, spec=spec)


def a_job(
    name: str, namespace: str, spec: Json | None = None, template: Json | None = None, **more: Any
) -> Json:
    """A suspended Job."""
    pod = {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "example.test/job"}],
    }
    given = {"suspend": True, **(spec or {})}
    made = {"metadata": template or {}, "spec": pod}
    job = an_object("Job", "batch/v1", name, namespace, spec={**given, "template": made})
    return merged(job, {"metadata": more})


def a_namespace(name: str, **labels: str) -> Json:
    """A Namespace."""
    return an_object("Namespace", "v1", name, "", labels=labels)


# Objects with these names in the tables have managed fields of the agent, as all that it writes.
_BY_AGENT: Final = (
    *("taken", "created", "accepted", "system", "asking", "silent", "mute"),
    *("ending", "working", "withdrawn"),
)
NOTED: Final = {"annotations": {"roadstead.dev/spec-hash": "x"}}
HELD: Final = {"finalizers": ["roadstead.dev/result"]}
KEPT: Final = {"finalizers": ["example.com/keep"]}
_TOKENS: Final = "automountServiceAccountToken"


def copies_of_one_mark() -> dict[str, Json]:
    """Objects of the member's people that carry one mark, and no label, of the agent's."""
    found = {}
    for name, mark in (("noted", NOTED), ("held", HELD)):
        plain = an_object("ConfigMap", "v1", name, "finance", data={"key": "value"})
        found[f"ConfigMap {name}"] = merged(plain, {"metadata": mark})
        found[f"Job {name}"] = merged(a_job(name, "finance"), {"metadata": mark})
    return found


def pods_with_tokens() -> dict[str, Json]:
    """Pods in a namespace of the member's people: `mute` ones have no token, the others get one."""
    found = {}
    for name, says in (("asking", {_TOKENS: True}), ("silent", {}), ("mute", {_TOKENS: False})):
        spec = {"spec": {"template": {"spec": says}}}
        found[f"Job {name}"] = merged(a_job(name, "lent", labels=MANAGED), spec)
        found[f"Deployment {name}"] = merged(a_deployment(name, "lent", **CREATED), spec)
    return found


def after_withdrawal() -> dict[str, Json]:
    """Objects that the agent created or took over, and whose people withdrew consent."""
    level = ("PriorityClass", "scheduling.k8s.io/v1")
    kept: Json = {"metadata": KEPT}
    return {
        "Namespace withdrawn": a_namespace("ended", **TAKEN),
        "Namespace emptied": a_namespace("emptied", **{"roadstead.dev/accept": ""}),
        "Secret withdrawn": merged(a_secret("withdrawn", "finance", **CREATED), kept),
        "Secret clinging": merged(a_secret("clinging", "made", **CREATED), kept),
        "Secret nameless": a_secret("nameless", "emptied", **{"roadstead.dev/managed-by": ""}),
        "PriorityClass taken": an_object(
            *level, "gates-taken", "", labels={**TAKEN, **ACCEPT}, value=1
        ),
        "PriorityClass withdrawn": an_object(*level, "gates-withdrawn", "", labels=TAKEN, value=1),
    }


def members_objects() -> dict[str, Json]:
    """What the rows of a member's table name; Namespaces come first."""
    hold: Json = {"labels": MANAGED, "finalizers": ["roadstead.dev/result"]}
    mute: Json = {"spec": {"template": {"spec": {_TOKENS: False}}}}
    subject = [{"kind": "ServiceAccount", "name": "theirs", "namespace": "finance"}]
    view = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "view"}
    return {
        "Namespace theirs": a_namespace("finance", **_RESTRICTED),
        "Namespace taken": a_namespace("lent", **ACCEPT, **TAKEN),
        "Namespace lent": a_namespace("open", **ACCEPT),
        "Namespace created": a_namespace("made", **CREATED),
        **after_withdrawal(),
        "Secret theirs": a_secret("theirs", "finance"),
        "Secret lent": a_secret("theirs", "lent"),
        "Secret taken": a_secret("taken", "lent", **MANAGED),
        "Secret created": a_secret("created", "made", **CREATED),
        "Secret refused": a_secret("refused", "finance", **CREATED),
        "Secret accepted": a_secret("accepted", "lent", **CREATED),
        "Job refused": a_job("refused", "finance", labels=MANAGED),
        **copies_of_one_mark(),
        **pods_with_tokens(),
        "Deployment theirs": a_deployment("theirs", "finance"),
        "Deployment taken": a_deployment("taken", "lent", **MANAGED),
        "Deployment created": a_deployment("created", "made", **CREATED),
        "PersistentVolumeClaim created": an_object(
            "PersistentVolumeClaim",
            "v1",
            "created",
            "made",
            labels=CREATED,
            spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        ),
        "ServiceAccount theirs": an_object("ServiceAccount", "v1", "theirs", "finance"),
        "Job theirs": a_job("theirs", "finance"),
        "Job created": a_job("created", "made", **hold),
        "Job ending": merged(
            a_job("ending", "finance", {"activeDeadlineSeconds": 600}, **hold), mute
        ),
        "Job working": merged(a_job("working", "lent", **hold), mute),
        "RoleBinding theirs": an_object(
            "RoleBinding", f"{_RBAC}/v1", "theirs", "finance", roleRef=view, subjects=subject
        ),
        "ConfigMap system": an_object(
            "ConfigMap", "v1", "gates", "kube-system", labels=CREATED, data={"key": "value"}
        ),
        "ClusterRole theirs": an_object(
            "ClusterRole", f"{_RBAC}/v1", "gates-theirs", "", rules=[]
        ),
    }


def owned_by(version: str, kind: str) -> Json:
    """Metadata that names a controller."""
    owner = {"apiVersion": version, "kind": kind, "name": "x", "uid": "0-0", "controller": True}
    return {"ownerReferences": [owner]}


def hub_clusters_objects() -> dict[str, Json]:
    """What the rows of the hub cluster's table name."""
    queue = {"clusterQueue": "main"}
    local = ("LocalQueue", "kueue.x-k8s.io/v1beta2")
    held: Json = {"labels": QUEUED, "finalizers": ["roadstead.dev/hub"]}
    return {
        "Namespace theirs": a_namespace("team"),
        "Job marked": a_job("marked", "team", OWN, **held),
        "Job suspended": a_job("suspended", "team", **held),
        "Job foreign": a_job("foreign", "team"),
        "Job hostile": a_job("hostile", "team", template={"finalizers": ["example.com/never"]}),
        "Job elsewhere": a_job(
            "elsewhere", "team", {"managedBy": "kubernetes.io/job-controller"}, labels=QUEUED
        ),
        "Job owned": a_job("owned", "team", labels=QUEUED, **owned_by("batch/v1", "Job")),
        "Job bogus": a_job("bogus", "team", labels=QUEUED, **owned_by("example.com/v1", "Bogus")),
        "Job named": a_job("named", "team", annotations={SUBMITTED_BY: "ana"}),
        "Job mirror": a_job("mirror", "team", labels=ORIGIN),
        "LocalQueue theirs": an_object(*local, "theirs", "team", spec=queue),
        "LocalQueue mirror": an_object(*local, "mirror", "team", labels=ORIGIN, spec=queue),
        "Secret theirs": a_secret("theirs", "team"),
    }


class World:
    """One plane, the objects of a table, and whoever asks."""

    def __init__(self, plane: Plane, objects: Manifests) -> None:
        self.plane, self.objects = plane, objects
        self.asker = Asker(plane.kubeconfig)

    def act(self, who: str, obj: str, action: str, change: Json, *, dry: bool = True) -> Answer:
        """Ask for one action on one of the objects."""
        given = Request(self.asker, IDENTITIES[who], self.objects[obj], change, dry)
        return ACTIONS[action](given)

    def stored(self, obj: str) -> Json:
        """The object as it is, without what controllers write."""
        given = Request(self.asker, ADMIN, self.objects[obj], {})
        live = given.live()
        metadata = {k: v for k, v in live["metadata"].items() if k not in _WRITTEN}
        return {**{k: v for k, v in live.items() if k != "status"}, "metadata": metadata}


_WRITTEN: Final = ("managedFields", "resourceVersion", "generation")


def _rights(name: str, kind: str, role: str, namespace: str, subject: str, of: str) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    ref = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role}
    whom = [{"kind": of, "apiGroup": _RBAC, "name": subject}]
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": ref,
        "subjects": whom,
    }


_EVERY: Final = _rights("gates", "ClusterRoleBinding", "cluster-admin", "", EVERY_RIGHT, "Group")


def _is_by_agent(name: str) -> bool:
    return name.split()[1] in _BY_AGENT


def _signed(obj: Json) -> Json:
    """The labels alone, for the agent's field manager: what it is known by."""
    metadata = {k: v for k, v in obj["metadata"].items() if k in ("name", "namespace", "labels")}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata}


@contextlib.contextmanager
def a_world(
    plane: Plane, objects: Manifests, install: Callable[[Plane], Callable[[], None]]
) -> Iterator[World]:
    """Create the objects, then install the policies; take both away again."""
    removed = ("delete", "--ignore-not-found", "--wait=true", "-f", "-")
    made = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects.values(), _EVERY]})
    plane.kubectl("apply", "-f", "-", stdin=made)
    by_agent = [each for name, each in objects.items() if _is_by_agent(name)]
    if by_agent:
        signed = {
            "apiVersion": "v1",
            "kind": "List",
            "items": [_signed(each) for each in by_agent],
        }
        forced = ("apply", "--server-side", "--force-conflicts", "--field-manager=roadstead")
        plane.kubectl(*forced, "-f", "-", stdin=json.dumps(signed))
    uninstall = install(plane)
    world = World(plane, objects)
    try:
        yield world
    finally:
        world.asker.close()
        uninstall()
        await_removal(plane)
        freed = json.dumps({"metadata": {"finalizers": None}})
        for each in objects.values():
            if each["metadata"].get("finalizers"):
                where = ("-n", each["metadata"]["namespace"], "patch", each["kind"])
                with contextlib.suppress(PlaneError):
                    plane.kubectl(*where, each["metadata"]["name"], "--type=merge", "-p", freed)
        plane.kubectl(*removed, stdin=made)


def await_removal(plane: Plane) -> None:
    """Wait until no policy of ours is in force any more, of a member or of a hub cluster."""
    marked = an_object("ConfigMap", "v1", "gates-probe", "default", labels=ORIGIN)
    _await(plane, "agent+", "create", marked, "yes")
    _await(plane, "admin", "create", a_job("gates-probe", "default", labels=ORIGIN), "yes")


def _apply(plane: Plane, *files: Path) -> Callable[[], None]:
    given = [word for file in files for word in ("-f", str(file))]
    plane.kubectl("apply", *given)
    return lambda: _nothing(plane.kubectl("delete", "--ignore-not-found", "--wait=true", *given))


def _nothing(_said: str) -> None:
    return None


def member_by_manifests(plane: Plane) -> Callable[[], None]:
    """What `deploy/member` has, as for whoever installs without Helm."""
    folder = REPOSITORY / "deploy" / "member"
    remove = _apply(plane, folder / "access.yaml", folder / "admission-policy.yaml")
    _bind(plane, "admin", "finance", "petra")
    _await(plane, "agent+", "delete", a_secret("theirs", "finance"))
    return remove


def member_by_chart(plane: Plane) -> Callable[[], None]:
    """The agent's chart with its defaults, and the profile that places objects."""
    values = {"hub": {"url": "https://192.0.2.1"}, "profile": "objects"}
    release = Release(AGENT, values)
    helm.install(release, plane.kubeconfig)
    _bind(plane, "admin", "finance", "petra")
    _await(plane, "agent+", "delete", a_secret("theirs", "finance"))
    return lambda: _nothing(helm.uninstall(release, plane.kubeconfig))


def hub_cluster_by_manifests(plane: Plane) -> Callable[[], None]:
    """What `deploy/hub-cluster` has for this Kubernetes."""
    protect(plane)
    _bind(plane, "roadstead-submitter", "team", "ana")
    _await(plane, "hub+", "delete", a_job("foreign", "team"))
    folder = REPOSITORY / "deploy" / "hub-cluster"
    files = ("job-policy.yaml", "mirror-guard.yaml", "job-guard.yaml", "access.yaml")
    given = [word for name in files for word in ("-f", str(folder / name))]
    remove = ("delete", "--ignore-not-found", "--wait=true", *given)
    return lambda: _nothing(plane.kubectl(*remove))


def hub_cluster_by_chart(plane: Plane) -> Callable[[], None]:
    """The hub's chart where it installs rights and policies alone."""
    shown = {"token": True, "objects": True, "showJobs": True}
    release = Release(HUB, {"install": "access", "hubCluster": shown})
    helm.install(release, plane.kubeconfig)
    _bind(plane, "roadstead-submitter", "team", "ana")
    _await(plane, "hub+", "delete", a_job("foreign", "team"))
    return lambda: _nothing(helm.uninstall(release, plane.kubeconfig))


def _bind(plane: Plane, role: str, namespace: str, user: str) -> None:
    binding = _rights("gates", "RoleBinding", role, namespace, user, "User")
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(binding))


def _await(plane: Plane, who: str, action: str, refused: Json, verdict: str = "gate") -> None:
    """Wait until the policies are in force, or no longer: until an action gets this verdict."""
    asker = Asker(plane.kubeconfig)
    given = Request(asker, IDENTITIES[who], refused, {})
    until(lambda: ACTIONS[action](given).verdict == verdict, 60, f"the policies say {verdict}")
    asker.close()
