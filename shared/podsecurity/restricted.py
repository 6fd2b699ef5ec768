"""The rules of the restricted level of the Pod Security Standards beyond baseline, as of Kubernetes 1.36.

Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted.
"""

from typing import Final

from shared.podsecurity.baseline import SECCOMP
from shared.podsecurity.pods import (
    Found,
    Json,
    containers,
    contexts,
    entries,
    mapping,
    runs_windows,
    violation,
)

VOLUMES: Final = frozenset(
    {
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
        "projected", "secret",
    }
)  # fmt: skip


def check(spec: Json, field: str, found: Found) -> None:
    """Add every violation of a pod template's `spec` at `field` to `found`."""
    for path, volume in entries(spec.get("volumes"), f"{field}.volumes"):
        kinds = {name for name, value in volume.items() if name != "name" and value is not None}
        if kinds - VOLUMES:  # of no kind at all, it is an emptyDir
            text = f"must be one of {', '.join(sorted(VOLUMES))}"
            found.append(violation(path, "restricted/volumeTypes", text))
    _check_users(spec, field, found)
    if runs_windows(spec):
        return
    _check_seccomp(spec, field, found)
    for path, container in containers(spec, field):
        context = mapping(container.get("securityContext"))
        if context.get("allowPrivilegeEscalation") is not False:
            where = f"{path}.securityContext.allowPrivilegeEscalation"
            found.append(violation(where, "restricted/privilegeEscalation", "must be false"))
        _check_capabilities(context, f"{path}.securityContext.capabilities", found)


def _check_users(spec: Json, field: str, found: Found) -> None:
    """Not as root: said by the pod or by every container, and taken back by none."""
    said_by_pod = mapping(spec.get("securityContext")).get("runAsNonRoot")
    if said_by_pod not in (None, True):
        where = f"{field}.securityContext.runAsNonRoot"
        found.append(violation(where, "restricted/runAsNonRoot", "must be true"))
    for path, container in containers(spec, field):
        said = mapping(container.get("securityContext")).get("runAsNonRoot")
        if said is not True and not (said is None and said_by_pod is True):
            where = f"{path}.securityContext.runAsNonRoot"
            text = "must be true, here or for the whole pod"
            found.append(violation(where, "restricted/runAsNonRoot", text))
    for path, context in contexts(spec, field):
        if context.get("runAsUser") == 0:
            text = "must not be 0, which is root"
            found.append(violation(f"{path}.runAsUser", "restricted/runAsUser", text))


def _check_seccomp(spec: Json, field: str, found: Found) -> None:
    """A profile is named by the pod or by every container; a wrong one is baseline's to refuse."""
    if _has_profile(mapping(spec.get("securityContext"))):
        return
    for path, container in containers(spec, field):
        if not _has_profile(mapping(container.get("securityContext"))):
            where = f"{path}.securityContext.seccompProfile.type"
            text = "must be RuntimeDefault or Localhost, here or for the whole pod"
            found.append(violation(where, "restricted/seccomp", text))


def _has_profile(context: Json) -> bool:
    kind = mapping(context.get("seccompProfile")).get("type")
    return isinstance(kind, str) and kind in SECCOMP


def _check_capabilities(context: Json, path: str, found: Found) -> None:
    capabilities = mapping(context.get("capabilities"))
    dropped = capabilities.get("drop")
    if not isinstance(dropped, list) or "ALL" not in dropped:
        text = "must hold ALL"
        found.append(violation(f"{path}.drop", "restricted/capabilities", text))
    added = capabilities.get("add")
    for index, name in enumerate(added if isinstance(added, list) else ()):
        if name != "NET_BIND_SERVICE":
            text = "only NET_BIND_SERVICE may be added"
            found.append(violation(f"{path}.add[{index}]", "restricted/capabilities", text))
