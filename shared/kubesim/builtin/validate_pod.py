"""Validation of a pod's or a pod template's spec: required parts, names, enumerations, amounts.

A part of Kubernetes' ValidatePodSpec (pkg/apis/core/validation): what people get wrong in practice.
Shapes (a list where a list belongs) are checked before, against the schema.
"""

from collections.abc import Iterable
from typing import Any

from shared import quantity
from shared.errors import Rejected
from shared.kinds import names
from shared.kubesim.apimachinery import errors
from shared.kubesim.apimachinery.errors import Cause

_RESTART = ("Always", "OnFailure", "Never")
_PULL = ("Always", "IfNotPresent", "Never")
_DNS = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_EFFECTS = ("NoExecute", "NoSchedule", "PreferNoSchedule")
_OPERATORS = ("Equal", "Exists")
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must"
    " start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for"
    " validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")


def spec_faults(spec: dict[str, Any], field: str, claims: Iterable[str] = ()) -> list[Cause]:
    """All faults of a pod spec, `field` being its path. `claims`: names of its set's claim templates."""
    causes: list[Cause] = []
    containers = spec.get("containers") or []
    if not containers:
        causes.append(errors.required(f"{field}.containers"))
    names: set[str] = set()
    volumes = {volume.get("name") for volume in spec.get("volumes") or ()} | set(claims)
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(kind) or ()):
            where = f"{field}.{kind}[{index}]"
            causes += _container_faults(container, where, volumes)
            name = container.get("name")
            if name and name in names:
                causes.append(errors.duplicate(f"{where}.name", name))
            names.add(name)
    causes += _choice_faults(spec, field)
    causes += _volume_faults(spec.get("volumes") or (), field)
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        causes += _toleration_faults(toleration, f"{field}.tolerations[{index}]")
    for name, least in (("terminationGracePeriodSeconds", 0), ("activeDeadlineSeconds", 1)):
        value = spec.get(name)
        if value is not None and value < least:
            why = f"must be greater than or equal to {least}"
            causes.append(errors.bad_value(f"{field}.{name}", value, why))
    return causes


def _choice_faults(spec: dict[str, Any], field: str) -> Iterable[Cause]:
    for name, allowed in (("restartPolicy", _RESTART), ("dnsPolicy", _DNS)):
        value = spec.get(name)
        if value is not None and value not in allowed:
            yield errors.not_supported(f"{field}.{name}", value, allowed)


def _container_faults(container: dict[str, Any], where: str, volumes: set[Any]) -> list[Cause]:
    causes: list[Cause] = []
    name = container.get("name")
    if not name:
        causes.append(errors.required(f"{where}.name"))
    elif not names.is_dns_label(name):
        causes.append(errors.bad_value(f"{where}.name", name, _LABEL_RULE))
    image = container.get("image")
    if not image:
        causes.append(errors.required(f"{where}.image"))
    elif image != image.strip():
        why = "must not have leading or trailing whitespace"
        causes.append(errors.bad_value(f"{where}.image", image, why))
    policy = container.get("imagePullPolicy")
    if policy and policy not in _PULL:
        causes.append(errors.not_supported(f"{where}.imagePullPolicy", policy, _PULL))
    for index, variable in enumerate(container.get("env") or ()):
        causes += _variable_faults(variable, f"{where}.env[{index}]")
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        causes += _mount_faults(mount, f"{where}.volumeMounts[{index}]", volumes)
    for kind in _PROBES:
        causes += _probe_faults(container.get(kind), f"{where}.{kind}")
    causes += _port_faults(container.get("ports") or (), where)
    causes += resource_faults(container.get("resources") or {}, f"{where}.resources")
    return causes


def _port_faults(ports: Iterable[dict[str, Any]], where: str) -> Iterable[Cause]:
    for index, port in enumerate(ports):
        number, field = port.get("containerPort"), f"{where}.ports[{index}].containerPort"
        if number is None:
            yield errors.required(field)
        elif not 0 < number < 65536:
            yield errors.bad_value(field, number, "must be between 1 and 65535, inclusive")


