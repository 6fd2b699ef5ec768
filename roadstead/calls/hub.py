"""The hub itself: figures, events, changes, people, the hub cluster, a store that went back."""

from collections.abc import Mapping, Sequence

from roadstead.calls.bodies import body_of
from roadstead.models.hub import (
    AvailabilityRules,
    Change,
    Decided,
    HubCluster,
    Incarnation,
    IssuedToken,
    Kept,
    Overview,
    Person,
    Removed,
    Restored,
)
from roadstead.models.jobs import Event
from roadstead.paths import part
from roadstead.steps import EventStream, Request, Steps, items, one


def overview() -> Steps[Overview]:
    """Counts by state, and the clusters' room."""
    return one(Request("GET", "/v1/overview"), Overview)


def events(
    *,
    namespace: str | None = None,
    kind: str | None = None,
    name: str | None = None,
    uid: str | None = None,
    limit: int | None = None,
) -> Steps[list[Event]]:
    """Recent events of the whole fleet that match, newest last; at most `limit` (1 to 500)."""
    query = {"namespace": namespace, "kind": kind, "name": name, "uid": uid, "limit": limit}
    return items(Request("GET", "/v1/events", query), Event)


def changes(revision: int | None = None) -> EventStream[Change]:
    """What changes in the hub, from `revision` on (by default: from this call on), as it is committed."""
    return EventStream("/v1/changes", {"revision": revision}, lambda told: (Change.of(told),))


def tokens() -> Steps[list[Person]]:
    """Who holds a token: role and name."""
    return items(Request("GET", "/v1/tokens"), Person)


def issue_token(name: str, role: str = "viewer", groups: Sequence[str] = ()) -> Steps[IssuedToken]:
    """A token for a person, shown this once; an earlier one of that role and name ends.

    `groups`: those that a user is in, for role bindings to name.
    """
    given = {"role": role, "name": name, **({"groups": list(groups)} if groups else {})}
    return one(Request("POST", "/v1/tokens", body=body_of(given)), IssuedToken)


def revoke_token(name: str, role: str = "viewer") -> Steps[Person]:
    """End a person's token."""
    return one(Request("DELETE", f"/v1/tokens/{part(role)}/{part(name)}"), Person)


def hub_cluster() -> Steps[HubCluster]:
    """Whether the bridge to the hub cluster runs, and why it has stopped."""
    return one(Request("GET", "/v1/hub-cluster"), HubCluster)


def resume_hub_cluster(reason: str) -> Steps[HubCluster]:
    """Let the bridge go on after it stopped for `reason`; what that means stands in `resuming`."""
    return one(
        Request("POST", "/v1/hub-cluster/resume", body=body_of({"reason": reason})), HubCluster
    )


def restored() -> Steps[Restored]:
    """Why nothing is dispatched since the hub's store went back, and what is left from before."""
    return one(Request("GET", "/v1/restored"), Restored)


def accept_restored() -> Steps[Incarnation]:
    """Go on from a restored store that the hub has found to be older than what it once said."""
    return one(Request("POST", "/v1/restored:accept"), Incarnation)


def adopt_leftover(uid: str, cluster: str = "") -> Steps[Decided]:
    """Take over a Job that a member holds from before the store was restored; `cluster`: where several do."""
    given = {"cluster": cluster} if cluster else {}
    return one(Request("POST", f"/v1/restored/{part(uid)}/adopt", body=body_of(given)), Decided)


def forget_leftover(uid: str, cluster: str = "") -> Steps[Decided]:
    """Have its member remove a Job from before the store was restored."""
    given = {"cluster": cluster} if cluster else {}
    return one(Request("POST", f"/v1/restored/{part(uid)}/forget", body=body_of(given)), Decided)


def retention() -> Steps[Kept]:
    """What the hub keeps how long, and how much of it there is: it counts every row."""
    return one(Request("GET", "/v1/retention"), Kept)


def run_retention() -> Steps[Removed]:
    """Take away now what has been kept long enough."""
    return one(Request("POST", "/v1/retention:run"), Removed)


def availability_rules() -> Steps[AvailabilityRules]:
    """By which rules members tell whether custom resources are available."""
    return one(Request("GET", "/v1/availability-rules"), AvailabilityRules)


def declare_availability(rules: Sequence[Mapping[str, str]]) -> Steps[AvailabilityRules]:
    """Replace all declared rules: `group`, `kind`, `available`, and `message` where wanted."""
    body = body_of({"rules": [dict(each) for each in rules]})
    return one(Request("PUT", "/v1/availability-rules", body=body), AvailabilityRules)
