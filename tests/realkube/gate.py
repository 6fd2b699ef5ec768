"""A member with the agent's chart and its policies, asked with the credentials of the agent's account."""

import contextlib
import json
from pathlib import Path
from typing import Any, Final

from shared import labels
from tests.attack.hostile import HARDENED, TENANT, hostile_jobs
from tests.charts import helm
from tests.charts.helm import AGENT, Release
from tests.e2e.running import until
from tests.realkube.plane import Plane, PlaneError

_HUB = {"hub": {"url": "https://192.0.2.1"}}
MANAGER: Final = "--field-manager=roadstead"  # as the agent writes
_MARK = {"roadstead.dev/managed-by": "hub-1"}
# Rights beyond the chart's, so that nothing but the policy is in the way.
_MORE = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]


class Gate:
    """A member whose agent's chart is installed with `policy`; `account` speaks as the agent does."""

    def __init__(self, plane: Plane, policy: dict[str, str]) -> None:
        self.plane = plane
        values = {**_HUB, "profile": "objects", "policy": policy, "objects": {"rules": _MORE}}
        self.release = Release(AGENT, values)
        helm.install(self.release, plane.kubeconfig)
        for name in (TENANT, HARDENED):
            ensure_namespace(plane, name)
        account = plane.kubeconfig_of("agent", namespace="roadstead")
        self.account = Path(account)
        until(self._is_closed, 60, "the policy is in force")

    def _is_closed(self) -> bool:
        probe = next(each for each in hostile_jobs() if each.name == "host-pid")
        named = {"name": "probe", "namespace": TENANT}
        unmarked = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named}
        return "denied request" in self.said(marked(probe.manifest)) and (
            "denied request" in self.said(unmarked)
        )

    def said(self, manifest: dict[str, Any], verb: str = "create") -> str:
        """Return the API server's answer to the agent's dry run, refusals included."""
        return said_to(self.plane, manifest, verb, self.account)

    def as_agent(self, manifest: dict[str, Any]) -> None:
        """Create an object as the agent does."""
        arguments = ("create", MANAGER, "-f", "-")
        self.plane.kubectl(*arguments, stdin=json.dumps(manifest), kubeconfig=self.account)


def said_to(plane: Plane, manifest: dict[str, Any], verb: str, account: Path | None = None) -> str:
    arguments = (verb, "--dry-run=server", "--validate=strict", "-f", "-")
    try:
        return plane.kubectl(*arguments, stdin=json.dumps(manifest), kubeconfig=account)
    except PlaneError as refusal:
        return str(refusal)


def marked(manifest: dict[str, Any]) -> dict[str, Any]:
    """As the agent writes it: with the labels of Roadstead's objects."""
    metadata = manifest["metadata"]
    return {
        **manifest,
        "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **_MARK}},
    }


def ensure_namespace(plane: Plane, name: str) -> None:
    """A namespace of the member's people, who accept the hub in it and let its pods have tokens."""
    with contextlib.suppress(PlaneError):
        plane.kubectl("create", "namespace", name)
    accept = f"{labels.ACCEPT}={_MARK[labels.MANAGED_BY]}"
    tokens = f"{labels.ACCEPT_TOKENS}=true"
    plane.kubectl("label", "namespace", name, accept, tokens, "--overwrite")