def _probe_faults(probe: dict[str, Any] | None, where: str) -> Iterable[Cause]:
    """One handler, and the port that it asks (ValidateProbe, validateHandler)."""
    if probe is None:
        return
    handlers = [kind for kind in _HANDLERS if probe.get(kind) is not None]
    if not handlers:
        yield errors.required(where, "must specify a handler type")
    for kind in handlers[1:]:
        why = "may not specify more than 1 handler type"
        yield errors.forbidden_field(f"{where}.{kind}", why)
    for kind in handlers[:1]:
        port = probe[kind].get("port")
        if kind == "exec" and not probe[kind].get("command"):
            yield errors.required(f"{where}.exec.command")
        elif kind != "exec" and isinstance(port, int | None) and not 0 < (port or 0) < 65536:
            why = "must be between 1 and 65535, inclusive"
            yield errors.bad_value(f"{where}.{kind}.port", port or 0, why)


def _variable_faults(variable: dict[str, Any], where: str) -> Iterable[Cause]:
    name = variable.get("name")
    if not name:
        yield errors.required(f"{where}.name")
    elif not names.is_environment_name(name):
        yield errors.bad_value(
            f"{where}.name",
            name,
            "a valid environment variable name must consist only of printable ASCII characters"
            " other than '='",
        )
    if variable.get("value") and variable.get("valueFrom"):
        why = "may not be specified when `value` is not empty"
        yield errors.bad_value(f"{where}.valueFrom", "", why)


def _mount_faults(mount: dict[str, Any], where: str, volumes: set[Any]) -> Iterable[Cause]:
    name = mount.get("name")
    if not name:
        yield errors.required(f"{where}.name")
    elif name not in volumes:
        yield Cause(f"{where}.name", "FieldValueNotFound", f'Not found: "{name}"')
    if not mount.get("mountPath"):
        yield errors.required(f"{where}.mountPath")


def resource_faults(resources: dict[str, Any], where: str) -> list[Cause]:
    """Amounts must parse and not be negative; a request must not exceed its limit."""
    causes: list[Cause] = []
    amounts: dict[tuple[str, str], Any] = {}
    for kind in ("limits", "requests"):
        for name, text in (resources.get(kind) or {}).items():
            field = f"{where}.{kind}[{name}]"
            try:
                amount = quantity.number(text)
            except Rejected:
                why = (
                    "quantities must match the regular expression"
                    " '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                )
                causes.append(errors.bad_value(field, text, why))
                continue
            amounts[kind, name] = amount
            if amount < 0:
                why = "must be greater than or equal to 0"
                causes.append(errors.bad_value(field, text, why))
    for (kind, name), amount in amounts.items():
        limit = amounts.get(("limits", name))
        if kind == "requests" and limit is not None and amount > limit:
            text = resources["requests"][name]
            why = f"must be less than or equal to {name} limit of {resources['limits'][name]}"
            causes.append(errors.bad_value(f"{where}.requests", text, why))
        elif kind == "requests" and limit is None and _needs_a_limit(name):
            why = "Limit must be set for non overcommitable resources"
            causes.append(errors.required(f"{where}.limits", why))
    return causes


def _needs_a_limit(name: str) -> bool:
    """What can not be overcommitted: extended resources and huge pages."""
    return names.is_extended_resource(name) or name.startswith("hugepages-")


def _volume_faults(volumes: Iterable[dict[str, Any]], field: str) -> Iterable[Cause]:
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        name = volume.get("name")
        where = f"{field}.volumes[{index}]"
        if not name:
            yield errors.required(f"{where}.name")
            continue
        if not names.is_dns_label(name):
            yield errors.bad_value(f"{where}.name", name, _LABEL_RULE)
        if name in seen:
            yield errors.duplicate(f"{where}.name", name)
        seen.add(name)


def _toleration_faults(toleration: dict[str, Any], where: str) -> Iterable[Cause]:
    operator = toleration.get("operator") or "Equal"
    if operator not in _OPERATORS:
        yield errors.not_supported(f"{where}.operator", operator, _OPERATORS)
    if not toleration.get("key") and operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield errors.bad_value(f"{where}.operator", operator, why)
    effect = toleration.get("effect")
    if effect and effect not in _EFFECTS:
        yield errors.not_supported(f"{where}.effect", effect, _EFFECTS)
    if operator == "Exists" and toleration.get("value"):
        why = "value must be empty when `operator` is 'Exists'"
        yield errors.bad_value(f"{where}.operator", toleration.get("value"), why)
