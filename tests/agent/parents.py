"""Works of kinds whose operator makes the pods, as the hub composes them."""

from agent.objects.manifests import unstarted
from shared import labels
from shared.wire.agent_v1 import Work
from shared.wire.kind_rules import FieldValue, KindRule
from tests.agent.scripted_hub import HUB_ID

KINDS = ("AppWrapper", "JobSet", "PyTorchJob", "RayJob", "SparkApplication")
SERVICES = ("LeaderWorkerSet", "RayCluster", "RayService")
RESOURCES = {
    "JobSet": "jobsets.jobset.x-k8s.io",
    "PyTorchJob": "pytorchjobs.kubeflow.org",
    "RayJob": "rayjobs.ray.io",
    "LeaderWorkerSet": "leaderworkersets.leaderworkerset.x-k8s.io",
    "RayCluster": "rayclusters.ray.io",
    "RayService": "rayservices.ray.io",
    "SparkApplication": "sparkapplications.sparkoperator.k8s.io",
    "AppWrapper": "appwrappers.workload.codeflare.dev",
}
API = {
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "PyTorchJob": "kubeflow.org/v1",
    "RayJob": "ray.io/v1",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "RayCluster": "ray.io/v1",
    "RayService": "ray.io/v1",
    "SparkApplication": "sparkoperator.k8s.io/v1beta2",
    "AppWrapper": "workload.codeflare.dev/v1beta2",
}
HELD_AT = {
    "JobSet": "/spec/suspend",
    "PyTorchJob": "/spec/runPolicy/suspend",
    "RayJob": "/spec/suspend",
    "LeaderWorkerSet": "/spec/replicas",
    "RayCluster": "/spec/suspend",
    "RayService": "/spec/rayClusterConfig/suspend",
    "SparkApplication": "/spec/suspend",
    "AppWrapper": "/spec/suspend",
}


