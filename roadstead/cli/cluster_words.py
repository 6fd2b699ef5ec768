"""Words of `clusters show` about a member's state and its agent's rights."""

from roadstead.cli.tables import wrapped
from roadstead.models.clusters import Cluster

# What follows from a state that nobody asked for, and where to look.
_MEANS = {
    "Suspect": "its agent is not heard: nothing new goes there, what runs there may go on, and starts "
    "nowhere else. Look at the agent there, and at the way from it to the hub",
    "Unhealthy": "it gets no new jobs, and its running jobs continue",
}
# What to do about the reason of Unhealthy.
_REMEDIES = {
    "Unauthorized": "Give the agent a credential that the API server accepts, or restart the agent",
    "Forbidden": "Give the agent's account the rights of its chart again",
}


def means(cluster: Cluster) -> list[str]:
    """Say the effect of its state, and the remedy."""
    meaning = _MEANS.get(cluster.state, "")
    if cluster.state == "Unhealthy":
        remedy = _REMEDIES.get(cluster.reason, "")
        meaning = ". ".join(filter(None, (f"{cluster.message}: {meaning}", remedy)))
    return wrapped(meaning, "  ") if meaning else []


def lacking_rights(cluster: Cluster) -> list[str]:
    """Name the namespaces in which the agent's account lacks a right, and the remedy."""
    if not cluster.jobs_forbidden_in:
        return []
    where = ", ".join(cluster.jobs_forbidden_in)
    remedy = "Grant it verb create on jobs.batch, as ClusterRole roadstead-agent-jobs does"
    return [
        "",
        *wrapped(f"Its agent's account may not create Jobs (403) in: {where}", "  "),
        *wrapped(f"Their jobs go elsewhere. {remedy}", "  "),
    ]
