"""What a member's state and its agent's rights mean for jobs, in words, for `clusters show`."""

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
    """What follows from its state, and what to do."""
    meaning = _MEANS.get(cluster.state, "")
    if cluster.state == "Unhealthy":
        remedy = _REMEDIES.get(cluster.reason, "")
        meaning = ". ".join(filter(None, (f"{cluster.message}: {meaning}", remedy)))
    return wrapped(meaning, "  ") if meaning else []


def lacking_rights(cluster: Cluster) -> list[str]:
    """Where the agent's account lacks a right, and how to look at it there."""
    if not cluster.jobs_forbidden_in:
        return []
    where = ", ".join(cluster.jobs_forbidden_in)
    remedy = "Grant it verb create on jobs.batch, as ClusterRole roadstead-agent-jobs does"
    return [
        "",
        *wrapped(f"Its agent's account may not create Jobs (403) in: {where}", "  "),
        *wrapped(f"Their jobs go elsewhere. {remedy}", "  "),
    ]
