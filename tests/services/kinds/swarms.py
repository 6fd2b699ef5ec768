"""Swarms: a kind that is not built in, and definitions of it."""

from typing import Any

from tests.services.kinds.fleet import QUEUE, SERVED, a_template

SWARM = "example.org/v1/Swarm"
SERVED_WITH_SWARMS = (*SERVED, SWARM)
_ROOT: dict[str, Any] = {
    "name": "swarm",
    "kind": {"group": "example.org", "version": "v1", "kind": "Swarm"},
    "specDefinition": {"podTemplateSpecPath": ".spec.agents.template"},
    "scaleDefinition": {"replicasPath": ".spec.agents.count // 1"},
    "statusDefinition": {
        "conditionsDefinition": {"path": ".status.conditions"},
        "statusMappings": {
            "completed": [{"byConditions": [{"type": "Done", "status": "True"}]}],
            "failed": [{"byConditions": [{"type": "Broken", "status": "True"}]}],
        },
    },
    "suspendDefinition": {
        "suspendActions": [{"path": ".spec.paused", "value": "true"}],
        "resumeActions": [{"path": ".spec.paused", "value": "false"}],
    },
}


def a_definition(name: str = "swarm", without: str = "", **root: Any) -> dict[str, Any]:
    """A Karta that holds Swarms by `spec.paused`. `without`: a part of its root that is left out."""
    component = {**_ROOT, **root}
    component.pop(without, None)
    return {
        "apiVersion": "run.ai/v1alpha1",
        "kind": "Karta",
        "metadata": {"name": name},
        "spec": {"structureDefinition": {"rootComponent": component}},
    }


def an_extension(karta: str = "swarm", name: str = "swarm", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "roadstead.dev/v1alpha1",
        "kind": "KindExtension",
        "metadata": {"name": name},
        "spec": {"karta": karta, **spec},
    }


def a_swarm(name: str = "bees", count: int = 2, queue: str = "q", **spec: Any) -> dict[str, Any]:
    """Agents of 1 cpu each."""
    metadata: dict[str, Any] = {"name": name, "namespace": "team-a"}
    if queue:
        metadata["labels"] = {QUEUE: queue}
    agents = {"count": count, "template": a_template(cpu="1")}
    return {
        "apiVersion": "example.org/v1",
        "kind": "Swarm",
        "metadata": metadata,
        "spec": {"agents": agents, **spec},
    }
