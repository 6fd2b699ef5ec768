"""The API groups whose kinds Roadstead takes as they are, beside Kubernetes' own."""

from typing import Final

KUEUE: Final = "kueue.x-k8s.io"
PLACEMENT: Final = "placement.kubernetes-fleet.io"
CLUSTER: Final = "cluster.kubernetes-fleet.io"
