"""The hub itself: figures, events, changes, people, the hub cluster, a rolled-back store."""

from collections.abc import Mapping, Sequence
from typing import Literal

from roadstead.calls.bodies import body_of
from roadstead.media_types import type_of
from roadstead.models.hub import (
    AvailabilityRules,
    Change,
    CheckedKinds,
    Decided,
    DecidedObjects,
    HubCluster,
    Incarnation,
    IssuedToken,
    Kept,
    KindVersions,
    Overview,
    Person,
    Removed,
    Restored,
)
from roadstead.models.jobs import Event
from roadstead.paths import part
from roadstead.steps import EventStream, Request, Steps, items, one


def overview() -> Steps[Overview]:
    """Counts by state, and the clusters' capacity."""
    return one(Request("GET", "/v1/overview"), Overview)


def events(
    *,
    namespace: str | None = None,
    kind: str | None = None,
    name: str | None = None,
    uid: str | None = None,
    limit: int | None = None,
) -> Steps[list[Event]]:
    """Recent matching events of the whole fleet, newest last; at most `limit` (1 to 500)."""
    query = {"namespace": namespace, "kind": kind, "name": name, "uid": uid, "limit": limit}
    return items(Request("GET", "/v1/events", query), Event)


def changes(revision: int | None = None) -> EventStream[Change]:
    """Follow changes in the hub, from `revision` on (default: from this call on), as they are committed."""
    return EventStream("/v1/changes", {"revision": revision}, lambda told: (Change.of(told),))


def tokens() -> Steps[list[Person]]:
    """List holders of tokens: role and name."""
    return items(Request("GET", "/v1/tokens"), Person)


def issue_token(name: str, role: str = "viewer", groups: Sequence[str] = ()) -> Steps[IssuedToken]:
    """Issue a token for a person, shown only once; revokes an earlier one of that role and name.

    `groups`: the user's groups, for role bindings.
    """
    given = {"role": role, "name": name, **({"groups": list(groups)} if groups else {})}
    return one(Request("POST", "/v1/tokens", body=body_of(given)), IssuedToken)


def revoke_token(name: str, role: str = "viewer") -> Steps[Person]:
    """Revoke a person's token."""
    return one(Request("DELETE", f"/v1/tokens/{part(role)}/{part(name)}"), Person)


def hub_cluster() -> Steps[HubCluster]:
    """Return whether the bridge to the hub cluster runs, and why it has stopped."""
    return one(Request("GET", "/v1/hub-cluster"), HubCluster)


def resume_hub_cluster(reason: str) -> Steps[HubCluster]:
    """Resume the bridge after it stopped for `reason`; `resuming` describes the effect."""
    return one(
        Request("POST", "/v1/hub-cluster/resume", body=body_of({"reason": reason})), HubCluster
    )


def restored() -> Steps[Restored]:
    """Return why the hub pauses after a rollback of its store, and the leftovers from before."""
    return one(Request("GET", "/v1/restored"), Restored)


def accept_restored() -> Steps[Incarnation]:
    """Accept a rolled-back store and resume dispatching."""
    return one(Request("POST", "/v1/restored:accept"), Incarnation)


def adopt_leftover(uid: str, cluster: str = "", owner: str = "") -> Steps[Decided]:
    """Continue a Job that a member has from before the restore; `cluster`: if several have it.

    `owner`: the owner of a job that the hub does not know.
    """
    given = {name: each for name, each in (("cluster", cluster), ("owner", owner)) if each}
    return one(Request("POST", f"/v1/restored/{part(uid)}/adopt", body=body_of(given)), Decided)


def forget_leftover(uid: str, cluster: str = "") -> Steps[Decided]:
    """Make its member remove a Job from before the store was restored."""
    given = {"cluster": cluster} if cluster else {}
    return one(Request("POST", f"/v1/restored/{part(uid)}/forget", body=body_of(given)), Decided)


def decide_left_objects(
    how: Literal["remove", "abandon"],
    *,
    object_uid: str = "",
    cluster: str = "",
    namespace: str = "",
    placement: str = "",
    dry_run: bool = False,
) -> Steps[DecidedObjects]:
    """Make members remove objects that the hub has no work for, or abandon them; `dry_run`: only list them.

    All that is given must match, and something must be: one object's uid, a cluster, a namespace, or the
    placement that wrote them, as `ResourcePlacement/web`.
    """
    named = {
        "objectUid": object_uid,
        "cluster": cluster,
        "namespace": namespace,
        "placement": placement,
    }
    given = {name: each for name, each in named.items() if each}
    asked = given | ({"dryRun": True} if dry_run else {})
    return one(Request("POST", f"/v1/restored:{how}", body=body_of(asked)), DecidedObjects)


def retention() -> Steps[Kept]:
    """Retention and row counts of the hub's tables: it counts every row."""
    return one(Request("GET", "/v1/retention"), Kept)


def run_retention() -> Steps[Removed]:
    """Delete expired rows now."""
    return one(Request("POST", "/v1/retention:run"), Removed)


def availability_rules() -> Steps[AvailabilityRules]:
    """Return the availability rules for custom resources in members."""
    return one(Request("GET", "/v1/availability-rules"), AvailabilityRules)


def declare_availability(rules: Sequence[Mapping[str, str]]) -> Steps[AvailabilityRules]:
    """Replace all declared rules: `group`, `kind`, `available`, and optionally `message`."""
    body = body_of({"rules": [dict(each) for each in rules]})
    return one(Request("PUT", "/v1/availability-rules", body=body), AvailabilityRules)


def kind_versions() -> Steps[KindVersions]:
    """Return the versions of the kinds that administrators defined."""
    return one(Request("GET", "/v1/kinds"), KindVersions)


def check_kinds(manifests: bytes | str) -> Steps[CheckedKinds]:
    """Try definitions of kinds, and read the other objects by them; nothing is kept."""
    body = manifests.encode() if isinstance(manifests, str) else manifests
    ask = Request("POST", "/v1/kinds:check", body=body, content_type=type_of(body))
    return one(ask, CheckedKinds)
