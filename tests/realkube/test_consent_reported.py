"""In mode Report the shipped policies leave consent to the agent, but for what is the member's people's."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.charts import helm
from tests.realkube.gate import Gate, marked
from tests.realkube.plane import Plane

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(500)]

SPACE: Final = "theirs-in-report"


@pytest.fixture(scope="module")
def gate(real_control_plane: Plane) -> Iterator[Gate]:
    made = Gate(real_control_plane, {"consent": "Report"})
    metadata = {"name": SPACE}
    real_control_plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    real_control_plane.create(a_config_map("foreign"))
    yield made
    helm.uninstall(made.release, real_control_plane.kubeconfig)


def a_config_map(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": SPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def test_the_agent_creates_without_consent(gate: Gate) -> None:
    """It lets namespaces go on that held Jobs of the hub when it started."""
    answer = gate.said(marked(a_config_map("mine")))
    assert "created" in answer, answer


def test_a_take_over_needs_consent_as_always(gate: Gate) -> None:
    """Objects of the member's people are not changed."""
    answer = gate.said(marked(a_config_map("foreign")), "replace")
    assert "denied request" in answer, answer
