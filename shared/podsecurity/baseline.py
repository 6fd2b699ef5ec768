"""The baseline level of the Pod Security Standards, as of Kubernetes 1.36: no known escalation.

Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline. A pod with a user
namespace (`hostUsers: false`) is held to the same rules: whether its node can give it one is not known.
"""

from typing import Any, Final

from shared.podsecurity.pods import (
    Found,
    Json,
    containers,
    contexts,
    entries,
    mapping,
    violation,
)
from shared.quantity import shown

CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
        "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    }
)  # fmt: skip
SYSCTLS: Final = frozenset(
    {
        "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports", "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies", "net.ipv4.tcp_wmem",
    }
)  # fmt: skip
SELINUX_TYPES: Final = frozenset(
    {"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
)
SECCOMP: Final = frozenset({"RuntimeDefault", "Localhost"})
_APPARMOR: Final = frozenset({"RuntimeDefault", "Localhost"})
_APPARMOR_ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"
_NAMESPACES: Final = ("hostNetwork", "hostPID", "hostIPC")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS: Final = ("postStart", "preStop")


def check(spec: Json, field: str, found: Found) -> None:
    """Add every violation of a pod template's `spec` at `field` to `found`."""
    for name in _NAMESPACES:
        if spec.get(name) not in (None, False):
            text = f"{name} must not be true: the pod would share the node's"
            found.append(violation(f"{field}.{name}", "baseline/hostNamespaces", text))
    for path, volume in entries(spec.get("volumes"), f"{field}.volumes"):
        if volume.get("hostPath") is not None:
            text = "volumes of the node's own files are forbidden"
            found.append(violation(f"{path}.hostPath", "baseline/hostPath", text))
    for path, context in contexts(spec, field):
        _check_context(context, path, found)
    for path, container in containers(spec, field):
        _check_ports(container, path, found)
        _check_hosts(container, path, found)
    pod = mapping(spec.get("securityContext"))
    for path, sysctl in entries(pod.get("sysctls"), f"{field}.securityContext.sysctls"):
        if not _is_one_of(sysctl.get("name"), SYSCTLS):
            text = f"{shown(sysctl.get('name'))} is not among the safe ones"
            found.append(violation(f"{path}.name", "baseline/sysctls", text))


def check_annotations(metadata: Json, field: str, found: Found) -> None:
    """Add what annotations of a pod template at `field` say of AppArmor, as older manifests do."""
    for key, value in mapping(metadata.get("annotations")).items():
        if key.startswith(_APPARMOR_ANNOTATION) and not (
            value in ("", "runtime/default")
            or (isinstance(value, str) and value.startswith("localhost/"))
        ):
            text = "must be runtime/default or localhost/*"
            where = f"{field}.metadata.annotations[{key[:120]}]".lstrip(".")
            found.append(violation(where, "baseline/appArmor", text))


def _check_context(context: Json, path: str, found: Found) -> None:
    """What a pod's and a container's security context have alike, and what only one of them has."""
    if context.get("privileged") not in (None, False):
        text = "a privileged container is the node's own"
        found.append(violation(f"{path}.privileged", "baseline/privileged", text))
    windows = mapping(context.get("windowsOptions"))
    if windows.get("hostProcess") not in (None, False):
        text = "must not be true"
        where = f"{path}.windowsOptions.hostProcess"
        found.append(violation(where, "baseline/hostProcess", text))
    if context.get("capabilities"):
        _check_capabilities(context["capabilities"], f"{path}.capabilities", found)
    if context.get("procMount") not in (None, "", "Default"):
        text = "must be Default or absent"
        found.append(violation(f"{path}.procMount", "baseline/procMount", text))
    seccomp = _type_of(context, "seccompProfile")
    if seccomp is not None and not _is_one_of(seccomp, SECCOMP):
        text = "must be RuntimeDefault or Localhost, or absent"
        found.append(violation(f"{path}.seccompProfile.type", "baseline/seccomp", text))
    apparmor = _type_of(context, "appArmorProfile")
    if apparmor is not None and not _is_one_of(apparmor, _APPARMOR):
        text = "must be RuntimeDefault or Localhost, or absent"
        found.append(violation(f"{path}.appArmorProfile.type", "baseline/appArmor", text))
    if context.get("seLinuxOptions"):
        _check_selinux(mapping(context["seLinuxOptions"]), f"{path}.seLinuxOptions", found)


def _check_capabilities(value: Any, path: str, found: Found) -> None:
    added = mapping(value).get("add")
    for index, name in enumerate(added if isinstance(added, list) else ()):
        if not _is_one_of(name, CAPABILITIES):
            text = f"{shown(name)} is not among those a container has by default"
            found.append(violation(f"{path}.add[{index}]", "baseline/capabilities", text))


def _check_selinux(options: Json, path: str, found: Found) -> None:
    kind = options.get("type")
    if kind is not None and not _is_one_of(kind, SELINUX_TYPES):
        text = f"{shown(kind)} is no type of containers"
        found.append(violation(f"{path}.type", "baseline/seLinux", text))
    for name in ("user", "role"):
        if options.get(name):
            text = f"{name} must not be set"
            found.append(violation(f"{path}.{name}", "baseline/seLinux", text))


def _check_ports(container: Json, path: str, found: Found) -> None:
    for where, port in entries(container.get("ports"), f"{path}.ports"):
        if port.get("hostPort"):
            text = "ports of the node are forbidden"
            found.append(violation(f"{where}.hostPort", "baseline/hostPorts", text))


def _check_hosts(container: Json, path: str, found: Found) -> None:
    """Probes and hooks go to the pod itself: another host would be asked by the node."""
    asked = [(f"{path}.{name}", mapping(container.get(name))) for name in _PROBES]
    hooks = mapping(container.get("lifecycle"))
    asked += [(f"{path}.lifecycle.{name}", mapping(hooks.get(name))) for name in _HOOKS]
    for where, probe in asked:
        for name in ("httpGet", "tcpSocket"):
            if mapping(probe.get(name)).get("host"):
                text = "must not be set: the node would ask that host"
                found.append(violation(f"{where}.{name}.host", "baseline/hostProbes", text))


def _type_of(context: Json, name: str) -> Any:
    """The type of a profile; None where there is no profile, "" where it has no type."""
    profile = context.get(name)
    return None if profile is None else mapping(profile).get("type") or ""


def _is_one_of(value: Any, allowed: frozenset[str]) -> bool:
    return isinstance(value, str) and value in allowed
