"""What the operator of Spark makes of a SparkApplication: a driver, executors once it runs. Pure.

Spark itself makes the executors, as children of the driver; here they are the application's.
"""

from collections.abc import Mapping
from typing import Any, Final

from shared.kubesim.operators.parts import (
    Object,
    OperatorChild,
    is_suspended,
    phase_of,
    pod_child,
)

SPARK: Final = "sparkapplications.sparkoperator.k8s.io"
_ENDS: Final = frozenset({"COMPLETED", "FAILED", "SUBMISSION_FAILED"})
_MIB: Final = {"k": 1 / 1024, "m": 1.0, "g": 1024.0}
_OVERHEAD_MIB: Final = 384


def _driver(app: Object) -> str:
    return f"{app['metadata']['name']}-driver"


def pods_of_spark(app: Object, there: Mapping[str, Object]) -> list[OperatorChild]:
    """The driver; the executors while it runs."""
    spec, name = app["spec"], app["metadata"]["name"]
    driver = _pod(spec, "driver", _driver(app))
    if phase_of(there.get(_driver(app)) or {}) != "Running":
        return [driver]
    number = (spec.get("executor") or {}).get("instances") or 0
    return [driver, *(_pod(spec, "executor", f"{name}-exec-{n + 1}") for n in range(number))]


def _pod(spec: Object, role: str, name: str) -> OperatorChild:
    """A pod by the template, whose first container gets image, cpu and memory of the role.

    Labels and annotations of the role go over those of the template, as Spark writes them.
    """
    said = spec.get(role) or {}
    template = said.get("template") or {}
    pod = template.get("spec") or {}
    first, *others = pod.get("containers") or [{"name": f"spark-kubernetes-{role}"}]
    requests = {
        **((first.get("resources") or {}).get("requests") or {}),
        "cpu": str(said.get("coreRequest") or said.get("cores") or 1),
        "memory": f"{_mib(said.get('memory') or '1g') + _OVERHEAD_MIB}Mi",
    }
    image = said.get("image") or spec.get("image") or "spark"
    main = {**first, "image": image, "resources": {"requests": requests}}
    made = {"restartPolicy": "Never", **pod, "containers": [main, *others]}
    given = template.get("metadata") or {}
    marks = {
        part: {**(given.get(part) or {}), **said[part]}
        for part in ("labels", "annotations")
        if said.get(part)
    }
    return pod_child({**template, "metadata": {**given, **marks}, "spec": made}, name)


def _mib(amount: Any) -> int:
    text = str(amount).lower().rstrip("b").rstrip("i")
    unit = text[-1:]
    return int(float(text[:-1]) * _MIB[unit]) if unit in _MIB else int(text)


def status_of_spark(app: Object, there: Mapping[str, Object], at: str) -> Object:
    """`applicationState`, by the driver's phase; the states of the executors."""
    if is_suspended(app):
        return {"applicationState": {"state": "SUSPENDING" if there else "SUSPENDED"}}
    driver = there.get(_driver(app))
    executors = {
        name: phase_of(pod).upper() for name, pod in there.items() if name != _driver(app)
    }
    told: Object = {"executorState": executors, "driverInfo": {"podName": _driver(app)}}
    phase = phase_of(driver or {})
    states = {"Pending": "SUBMITTED", "Succeeded": "COMPLETED"}
    told["applicationState"] = {"state": states.get(phase, phase.upper())}
    if phase == "Failed":
        told["applicationState"]["errorMessage"] = "driver container failed"
    if phase in ("Succeeded", "Failed"):
        told["terminationTime"] = at
    return told


def has_ended_spark(app: Object) -> bool:
    """Whether its state is one of the last ones."""
    told = (app.get("status") or {}).get("applicationState") or {}
    return told.get("state") in _ENDS


def leaves_driver(_: str, name: str) -> bool:
    """Executors end with the driver, whose pod stays for its log."""
    return name.endswith("-driver")
