"""A pod's requests to its cluster beyond its containers: accounts, tokens, nodes, priority.

A tenant's job runs where and as what the scheduler and the queue say; each exception is an
administrator's to open (`Rules`).
"""

import re
from typing import Any, Final

from shared.errors import FieldError
from shared.podsecurity import removal
from shared.podsecurity.pods import VIOLATION, Found, Json, entries, mapping
from shared.podsecurity.rules import Rules, listed, matches
from shared.quantity import shown
from shared.reject_codes import RejectCode

_CONTROL_PLANE: Final = frozenset(
    {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
)
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_SYSTEM: Final = "system-"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_HIGHEST_PRIORITY: Final = 1_000_000_000  # that users may define; above it is the system's
_PLACEMENT: Final = RejectCode.PLACEMENT_FIELD_FORBIDDEN


def check(spec: Json, namespace: str, rules: Rules, field: str, found: Found) -> None:
    """Add everything that a pod in `namespace` may not ask for to `found`."""
    fields = listed(rules.fields)
    _check_account(spec, namespace, rules, field, found)
    if spec.get("nodeName") and "nodeName" not in fields:
        text = "the scheduler chooses the node"
        found.append(FieldError(f"{field}.nodeName", _PLACEMENT, text))
    if "nodeName" not in fields:
        _check_node_fields(spec, field, found)
    check_scheduler(spec.get("schedulerName"), rules, f"{field}.schedulerName", found)
    _check_tolerations(spec, fields, field, found)
    _check_priority(spec, rules, field, found)
    if spec.get("hostUsers") not in (None, False) and "hostUsers" not in fields:
        text = "hostUsers: must be false or absent"
        found.append(FieldError(f"{field}.hostUsers", VIOLATION, text))
    for name in ("hostAliases", "runtimeClassName", "automountServiceAccountToken"):
        if spec.get(name) and name not in fields:
            found.append(FieldError(f"{field}.{name}", VIOLATION, f"{name}: is not allowed here"))
    _check_volumes(spec, fields, field, found)
    _check_tokens(spec, rules, field, found)
    removal.check_grace(spec, fields, field, found)


def _check_node_fields(spec: Json, field: str, found: Found) -> None:
    """Node affinity by fields: the one field that Kubernetes knows is the node's name."""
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    path = f"{field}.affinity.nodeAffinity"
    required = mapping(affinity.get(_REQUIRED)).get("nodeSelectorTerms")
    terms = list(entries(required, f"{path}.{_REQUIRED}.nodeSelectorTerms"))
    for where, weighed in entries(affinity.get(_PREFERRED), f"{path}.{_PREFERRED}"):
        terms.append((f"{where}.preference", mapping(weighed.get("preference"))))
    for where, term in terms:
        if term.get("matchFields"):
            text = (
                "the scheduler chooses the node; select nodes by their labels, in matchExpressions"
            )
            found.append(FieldError(f"{where}.matchFields", _PLACEMENT, text))


def _check_volumes(spec: Json, fields: frozenset[str], field: str, found: Found) -> None:
    """Volumes by which a pod makes its node run something: a clone as root, a driver's own call."""
    for path, volume in entries(spec.get("volumes"), f"{field}.volumes"):
        if volume.get("gitRepo") is not None:
            text = "gitRepo: the node would clone the repository; clone it in an init container"
            found.append(FieldError(f"{path}.gitRepo", VIOLATION, text))
        if volume.get("csi") is not None and "csi" not in fields:
            text = "csi: inline CSI volumes are not allowed here; use a PersistentVolumeClaim"
            found.append(FieldError(f"{path}.csi", VIOLATION, text))


def _check_account(spec: Json, namespace: str, rules: Rules, field: str, found: Found) -> None:
    allowed = listed(rules.service_accounts)
    for name in ("serviceAccountName", "serviceAccount"):
        account = spec.get(name)
        if account and not (
            isinstance(account, str)
            and ("*" in allowed or account in allowed or f"{namespace}/{account}" in allowed)
        ):
            text = f"{shown(account)} is not among the service accounts that pods here may run as"
            found.append(
                FieldError(f"{field}.{name}", RejectCode.SERVICE_ACCOUNT_NOT_ALLOWED, text)
            )


def _check_tolerations(spec: Json, fields: frozenset[str], field: str, found: Found) -> None:
    for path, toleration in entries(spec.get("tolerations"), f"{field}.tolerations"):
        key = toleration.get("key")
        if not key and "tolerateEverything" not in fields:
            text = "a toleration without key is one of every taint; name the key"
            found.append(FieldError(f"{path}.key", _PLACEMENT, text))
        elif key in _CONTROL_PLANE and "controlPlane" not in fields:
            text = "nodes of the control plane take no jobs"
            found.append(FieldError(f"{path}.key", _PLACEMENT, text))


def _check_priority(spec: Json, rules: Rules, field: str, found: Found) -> None:
    check_class(spec.get("priorityClassName"), rules, f"{field}.priorityClassName", found)
    priority = spec.get("priority")
    if isinstance(priority, int | float) and priority > _HIGHEST_PRIORITY:
        text = f"must not be above {_HIGHEST_PRIORITY}"
        found.append(FieldError(f"{field}.priority", RejectCode.PRIORITY_NOT_ALLOWED, text))


def check_scheduler(name: Any, rules: Rules, field: str, found: Found) -> None:
    """Add a scheduler that pods may not name."""
    if name and not _named(name, rules.schedulers):
        text = f"{shown(name)} is not among the schedulers allowed: {rules.schedulers}"
        found.append(FieldError(field, _PLACEMENT, text))


def check_class(name: Any, rules: Rules, field: str, found: Found) -> None:
    """Add a PriorityClass that pods, or a group of them, may not have."""
    if name and not _may_be(name, rules.priority_classes):
        text = f"{shown(name)} is not among the priority classes allowed"
        found.append(FieldError(field, RejectCode.PRIORITY_NOT_ALLOWED, text))


def _may_be(name: Any, patterns: str) -> bool:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return False  # no class has such a name, and a blank would hide the prefix
    return name in listed(patterns) or (not name.startswith(_SYSTEM) and matches(name, patterns))


def _check_tokens(spec: Json, rules: Rules, field: str, found: Found) -> None:
    """Projected tokens and certificates speak for the pod: to whom is said by an allow-list."""
    for path, volume in entries(spec.get("volumes"), f"{field}.volumes"):
        projected = volume.get("projected")
        if not isinstance(projected, dict):
            continue
        for where, source in entries(projected.get("sources"), f"{path}.projected.sources"):
            token = source.get("serviceAccountToken")
            if isinstance(token, dict) and not _named(
                token.get("audience"), rules.token_audiences
            ):
                text = "projectedToken: a token of this audience is not allowed"
                if not token.get("audience"):
                    text = "projectedToken: a token without audience is one for the API server"
                found.append(FieldError(f"{where}.serviceAccountToken", VIOLATION, text))
            certificate = source.get("podCertificate")
            if isinstance(certificate, dict) and not _named(
                certificate.get("signerName"), rules.token_audiences
            ):
                text = "projectedToken: a certificate of this signer is not allowed"
                found.append(FieldError(f"{where}.podCertificate", VIOLATION, text))


def _named(value: Any, allowed: str) -> bool:
    return isinstance(value, str) and value in listed(allowed)
