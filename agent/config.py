"""What an agent is told when it starts: flags first, then ROADSTEAD_* variables, then defaults."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shared.wire.agent_v1 import LEASE_S


@dataclass(frozen=True, slots=True)
class Settings:
    """One agent's settings. `kubeconfig` None: the cluster that the agent's pod runs in."""

    hub_url: str
    credential: Path
    kubeconfig: Path | None = None
    hub_ca: Path | None = None
    join_token: Path | None = None
    metrics_port: int | None = None  # /metrics and /healthz; None: off
    metrics_host: str = "127.0.0.1"
    kube_qps: float | None = None
    lease_s: float = LEASE_S  # smaller in tests only: it is a promise between sessions
    stand_by: bool = True  # after having been superseded, wait before opening a session


def from_arguments(
    arguments: Sequence[str] | None, environ: Mapping[str, str]
) -> tuple[Settings, bool]:
    """Read flags and environment; the second value is --die-with-parent. Exits on bad usage."""
    parser = argparse.ArgumentParser(prog="agent", description="Roadstead's member-cluster agent.")
    _option(parser, environ, "hub", "URL of the hub", required=True)
    _option(parser, environ, "hub-ca", "CA bundle of the hub's certificate")
    _option(parser, environ, "kubeconfig", "of the member cluster; none: in-cluster")
    _option(parser, environ, "credential", "file that keeps the credential", required=True)
    _option(parser, environ, "join-token", "file with the one-time join token")
    _option(parser, environ, "metrics-port", "port of /metrics and /healthz; none: off")
    _option(parser, environ, "metrics-host", "address of that port", fallback="127.0.0.1")
    _option(parser, environ, "kube-qps", "bound on requests per second to the member")
    parser.add_argument(
        "--die-with-parent",
        action="store_true",
        default=environ.get("ROADSTEAD_DIE_WITH_PARENT", "") not in {"", "0", "false"},
        help="end when the process that started this one ends",
    )
    given = parser.parse_args(arguments)
    settings = Settings(
        hub_url=given.hub,
        credential=Path(given.credential),
        kubeconfig=_path(given.kubeconfig),
        hub_ca=_path(given.hub_ca),
        join_token=_path(given.join_token),
        metrics_port=int(given.metrics_port) if given.metrics_port else None,
        metrics_host=given.metrics_host,
        kube_qps=float(given.kube_qps) if given.kube_qps else None,
    )
    return settings, given.die_with_parent


def _option(
    parser: argparse.ArgumentParser,
    environ: Mapping[str, str],
    name: str,
    text: str,
    *,
    required: bool = False,
    fallback: str | None = None,
) -> None:
    variable = "ROADSTEAD_" + name.upper().replace("-", "_")
    default = environ.get(variable) or fallback
    parser.add_argument(
        f"--{name}",
        default=default,
        required=required and default is None,
        help=f"{text} [{variable}]",
    )


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None
