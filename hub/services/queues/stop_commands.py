"""The command that stops or resumes a queue, which depends on where the queue came from."""

import shlex

from hub.domain.quota.declared import DRAIN
from hub.domain.workloads.origin import Origin

ADMITS = "None"  # the stopPolicy of a queue that admits


def stop_command(origin: str, namespace: str, name: str, policy: str) -> str:
    """Return the command that gives a queue this stopPolicy; without `namespace` a ClusterQueue."""
    kind = "localqueue" if namespace else "clusterqueue"
    if origin == Origin.HUB_CLUSTER:
        space = f" -n {shlex.quote(namespace)}" if namespace else ""
        change = f'\'{{"spec": {{"stopPolicy": "{policy}"}}}}\''
        return f"kubectl patch {kind} {shlex.quote(name)}{space} --type merge -p {change}"
    place = shlex.quote(f"{namespace}/{name}" if namespace else name)
    if policy == ADMITS:
        return f"roadstead queues resume {place}"
    return f"roadstead queues stop {'--drain ' if policy == DRAIN else ''}{place}"
