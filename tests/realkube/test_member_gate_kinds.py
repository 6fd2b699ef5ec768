"""The second gate of a member on a real API server: pod templates in the kinds that jobs run as."""

import contextlib
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from shared.kinds.dispatched import DISPATCHED
from shared.kubesim.operators.definitions import operator_crds
from tests.attack.hostile import TENANT, harmless_job, hostile_jobs
from tests.attack.parents import parent_of
from tests.charts import helm
from tests.e2e.running import until
from tests.realkube.gate import MANAGER, Gate, marked
from tests.realkube.plane import Plane, PlaneError

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(500)]
# Those within an AppWrapper are judged by the hub and the agent alone.
KINDS = {kind: version for version, kind in DISPATCHED if kind != "AppWrapper"}


@pytest.fixture(scope="module")
def gate(real_control_plane: Plane) -> Iterator[Gate]:
    """A member that serves the kinds, without their operators."""
    for crd in operator_crds():
        real_control_plane.kubectl("apply", "-f", "-", stdin=json.dumps(crd))
    made = Gate(real_control_plane, {})
    for crd in operator_crds():
        name = crd["metadata"]["name"]
        until(partial(_is_served, real_control_plane, name), 60, f"{name} is served")
    yield made
    helm.uninstall(made.release, real_control_plane.kubeconfig)
    for crd in operator_crds():
        real_control_plane.kubectl("delete", "crd", crd["metadata"]["name"])


def _is_served(plane: Plane, crd: str) -> bool:
    with contextlib.suppress(PlaneError):
        plane.kubectl("get", crd, "-A")
        return True
    return False


def _object(kind: str, job: dict[str, Any]) -> dict[str, Any]:
    """A held one, as the agent writes it for an epoch."""
    made = marked({**parent_of(kind, job), "apiVersion": KINDS[kind]})
    labels = {**made["metadata"]["labels"], "roadstead.dev/epoch": "1"}
    metadata = {"name": f"gate-{kind.lower()}", "namespace": TENANT, "labels": labels}
    return {**made, "metadata": metadata, "spec": {**made["spec"], "suspend": True}}


def _said(gate: Gate, *arguments: str, stdin: str | None = None) -> str:
    try:
        return gate.plane.kubectl("-n", TENANT, *arguments, stdin=stdin, kubeconfig=gate.account)
    except PlaneError as refusal:
        return str(refusal)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_hostile_template_is_denied_by_each_way_of_writing(gate: Gate, kind: str) -> None:
    """Created, updated, patched and applied; an object with harmless templates is taken, and started."""
    hostile = next(each for each in hostile_jobs() if each.name == "host-pid")
    wrong, harmless = _object(kind, hostile.manifest), _object(kind, harmless_job())
    assert "'roadstead-agent-pods'" in (said := gate.said(wrong)), said
    gate.as_agent(harmless)
    name = harmless["metadata"]["name"]
    target = f"{kind.lower()}.{KINDS[kind].partition('/')[0]}/{name}"
    spec = json.dumps({"spec": wrong["spec"]})
    body = json.dumps(wrong)
    for arguments, stdin in (
        (("patch", target, "--type=merge", MANAGER, "-p", spec), None),
        (("replace", MANAGER, "-f", "-"), body),
        (("apply", "--server-side", "--force-conflicts", MANAGER, "-f", "-"), body),
    ):
        said = _said(gate, *arguments, stdin=stdin)
        assert "'roadstead-agent-pods'" in said, said
        assert f"{hostile.code}: " in said
    start = json.dumps({"spec": {"suspend": False}})
    said = _said(gate, "patch", target, "--type=merge", MANAGER, "-p", start)
    assert "patched" in said, said