def a_template(uid, epoch, run_seconds, exit_code=0):
    """A pod template with our labels and variables."""
    marks = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: uid, labels.EPOCH: str(epoch)}
    env = [
        {"name": labels.JOB_UID_VARIABLE, "value": uid},
        {"name": labels.EPOCH_VARIABLE, "value": str(epoch)},
    ]
    sim = {labels.SIM_RUN_SECONDS: str(run_seconds), labels.SIM_EXIT_CODE: str(exit_code)}
    container = {
        "name": "main",
        "image": "busybox:1.36",
        "env": env,
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    }
    return {
        "metadata": {"labels": marks, "annotations": sim},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


def _job_set(uid, epoch, run_seconds, exit_code):
    def replicated(name, replicas):
        template = a_template(uid, epoch, run_seconds, exit_code)
        spec = {"parallelism": 1, "completions": 1, "backoffLimit": 0, "template": template}
        return {"name": name, "replicas": replicas, "template": {"spec": spec}}

    spec = {"suspend": False, "replicatedJobs": [replicated("lead", 1), replicated("work", 2)]}
    at = "/spec/replicatedJobs/{}/template/spec/template"
    return spec, [at.format(0), at.format(1)], 3


def _training(uid, epoch, run_seconds, exit_code):
    template = a_template(uid, epoch, run_seconds, exit_code)
    roles = {"Master": {"template": template}, "Worker": {"replicas": 2, "template": template}}
    at = "/spec/pytorchReplicaSpecs/{}/template"
    return (
        {"runPolicy": {"suspend": False}, "pytorchReplicaSpecs": roles},
        [
            at.format("Master"),
            at.format("Worker"),
        ],
        3,
    )


def _ray_job(uid, epoch, run_seconds, exit_code):
    ray = a_template(uid, epoch, 600)
    cluster = {
        "headGroupSpec": {"template": ray},
        "workerGroupSpecs": [{"groupName": "small", "replicas": 2, "template": ray}],
    }
    spec = {
        "suspend": False,
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": cluster,
        "submitterPodTemplate": a_template(uid, epoch, run_seconds, exit_code),
    }
    at = "/spec/rayClusterSpec/"
    templates = [f"{at}headGroupSpec/template", f"{at}workerGroupSpecs/0/template"]
    return spec, [*templates, "/spec/submitterPodTemplate"], 4


def _leader_worker_set(uid, epoch, *_):
    """Two groups of a leader and two workers, which serve until they are deleted."""
    group = {"size": 3, "workerTemplate": _serving(uid, epoch)}
    group["leaderTemplate"] = _serving(uid, epoch)
    at = "/spec/leaderWorkerTemplate/{}Template"
    spec = {"replicas": 2, "leaderWorkerTemplate": group}
    return spec, [at.format("leader"), at.format("worker")], 6


def _spark(uid, epoch, run_seconds, exit_code):
    roles = {
        "driver": {"memory": "512m", "template": a_template(uid, epoch, run_seconds, exit_code)},
        "executor": {"memory": "512m", "instances": 2, "template": a_template(uid, epoch, 600)},
    }
    return {"suspend": False, **roles}, ["/spec/driver/template", "/spec/executor/template"], 3


def _wrapper(uid, epoch, run_seconds, exit_code):
    """A Pod, and a JobSet of three."""
    pod = {"apiVersion": "v1", "kind": "Pod", **a_template(uid, epoch, run_seconds, exit_code)}
    pod["metadata"]["name"] = "parent-pod"
    spec, templates, pods = _job_set(uid, epoch, run_seconds, exit_code)
    inner = {"apiVersion": API["JobSet"], "kind": "JobSet", "metadata": {"name": "parent-set"}}
    components = [{"template": pod}, {"template": {**inner, "spec": spec}}]
    at = "/spec/components/{}/template"
    return (
        {"suspend": False, "components": components},
        [at.format(0), *(at.format(1) + each for each in templates)],
        pods + 1,
    )


def _ray_cluster(uid, epoch, *_):
    ray = _serving(uid, epoch)
    spec = {
        "suspend": False,
        "headGroupSpec": {"template": ray},
        "workerGroupSpecs": [{"groupName": "small", "replicas": 2, "template": ray}],
    }
    return spec, ["/spec/headGroupSpec/template", "/spec/workerGroupSpecs/0/template"], 3


def _ray_service(uid, epoch, *_):
    cluster, templates, pods = _ray_cluster(uid, epoch)
    at = "/spec/rayClusterConfig"
    return (
        {"rayClusterConfig": cluster},
        [each.replace("/spec", at, 1) for each in templates],
        pods,
    )


def _serving(uid, epoch):
    made = a_template(uid, epoch, 0)
    del made["metadata"]["annotations"]
    made["spec"]["restartPolicy"] = "Always"
    return made


_SPECS = {
    "AppWrapper": _wrapper,
    "JobSet": _job_set,
    "PyTorchJob": _training,
    "RayJob": _ray_job,
    "SparkApplication": _spark,
    "LeaderWorkerSet": _leader_worker_set,
    "RayCluster": _ray_cluster,
    "RayService": _ray_service,
}
_SCALED = frozenset({"LeaderWorkerSet"})  # held at 0 replicas


def a_rule(kind, templates=(), pods=0, replicas=2):
    path, scaled = HELD_AT[kind], kind in _SCALED
    return KindRule(
        definition=kind.lower(),
        held=[FieldValue(path=path, value=0 if scaled else True)],
        run=[FieldValue(path=path, value=replicas if scaled else False)],
        templates=list(templates),
        pods=pods,
        scale=path if scaled else "",
    )


def a_parent(
    kind="JobSet",
    uid="u-1",
    name="parent",
    *,
    epoch=1,
    generation=1,
    action="Apply",
    run_seconds="0.2",
    exit_code=0,
    **fields,
):
    """The work of an object of this kind."""
    spec, templates, pods = _SPECS[kind](uid, epoch, run_seconds, exit_code)
    marks = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: uid, labels.EPOCH: str(epoch)}
    notes = {labels.GENERATION: str(generation), labels.SPEC_HASH: f"h{epoch}.{generation}"}
    manifest = {
        "apiVersion": API[kind],
        "kind": kind,
        "metadata": {"name": name, "namespace": "team", "labels": marks, "annotations": notes},
        "spec": spec,
    }
    given = {"kind_rule": a_rule(kind, templates, pods), "when_to_take_over": "Never", **fields}
    return Work(
        uid=uid,
        epoch=epoch,
        generation=generation,
        action=action,
        api_version=API[kind],
        kind=kind,
        namespace="team",
        name=name,
        hash="" if action == "Withdraw" else f"h{epoch}.{generation}",
        manifest=manifest if action == "Apply" else None,
        **given,
    )


def written_by(manager, metadata):
    """The entry of who has written all labels and annotations."""
    parts: dict[str, object] = {
        f"f:{part}": {f"f:{name}": {} for name in metadata.get(part) or ()}
        for part in ("labels", "annotations")
    }
    return [{"manager": manager, "operation": "Update", "fieldsV1": {"f:metadata": parts}}]


def created(kind="JobSet", **fields):
    """The object as the agent creates it, in the member."""
    made = unstarted(a_parent(kind, **fields), HUB_ID)
    metadata = {**made["metadata"], "uid": "m-1", "resourceVersion": "7", "generation": 1}
    metadata["managedFields"] = written_by(labels.FIELD_MANAGER, metadata)
    return {**made, "metadata": metadata}


def serve_in(member, kind, *versions):
    """Have the member serve a kind in these versions alone; objects stay, as with an upgraded operator."""
    crds, name = "customresourcedefinitions.apiextensions.k8s.io", RESOURCES[kind]
    crd = member.cluster.store.get(crds, "", name)
    known = {each["name"]: each for each in crd["spec"]["versions"]}
    model = crd["spec"]["versions"][0]
    every = [*dict.fromkeys((*versions, *known))]
    told = [
        {
            **known.get(each, {**model, "name": each}),
            "served": each in versions,
            "storage": each == every[0],
        }
        for each in every
    ]
    spec = {**crd["spec"], "versions": told}
    member.cluster.store.update(crds, {**crd, "spec": spec})
