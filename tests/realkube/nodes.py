"""Fake nodes for a real control plane, from the pools of a members file.

KWOK keeps nodes with label `type=kwok` Ready and plays their kubelet. Taints and labels are the
pool's own; what a kubelet would add besides (hostname, operating system) is added here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def of_pools(pools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Node manifests of all pools, named POOL-0, POOL-1, …; status included, as a kubelet sends it."""
    return [node for pool in pools for node in _of_pool(pool)]


def _of_pool(pool: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for number in range(pool.get("count", 1)):
        name = f"{pool['name']}-{number}"
        room = {resource: str(amount) for resource, amount in pool["allocatable"].items()}
        room.setdefault("pods", "110")
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64",
                    **pool.get("labels", {}),
                    "type": "kwok",
                },
                "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            "spec": {"taints": list(pool.get("taints", []))},
            "status": {"allocatable": room, "capacity": room},
        }
