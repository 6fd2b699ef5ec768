"""A fleet from the charts, on real control planes: Helm installs, hub and agents run as processes."""

import base64
import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from roadstead import Client
from tests.certificates import CA, LOOPBACK
from tests.charts.helm import AGENT, HUB, Release
from tests.e2e.running import ready_line, until
from tests.realkube import audit
from tests.realkube.installed import Installed, install
from tests.realkube.plane import Fleet, Plane, PlaneError

_HUB = {
    "hubCluster": {"mode": "inCluster", "objects": True, "showJobs": True},
    "secretsKey": {"secret": {"name": "secrets-key"}},
    # A Job without a queue runs beside the guide's ClusterQueue.
    "extraEnv": [{"name": "ROADSTEAD_INTAKE_UNQUEUED_JOBS", "value": "Default"}],
}


@contextlib.contextmanager
def fleet_from_charts(
    planes: Fleet,
    folder: Path,
    values: Mapping[str, Any] | None = None,
    ca: CA | None = None,
) -> Iterator[tuple[Client, list[Installed]]]:
    """Hub and agents, each from its chart; yields the client, and what is installed: the hub first.

    `values` are the agents', besides the hub's address. `ca` signs the certificates of the hub and of
    each agent; without one they speak in clear.
    """
    if ca is not None:
        _keep_pair(planes.hub, "hub-tls", ca, LOOPBACK)
    _ensure_namespace(planes.hub)
    key = f"--from-literal=key={base64.b64encode(secrets.token_bytes(32)).decode()}"
    planes.hub.kubectl("-n", "roadstead", "create", "secret", "generic", "secrets-key", key)
    tls = {"secret": "hub-tls", "clientCA": {"secret": "hub-tls"}} if ca else {}
    hub = install(planes.hub, Release(HUB, {**_HUB, "tls": tls}), folder / "hub")
    with contextlib.ExitStack() as stack:
        stack.enter_context(hub.running())
        server = until(lambda: ready_line(hub.log()), 60, "the hub is ready")
        token = hub.folder / "volumes/var/lib/roadstead/data/admin.token"
        known = str(hub.folder / "volumes/etc/roadstead/tls/ca.crt") if ca else None
        client = Client(server, token.read_text().strip(), ca=known)
        stack.enter_context(contextlib.closing(client))
        own = {"clientCertificate": {"secret": "agent-tls"}} if ca else {"plainHTTP": True}
        accepts = {"acceptedNamespaces": "default", **(values or {}).get("policy", {})}
        at = {"hub": {"url": server, **own}}
        agents = [
            _join(plane, client, folder / name, {**at, **(values or {}), "policy": accepts}, ca)
            for name, plane in planes.members.items()
        ]
        for agent in agents:
            stack.enter_context(agent.running())
        until(lambda: all(each.ready for each in client.clusters()), 60, "all have joined")
        yield client, [hub, *agents]


def _join(
    plane: Plane, client: Client, folder: Path, values: dict[str, Any], ca: CA | None
) -> Installed:
    """As docs/howto/install.md says: the cluster is added, its token is a Secret, and then the chart."""
    if ca is None:
        plane.kubectl("create", "namespace", "roadstead")
    else:
        _keep_pair(plane, "agent-tls", ca, [folder.name])
    token = client.add_cluster(folder.name).join_token
    made = ("create", "secret", "generic", "join", f"--from-literal=token={token}")
    plane.kubectl("-n", "roadstead", *made)
    return install(plane, Release(AGENT, values), folder)


def _ensure_namespace(plane: Plane) -> None:
    with contextlib.suppress(PlaneError):
        plane.kubectl("create", "namespace", "roadstead")


def _keep_pair(plane: Plane, name: str, ca: CA, names: Sequence[str]) -> None:
    """A Secret as cert-manager writes it."""
    _ensure_namespace(plane)
    pair = ca.sign(names)
    content = {
        "tls.crt": pair.pem.decode(),
        "tls.key": pair.key_pem.decode(),
        "ca.crt": ca.pem.decode(),
    }
    plane.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": name, "namespace": "roadstead"},
            "stringData": content,
        }
    )


def refused(installed: list[Installed]) -> list[tuple[str, ...]]:
    """What any of the accounts was refused so far."""
    return sorted(
        (each.plane.name, *what)
        for each in installed
        for what in audit.refused(each.plane.directory)
    )
