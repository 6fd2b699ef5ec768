"""Rules of the containers of a pod template: names, images, resources, environment, ports."""

import re
from collections.abc import Mapping
from typing import Any, Final

from shared import quantity
from shared.errors import Rejected
from shared.kinds import names, shapes
from shared.kinds.problems import Problems, is_mapping, join, objects
from shared.quantity import shown
from shared.reject_codes import RejectCode

MOST_CONTAINERS: Final = 1000
LONGEST_IMAGE: Final = 1024
INT32: Final = 2**31 - 1

CONTAINER_FIELDS: Final = frozenset(
    {
        "args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle",
        "livenessProbe", "name", "ports", "readinessProbe", "resizePolicy", "resources",
        "restartPolicy", "restartPolicyRules", "securityContext", "startupProbe", "stdin",
        "stdinOnce", "terminationMessagePath", "terminationMessagePolicy", "tty", "volumeDevices",
        "volumeMounts", "workingDir",
    }
)  # fmt: skip
_PLAIN_FIELDS: Final = frozenset({"name", "image", "command", "args", "resources"})
_RESOURCES: Final = frozenset({"limits", "requests", "claims"})
_ENV: Final = frozenset({"name", "value", "valueFrom"})
_PORT: Final = frozenset({"containerPort", "hostIP", "hostPort", "name", "protocol"})
_IMAGE: Final = re.compile(r"[!-~]+")


def check_containers(
    spec: Mapping[str, Any], field: str, problems: Problems
) -> list[tuple[str, str]]:
    """All containers of a pod; gives the volume mounts found, as (path, volume name)."""
    seen: set[str] = set()
    mounted: list[tuple[str, str]] = []
    app = spec.get("containers")
    if app is None or app == []:
        problems.add(
            f"{field}.containers", RejectCode.REQUIRED, "at least one container is required"
        )
    for path, container in objects(app, f"{field}.containers", problems, MOST_CONTAINERS):
        _check_container(container, path, problems, seen, mounted)
    if "initContainers" in spec:
        path = f"{field}.initContainers"
        for where, container in objects(spec["initContainers"], path, problems, MOST_CONTAINERS):
            _check_container(container, where, problems, seen, mounted)
            if container.get("restartPolicy") not in (None, "Always", "Never", "OnFailure"):
                rule = "must be Always, for a sidecar, or absent"
                problems.add(f"{where}.restartPolicy", RejectCode.INVALID_RESTART_POLICY, rule)
    if spec.get("ephemeralContainers"):
        rule = "can only be added to a running pod"
        problems.add(f"{field}.ephemeralContainers", RejectCode.FORBIDDEN_FIELD, rule)
    return mounted


def _check_container(
    container: Mapping[str, Any],
    field: str,
    problems: Problems,
    seen: set[str],
    mounted: list[tuple[str, str]],
) -> None:
    name = container.get("name")
    if name is None or name == "":
        problems.add(f"{field}.name", RejectCode.REQUIRED, "every container has a name")
    elif not names.is_dns_label(name):
        problems.add(
            f"{field}.name", RejectCode.INVALID_NAME, f"{shown(name)}: {names.LABEL_RULE}"
        )
    elif name in seen:
        problems.add(f"{field}.name", RejectCode.DUPLICATE, f"a second container is called {name}")
    else:
        seen.add(name)
    _check_image(container.get("image"), f"{field}.image", problems)
    for part in ("command", "args"):
        words = container.get(part)
        if words is not None and not (
            isinstance(words, list) and all(isinstance(word, str) for word in words)
        ):
            problems.add(f"{field}.{part}", RejectCode.INVALID_TYPE, "must be a list of strings")
    resources = container.get("resources")
    if resources is not None:
        check_resources(resources, f"{field}.resources", problems)
    if not container.keys() <= _PLAIN_FIELDS:
        _check_rest(container, field, problems, mounted)


def _check_image(image: object, field: str, problems: Problems) -> None:
    if isinstance(image, str) and len(image) <= LONGEST_IMAGE and _IMAGE.fullmatch(image):
        return
    rule = f"must be 1 to {LONGEST_IMAGE} characters without spaces or control characters"
    problems.add(field, RejectCode.INVALID_IMAGE, f"{shown(image)}: {rule}" if image else rule)


def _check_rest(
    container: Mapping[str, Any], field: str, problems: Problems, mounted: list[tuple[str, str]]
) -> None:
    problems.unknown(container, CONTAINER_FIELDS, field)
    pull = container.get("imagePullPolicy")
    if pull not in (None, "", "Always", "IfNotPresent", "Never"):
        rule = "must be Always, IfNotPresent or Never"
        problems.add(f"{field}.imagePullPolicy", RejectCode.UNSUPPORTED_VALUE, rule)
    _check_env(container, field, problems)
    if container.get("ports") is not None:
        _check_ports(container, field, problems)
    for path, mount in objects(container.get("volumeMounts"), f"{field}.volumeMounts", problems):
        volume = mount.get("name")
        if isinstance(volume, str) and volume:
            mounted.append((f"{path}.name", volume))
        else:
            problems.add(f"{path}.name", RejectCode.REQUIRED, "a mount names a volume")
        if not isinstance(mount.get("mountPath"), str) or not mount["mountPath"]:
            problems.add(f"{path}.mountPath", RejectCode.REQUIRED, "a mount has a path")
    shapes.check_fields(container, "Container", field, problems)


