"""Texts of `clusters show` for a member's state, the kinds of work that it runs, and its agent's rights."""

from collections.abc import Iterable

from roadstead.cli.tables import wrapped
from roadstead.models.clusters import Cluster, WorkKind

# Effect of a state that no administrator set, and where to look.
_MEANS = {
    "Suspect": "no contact with its agent: it gets no new jobs; its jobs may still run there, and start "
    "nowhere else. Check the agent there, and its network connection to the hub",
    "Unhealthy": "it gets no new jobs, and its running jobs continue",
}
# What to do about the reason of Unhealthy.
_REMEDIES = {
    "Unauthorized": "Give the agent a credential that the API server accepts, or restart the agent",
    "Forbidden": "Restore the rights of the agent's account as in its chart",
}

# Why a member does not run a kind; the hub tells the remedy.
_LACKS = {
    "NotServed": "not served",
    "AgentTooOld": "agent too old",
    "RightMissing": "right missing",
    "Unknown": "not told yet",
}


def means(cluster: Cluster) -> list[str]:
    """Describe the effect of its state, and the remedy."""
    meaning = _MEANS.get(cluster.state, "")
    if cluster.state == "Unhealthy":
        remedy = _REMEDIES.get(cluster.reason, "")
        meaning = ". ".join(filter(None, (f"{cluster.message}: {meaning}", remedy)))
    return wrapped(meaning, "  ") if meaning else []


def kinds_of_work(cluster: Cluster) -> list[str]:
    """List the kinds of work that it runs, and what it lacks for each of the others; none while unknown."""
    if all(each.state == "Unknown" for each in cluster.work_kinds):
        return []
    served = [each for each in cluster.work_kinds if each.state == "Served"]
    lines = ["", "Kinds of work"]
    lines += wrapped(f"served: {_named(served) or 'none'}", "  ")
    for state, words in _LACKS.items():
        if found := [each for each in cluster.work_kinds if each.state == state]:
            lines += wrapped(f"{words}: {_named(found)}", "  ")
            lines += wrapped(found[0].remedy, "    ") if found[0].remedy else []
    return lines


def _named(kinds: Iterable[WorkKind]) -> str:
    """Each with its API group, as two groups may have a kind of one name."""
    return ", ".join(f"{each.kind} ({each.api_version})" for each in kinds)


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
