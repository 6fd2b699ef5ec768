"""The order in which kinds are applied: what others need comes first. Pure.

The waves are KubeFleet's (pkg/controllers/workapplier): namespaces; policies, configuration, storage and
CRDs; roles; bindings; workloads; API services and webhooks; everything else. A wave waits for the
earlier ones in the same namespace and for the cluster-scoped ones.
"""

from collections import defaultdict
from typing import Final

from agent.decide.decision import DELETING, Decision
from shared.wire.agent_v1 import Work

_WAVES: tuple[frozenset[str], ...] = (
    frozenset({"Namespace", "PriorityClass"}),
    frozenset(
        {
            "NetworkPolicy",
            "ResourceQuota",
            "LimitRange",
            "PodDisruptionBudget",
            "ServiceAccount",
            "Secret",
            "ConfigMap",
            "StorageClass",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "CustomResourceDefinition",
            "IngressClass",
        }
    ),
    frozenset({"ClusterRole", "Role"}),
    frozenset({"ClusterRoleBinding", "RoleBinding"}),
    frozenset(
        {
            "Service",
            "DaemonSet",
            "Pod",
            "ReplicationController",
            "ReplicaSet",
            "Deployment",
            "HorizontalPodAutoscaler",
            "StatefulSet",
            "Job",
            "CronJob",
            "Ingress",
        }
    ),
    frozenset({"APIService", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}),
)
_WAVE_OF = {kind: number for number, kinds in enumerate(_WAVES) for kind in kinds}
_LAST = len(_WAVES)
MOST_TRIES: Final = 4  # so many refusals of one object hold others up, and no more


def wave_of(kind: str) -> int:
    """The wave of a kind; what is in no list comes last."""
    return _WAVE_OF.get(kind, _LAST)


def holds_up(work: Work, decision: Decision, tries: int) -> bool:
    """Do later waves wait for it? Not for what may never end: a deletion there, a server that fails."""
    if work.action != "Apply" or tries >= MOST_TRIES:
        return False
    return decision.phase not in {"Applied", "Failed"} and decision.reason != DELETING


class Waves:
    """How many works of each wave and scope are still to be applied. O(1) per change."""

    def __init__(self) -> None:
        self._pending: dict[str, tuple[int, str]] = {}
        self._counts: dict[tuple[int, str], int] = defaultdict(int)

    def set_pending(self, uid: str, kind: str, namespace: str, pending: bool) -> bool:
        """Note whether a work is still to be applied; True if that opened a wave."""
        held = self._pending.get(uid)
        slot = (wave_of(kind), namespace)
        if pending:
            if held is None:
                self._pending[uid] = slot
                self._counts[slot] += 1
            return False
        if held is None:
            return False
        del self._pending[uid]
        self._counts[held] -= 1
        if self._counts[held]:
            return False
        del self._counts[held]
        return True

    def is_open(self, kind: str, namespace: str) -> bool:
        """Whether nothing that must come before this kind in this namespace is pending."""
        if not self._counts:
            return True
        wave = wave_of(kind)
        return not any(
            earlier < wave and scope in {"", namespace} for earlier, scope in self._counts
        )