def _check_env(container: Mapping[str, Any], field: str, problems: Problems) -> None:
    env = container.get("env")
    if not env or (isinstance(env, list) and all(map(_is_plain_variable, env))):
        return
    for path, entry in objects(env, f"{field}.env", problems):
        if not entry.keys() <= _ENV:
            problems.unknown(entry, _ENV, path)
        name = entry.get("name")
        if not names.is_environment_name(name):
            problems.add(
                f"{path}.name", RejectCode.INVALID_NAME, "must be printable and without '='"
            )
        value = entry.get("value")
        if value is not None and not isinstance(value, str):
            problems.add(
                f"{path}.value", RejectCode.INVALID_TYPE, "must be a string; put it in quotes"
            )
        if value and entry.get("valueFrom"):
            problems.add(
                f"{path}.valueFrom", RejectCode.MUTUALLY_EXCLUSIVE, "value is given as well"
            )


def _is_plain_variable(entry: object) -> bool:
    """True if this is a name and a text and nothing else, as nearly all are."""
    if not isinstance(entry, dict) or len(entry) != 2:
        return False
    name, value = entry.get("name"), entry.get("value")
    return isinstance(value, str) and names.is_environment_name(name)


def _check_ports(container: Mapping[str, Any], field: str, problems: Problems) -> None:
    seen: set[object] = set()
    for path, port in objects(container.get("ports"), f"{field}.ports", problems):
        problems.unknown(port, _PORT, path)
        if port.get("containerPort") is None:
            problems.add(f"{path}.containerPort", RejectCode.REQUIRED, "a port has a number")
        for name in ("containerPort", "hostPort"):
            least = 1 if name == "containerPort" else 0
            check_whole(port.get(name), f"{path}.{name}", problems, least=least, most=65535)
        if port.get("protocol") not in (None, "", "TCP", "UDP", "SCTP"):
            problems.add(
                f"{path}.protocol", RejectCode.UNSUPPORTED_VALUE, "must be TCP, UDP or SCTP"
            )
        called = port.get("name")
        if called and called in seen:
            problems.add(
                f"{path}.name", RejectCode.DUPLICATE, f"a second port is called {shown(called)}"
            )
        seen.add(called if isinstance(called, str) else None)


def check_resources(value: object, field: str, problems: Problems) -> None:
    """Requests and limits: amounts, no request above its limit, extended ones whole and equal."""
    if not isinstance(value, dict):
        is_mapping(value, field, problems)
        return
    if not value.keys() <= _RESOURCES:
        problems.unknown(value, _RESOURCES, field)
    asked = _amounts(value.get("requests"), f"{field}.requests", problems)
    limits = _amounts(value.get("limits"), f"{field}.limits", problems)
    if value.get("claims") is not None:
        shapes.check_fields(value, "ResourceRequirements", field, problems)
    for name, amount in asked.items():
        limit = limits.get(name)
        path = join(f"{field}.requests", name)
        if names.is_extended_resource(name) or name.startswith("hugepages-"):
            if limit is None and name not in (value.get("limits") or ()):
                problems.add(
                    path,
                    RejectCode.EXTENDED_MISMATCH,
                    f"{name} needs a limit equal to the request",
                )
            elif limit is not None and limit != amount:
                problems.add(
                    path,
                    RejectCode.EXTENDED_MISMATCH,
                    f"request and limit of {name} must be equal",
                )
        elif limit is not None and amount > limit:
            problems.add(
                path, RejectCode.REQUEST_ABOVE_LIMIT, f"the request of {name} exceeds its limit"
            )


def check_amounts(value: Mapping[str, Any], field: str, problems: Problems) -> None:
    """A resource list: names and amounts."""
    _amounts(value, field, problems)


def _amounts(value: object, field: str, problems: Problems) -> dict[str, int]:
    """The amounts of a resource list, in nanos; faulty entries are noted and left out."""
    if value is None or not isinstance(value, dict):
        is_mapping(value, field, problems)
        return {}
    amounts = {}
    for name, text in value.items():
        if not names.is_resource_name(name) or name == "pods":
            rule = f"{shown(name)} is no resource: cpu, memory, or one with a prefix such as nvidia.com/gpu"
            problems.add(join(field, name), RejectCode.INVALID_RESOURCE_NAME, rule)
            continue
        try:
            amount = quantity.nanos(text)
            quantity.from_nanos(name, amount, text=text)
        except Rejected as refusal:
            problems.add(join(field, name), refusal.code, refusal.detail)
            continue
        if amount % quantity.NANO and names.is_extended_resource(name):
            rule = f"{shown(text)}: {name} is counted in whole units"
            problems.add(join(field, name), RejectCode.FRACTIONAL_EXTENDED, rule)
            continue
        amounts[name] = amount
    return amounts


def check_whole(
    value: object, field: str, problems: Problems, *, least: int = 0, most: int = INT32
) -> bool:
    """True if `value` is absent or a whole number within bounds; notes it otherwise."""
    if value is None:
        return True
    if isinstance(value, bool) or not isinstance(value, int):
        problems.add(field, RejectCode.INVALID_TYPE, "must be a whole number")
        return False
    if not least <= value <= most:
        problems.add(field, RejectCode.OUT_OF_RANGE, f"{value} is not between {least} and {most}")
        return False
    return True
