"""The agent's settings at start: flags first, then ROADSTEAD_* variables, then defaults."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from agent.decide.member_policy import CONSENT_MODES, PROFILES, MemberPolicy
from agent.hub.link import is_own_machine
from shared.podsecurity import Rules
from shared.wire.agent_v1 import LEASE_S
from shared.wire.join_token import is_pin

OWN_NAMESPACE: Final = "roadstead"  # where the agent is in no pod that tells it


@dataclass(frozen=True, slots=True)
class Settings:
    """One agent's settings. `kubeconfig` None: the cluster that the agent's pod runs in."""

    hub_url: str
    credential: Path
    kubeconfig: Path | None = None
    properties_namespace: str = OWN_NAMESPACE  # of the ConfigMap that adds properties
    hub_ca: Path | None = None
    hub_ca_pins: tuple[str, ...] = ()
    hub_plain_http: bool = False
    client_cert: Path | None = None
    client_key: Path | None = None
    join_token: Path | None = None
    metrics_port: int | None = None  # /metrics and /healthz; None: off
    metrics_host: str = "127.0.0.1"
    kube_qps: float | None = None
    lease_s: float = LEASE_S  # smaller in tests only: it is a promise between sessions
    stand_by: bool = True  # after having been superseded, wait before opening a session
    policy: MemberPolicy = field(default_factory=MemberPolicy)  # what this member lets a hub write


# Options of the policy, each of the rule or field it sets; lists are by comma.
GATE_OPTIONS: Final = (
    ("profile", "profile", "what the agent writes here: only jobs, or objects too"),
    ("kinds", "kinds", "kinds of objects, as patterns of GROUP/KIND (core/ConfigMap)"),
    ("logs", "logs", "on: people may read logs of jobs' pods through the hub"),
    ("pod-security", "level", "Pod Security level: privileged, baseline or restricted"),
    ("pod-security-levels", "levels", "other levels of namespaces, as NAMESPACE=LEVEL"),
    ("namespaces", "namespaces", "namespaces, as patterns, in which the agent writes"),
    (
        "denied-namespaces",
        "denied_namespaces",
        "namespaces, as patterns, in which it writes nothing",
    ),
    ("accepted-namespaces", "accepted", "namespaces of this cluster's people that accept the hub"),
    (
        "consent",
        "consent",
        "Enforce, or Report: namespaces that hold the hub's Jobs at start continue",
    ),
    ("service-accounts", "service_accounts", "service accounts: NAME, NAMESPACE/NAME or *"),
    ("schedulers", "schedulers", "values of schedulerName that pods may have"),
    ("priority-classes", "priority_classes", "priorityClassName, as patterns; system-… in full"),
    ("token-audiences", "token_audiences", "audiences of projected tokens"),
    (
        "fields",
        "fields",
        "nodeName, csi, terminationGracePeriodSeconds, tolerateEverything, controlPlane, hostUsers, ...",
    ),
)
_PREFIX: Final = "ROADSTEAD_AGENT_"
_OWN_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def from_arguments(
    arguments: Sequence[str] | None, environ: Mapping[str, str]
) -> tuple[Settings, bool]:
    """Read flags and environment; the second value is --die-with-parent. Exits on bad usage."""
    parser = argparse.ArgumentParser(
        prog="python -m agent", description="Roadstead's member-cluster agent."
    )
    _option(parser, environ, "hub", "URL of the hub", required=True)
    _option(parser, environ, "hub-ca", "CA bundle of the hub's certificate")
    _option(parser, environ, "hub-ca-pin", "pins of that CA, by comma; else the join token's")
    _option(parser, environ, "client-cert", "certificate to show to the hub")
    _option(parser, environ, "client-key", "its key")
    _option(parser, environ, "kubeconfig", "of the member cluster; none: in-cluster")
    own = _OWN_NAMESPACE.read_text().strip() if _OWN_NAMESPACE.exists() else OWN_NAMESPACE
    text = "namespace of ConfigMap roadstead-properties; none: the pod's own"
    _option(parser, environ, "properties-namespace", text, fallback=own)
    _option(parser, environ, "credential", "file that keeps the credential", required=True)
    _option(parser, environ, "join-token", "file with the one-time join token")
    _option(parser, environ, "metrics-port", "port of /metrics and /healthz; none: off")
    _option(parser, environ, "metrics-host", "address of that port", fallback="127.0.0.1")
    _option(parser, environ, "kube-qps", "bound on requests per second to the member")
    _switch(parser, environ, "hub-plain-http", "allow http:// to a hub on another machine")
    _switch(parser, environ, "die-with-parent", "end when the process that started this one ends")
    defaults = MemberPolicy()
    for name, rule, text in GATE_OPTIONS:
        of = defaults.rules if hasattr(defaults.rules, rule) else defaults
        _option(parser, environ, name, text, fallback=getattr(of, rule), prefix="AGENT_")
    given = parser.parse_args(arguments)
    pins = tuple(each.strip() for each in (given.hub_ca_pin or "").split(",") if each.strip())
    fault = _fault_of(given.hub, plain=given.hub_plain_http) or _fault_of_trust(given, pins)
    if fault:
        parser.error(fault)
    settings = Settings(
        hub_url=given.hub,
        credential=Path(given.credential),
        kubeconfig=_path(given.kubeconfig),
        properties_namespace=given.properties_namespace,
        hub_ca=_path(given.hub_ca),
        hub_ca_pins=pins,
        hub_plain_http=given.hub_plain_http,
        client_cert=_path(given.client_cert),
        client_key=_path(given.client_key),
        join_token=_path(given.join_token),
        metrics_port=int(given.metrics_port) if given.metrics_port else None,
        metrics_host=given.metrics_host,
        kube_qps=float(given.kube_qps) if given.kube_qps else None,
        policy=_policy(parser, given),
    )
    return settings, given.die_with_parent


def unread(environ: Mapping[str, str]) -> list[str]:
    """Unknown variables of the policy: a field that was meant to be closed may be open."""
    known = {_PREFIX + name.upper().replace("-", "_") for name, _, _ in GATE_OPTIONS}
    return sorted(name for name in environ if name.startswith(_PREFIX) and name not in known)


def _policy(parser: argparse.ArgumentParser, given: argparse.Namespace) -> MemberPolicy:
    """The policy as given; denied as well are the namespaces of the agent's pod and of its properties."""
    values: dict[str, Any] = {
        rule: getattr(given, name.replace("-", "_")) for name, rule, _ in GATE_OPTIONS
    }
    denied = values["denied_namespaces"].split(",")
    own = [_OWN_NAMESPACE.read_text().strip()] if _OWN_NAMESPACE.exists() else []
    denied += [each for each in (given.properties_namespace, *own) if each not in denied]
    values["denied_namespaces"] = ",".join(denied)
    others = ("profile", "kinds", "logs", "accepted", "consent")
    profile, kinds, logs, accepted, consent = (values.pop(name) for name in others)
    if profile not in PROFILES:
        parser.error(f"--profile {profile}: expected {' or '.join(PROFILES)}")
    if logs not in {"on", "off"}:
        parser.error(f"--logs {logs}: expected on or off")
    if consent not in CONSENT_MODES:
        parser.error(f"--consent {consent}: expected {' or '.join(CONSENT_MODES)}")
    try:
        return MemberPolicy(Rules(**values), profile, kinds, logs, accepted, consent)
    except ValueError as wrong:
        parser.error(str(wrong))


