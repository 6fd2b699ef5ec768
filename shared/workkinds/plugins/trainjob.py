"""Pod sets of a TrainJob: the replicated jobs of its runtime, merged with what the job says. Pure.

The runtime is another object; without it the TrainJob waits. The step of the trainer has `numNodes` pods; of
MPI the job `node` has them, one fewer where the launcher is a node as well.
"""

import copy
from typing import Any, Final

from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.workkinds.plugins.call import Json, NotYet, PluginCall, mapping, mappings
from shared.workkinds.pod_sets import DescribedPods

_STEP: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINER: Final = "trainer"
_NODE: Final = "node"
_BY_NAME: Final = frozenset({"containers", "initContainers", "replicatedJobs", "volumes", "env"})


def trainjob(call: PluginCall) -> DescribedPods:
    """A pod set for each replicated job of the runtime."""
    job: Json = dict(call.view.obj)
    runtime = _runtime(call, job)
    policy = mapping(runtime, "spec", "mlPolicy")
    nodes = _whole(_first(mapping(job, "spec", "trainer"), policy, "numNodes"), "numNodes")
    made = DescribedPods()
    for each in mappings(_merged(job, runtime), "replicatedJobs"):
        name = str(each.get("name") or "")
        template = mapping(each, "template")
        labels = mapping(template, "metadata", "labels")
        is_trainer = labels.get(_STEP) == _TRAINER
        spec = copy.deepcopy(dict(mapping(template, "spec", "template", "spec")))
        if is_trainer or name == _NODE:
            _set_resources(spec, mapping(job, "spec", "trainer", "resourcesPerNode"))
        if "mpi" in policy and policy["mpi"] is not None:
            count = _mpi_count(name, nodes, mapping(policy, "mpi")) or _own_count(each)
        else:
            count = (
                nodes * _whole(each.get("replicas"), "replicas")
                if is_trainer
                else _own_count(each)
            )
        if not mappings(spec, "containers"):
            raise Rejected(RejectCode.INVALID_VALUE, f"replicated job {name} has no pod spec")
        made.add(name, count, spec)
    if not made.pod_sets:
        raise Rejected(RejectCode.INVALID_VALUE, "its runtime has no replicated jobs")
    return made


def _runtime(call: PluginCall, job: Json) -> Json:
    reference = mapping(job, "spec", "runtimeRef")
    kind = str(reference.get("kind") or "ClusterTrainingRuntime")
    name = str(reference.get("name") or "")
    namespace = mapping(job, "metadata").get("namespace") or "default"
    found = call.find(kind, str(namespace) if kind == "TrainingRuntime" else "", name)
    if found is None:
        raise NotYet(f"{kind} {name} is not here: the pods of a TrainJob come from it")
    return found


def _merged(job: Json, runtime: Json) -> Json:
    """The template of the runtime with the patches of the job, in order."""
    made = copy.deepcopy(dict(mapping(runtime, "spec", "template", "spec")))
    for patch in mappings(job, "spec", "runtimePatches"):
        _merge(made, mapping(patch, "trainingRuntimeSpec", "template", "spec"))
    for override in mappings(job, "spec", "podTemplateOverrides"):
        targets = {each.get("name") for each in mappings(override, "targetJobs")}
        for each in mappings(made, "replicatedJobs"):
            if each.get("name") in targets or not targets:
                pod = {"template": {"spec": {"template": {"spec": mapping(override, "spec")}}}}
                _merge(dict_of(each), pod)
    return made


def dict_of(value: Json) -> dict[str, Any]:
    """The object itself, to be changed: it is part of a copy."""
    assert isinstance(value, dict)
    return value


def _merge(into: dict[str, Any], patch: Json) -> None:
    """Objects merge by key, lists of named things by name; anything else is replaced."""
    for key, value in patch.items():
        own = into.get(key)
        if isinstance(own, dict) and isinstance(value, dict):
            _merge(own, value)
        elif key in _BY_NAME and isinstance(own, list) and isinstance(value, list):
            _merge_named(own, value)
        else:
            into[key] = copy.deepcopy(value)


def _merge_named(own: list[Any], patches: list[Any]) -> None:
    by_name = {each.get("name"): each for each in own if isinstance(each, dict)}
    for each in patches:
        if not isinstance(each, dict):
            continue
        if each.get("name") in by_name:
            _merge(by_name[each.get("name")], each)
        else:
            own.append(copy.deepcopy(each))


def _set_resources(spec: dict[str, Any], resources: Json) -> None:
    """What the job asks for each node goes to the container `node`, else to the first."""
    containers = mappings(spec, "containers")
    named = [each for each in containers if each.get("name") == _NODE] or containers[:1]
    for each in named:
        said = dict_of(each).setdefault("resources", {})
        for part in ("requests", "limits"):
            if isinstance(said, dict) and resources.get(part):
                said[part] = resources[part]


def _mpi_count(name: str, nodes: int, mpi: Json) -> int | None:
    if name != _NODE:
        return None
    return max(nodes - 1, 1) if mpi.get("runLauncherAsNode") is True else nodes


def _own_count(replicated: Json) -> int:
    spec = mapping(replicated, "template", "spec")
    parallelism = _whole(spec.get("parallelism"), "parallelism")
    completions = _whole(spec.get("completions"), "completions", parallelism)
    return _whole(replicated.get("replicas"), "replicas") * min(parallelism, completions)


def _first(one: Json, other: Json, name: str) -> object:
    return one.get(name) if one.get(name) is not None else other.get(name)


def _whole(value: object, field: str, default: int = 1) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Rejected(RejectCode.INVALID_NUMBER, f"{field} must be a whole number, 0 or more")
    return value
