"""Pods of a SparkApplication, which has no templates: cores, Java amounts of memory, Spark's overhead. Pure.

Overhead is `memoryOverhead`, else the larger of 384 MiB and the factor times the memory. The factor is
`memoryOverheadFactor`, else 0.1, 0.4 for Python and R (`spark.kubernetes.memoryOverheadFactor`; Kueue 0.20).
"""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.workkinds.plugins.call import PluginCall, mapping, mappings
from shared.workkinds.pod_sets import DescribedPods

_LEAST_OVERHEAD_MIB: Final = 384
_DEFAULT_MEMORY: Final = "1g"
_JAVA_AMOUNT: Final = re.compile(
    r"([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([kmgtp]?)(?:i?b)?", re.IGNORECASE
)
_MIB: Final = {
    "k": Decimal(1) / 1024, "": Decimal(1), "m": Decimal(1), "g": Decimal(1024),
    "t": Decimal(1024**2), "p": Decimal(1024**3),
}  # fmt: skip


def spark(call: PluginCall) -> DescribedPods:
    """`driver`, 1, and `executor`, as many as `instances` says, 0 where it does not."""
    spec = mapping(dict(call.view.obj), "spec")
    made = DescribedPods()
    made.add("driver", 1, _pod(spec, "driver"))
    instances = mapping(spec, "executor").get("instances")
    if instances is None:
        instances = 0
    if isinstance(instances, bool) or not isinstance(instances, int) or instances < 0:
        rule = "spec.executor.instances must be a whole number, 0 or more"
        raise Rejected(RejectCode.INVALID_NUMBER, rule, "spec.executor.instances")
    made.add("executor", instances, _pod(spec, "executor"))
    return made


def _pod(spec: Mapping[str, Any], role: str) -> dict[str, Any]:
    said = mapping(spec, role)
    template = mapping(said, "template", "spec")
    requests: dict[str, Any] = {
        **_further(template),
        "cpu": said.get("coreRequest") or said.get("cores") or 1,
        "memory": f"{_memory_mib(spec, said, role)}Mi",
    }
    gpu = mapping(said, "gpu")
    if gpu.get("name") and gpu.get("quantity"):
        requests[str(gpu["name"])] = gpu["quantity"]
    main = {"name": f"spark-{role}", "resources": {"requests": requests}}
    pod: dict[str, Any] = {
        **template,
        "containers": [main, *mappings(template, "containers")[1:], *mappings(said, "sidecars")],
        "initContainers": [
            *mappings(template, "initContainers"),
            *mappings(said, "initContainers"),
        ],
    }
    for name in ("nodeSelector", "tolerations", "affinity", "priorityClassName"):
        if said.get(name) is not None:
            pod[name] = said[name]
    if not pod.get("nodeSelector") and spec.get("nodeSelector"):
        pod["nodeSelector"] = spec["nodeSelector"]
    return pod


def _further(template: Mapping[str, Any]) -> dict[str, Any]:
    """Resources besides cpu and memory of the template's first container, which Spark makes its own."""
    first = next(iter(mappings(template, "containers")), {})
    asked = {**mapping(first, "resources", "limits"), **mapping(first, "resources", "requests")}
    return {name: amount for name, amount in asked.items() if name not in ("cpu", "memory")}


def _memory_mib(spec: Mapping[str, Any], said: Mapping[str, Any], role: str) -> int:
    field = f"spec.{role}"
    memory = _mib(said.get("memory") or _DEFAULT_MEMORY, f"{field}.memory")
    if said.get("memoryOverhead"):
        return _up(memory + _mib(said["memoryOverhead"], f"{field}.memoryOverhead"))
    overhead = max(int(memory * _factor(spec)), _LEAST_OVERHEAD_MIB)
    return _up(memory + overhead)


def _up(amount: Decimal) -> int:
    return -int(-amount // 1)


def _factor(spec: Mapping[str, Any]) -> Decimal:
    said = spec.get("memoryOverheadFactor")
    if said is None:
        return Decimal("0.4") if spec.get("type") in ("Python", "R") else Decimal("0.1")
    try:
        factor = Decimal(str(said))
    except InvalidOperation:
        factor = Decimal(-1)
    if not 0 <= factor <= 100:
        rule = "spec.memoryOverheadFactor must be a number, 0 or more"
        raise Rejected(RejectCode.INVALID_NUMBER, rule, "spec.memoryOverheadFactor")
    return factor


def _mib(text: object, field: str) -> Decimal:
    """A Java amount of memory; one without a unit is in MiB."""
    match = _JAVA_AMOUNT.fullmatch(str(text).strip()[:32])
    if match is None:
        rule = f"{field} must be an amount of memory as Java writes it, such as 512m or 2g"
        raise Rejected(RejectCode.INVALID_QUANTITY, rule, field)
    return Decimal(match[1]) * _MIB[match[2].lower()]