def _option(
    parser: argparse.ArgumentParser,
    environ: Mapping[str, str],
    name: str,
    text: str,
    *,
    required: bool = False,
    fallback: str | None = None,
    prefix: str = "",
) -> None:
    variable = f"ROADSTEAD_{prefix}" + name.upper().replace("-", "_")
    default = environ.get(variable) or fallback
    parser.add_argument(
        f"--{name}",
        default=default,
        required=required and default is None,
        help=f"{text} [{variable}]",
    )


def _switch(
    parser: argparse.ArgumentParser, environ: Mapping[str, str], name: str, text: str
) -> None:
    variable = "ROADSTEAD_" + name.upper().replace("-", "_")
    parser.add_argument(
        f"--{name}",
        action="store_true",
        default=environ.get(variable, "") not in {"", "0", "false"},
        help=f"{text} [{variable}]",
    )


def _fault_of(url: str, *, plain: bool) -> str:
    """The reason why the agent must not connect to this address; "" if it may.

    Its credential and the manifests it gets are worth as much as the member: they go in clear to its own
    machine only, unless a setting declares the connection safe.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return f"--hub {url}: expected https://HOST[:PORT]"
    if parts.scheme == "https" or plain or is_own_machine(parts.hostname):
        return ""
    return (
        f"--hub {url}: the credential would be sent in clear; use https://, or --hub-plain-http "
        "(ROADSTEAD_HUB_PLAIN_HTTP=1) where the way is safe by other means"
    )


def _fault_of_trust(given: argparse.Namespace, pins: Sequence[str]) -> str:
    """The fault of the files and pins that identify the hub; "" if there is none."""
    if bool(given.client_cert) != bool(given.client_key):
        return "--client-cert and --client-key belong together"
    if pins and given.hub_ca:
        return "--hub-ca and --hub-ca-pin: give one of them"
    if (pins or given.hub_ca or given.client_cert) and not given.hub.startswith("https://"):
        return f"--hub {given.hub}: CA, pins and certificates are for https://"
    if odd := [each for each in pins if not is_pin(each)]:
        return f"--hub-ca-pin {odd[0]}: expected 43 characters of URL-safe base64"
    return ""


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None
