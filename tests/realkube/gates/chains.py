"""Requests that build on each other: the first sets what a policy reads, the next uses it.

`MARKERS` are everything that our policies read of a stored object, as a first request would set it on an
object of the member's people (`FOREIGN`). In the chains `yes` is an allowed request, `gate` one that is
denied. Each chain works on an object of its own, made like one of the tables'.
"""

from dataclasses import dataclass
from typing import Final

from tests.realkube.gates import world
from tests.realkube.gates.asking import Json
from tests.realkube.gates.requests import TOUCHED, merged


@dataclass(frozen=True)
class Marker:
    """One mark, as a merge patch."""

    name: str
    change: Json


def labelled(**labels: str | None) -> Json:
    return {"metadata": {"labels": labels}}


def annotated(**annotations: str | None) -> Json:
    return {"metadata": {"annotations": annotations}}


_GONE: Final = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "0-0"}
_KEPT: Final = "example.com/keep"
FOREIGN: Final = ("Secret theirs", "Deployment theirs", "Job theirs", "Namespace theirs")
MARKERS: Final = (
    Marker("managed-by", labelled(**world.MANAGED)),
    Marker("created-by", labelled(**world.CREATED)),
    Marker("accept", labelled(**world.ACCEPT)),
    Marker("accept-and-managed-by", labelled(**world.ACCEPT, **world.MANAGED)),
    Marker("accept-tokens", labelled(**{"roadstead.dev/accept-tokens": "true"})),
    Marker("job-uid", labelled(**world.MANAGED, **{"roadstead.dev/job-uid": "u"})),
    Marker("spec-hash", annotated(**{"roadstead.dev/spec-hash": "x"})),
    Marker("our-finalizer", {"metadata": {"finalizers": ["roadstead.dev/result"]}}),
    Marker("a-finalizer", {"metadata": {"finalizers": [_KEPT]}}),
    Marker("an-owner-that-is-gone", {"metadata": {"ownerReferences": [_GONE]}}),
    Marker("a-deletion", {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
    Marker(
        "no-level",
        labelled(**world.MANAGED, **{"pod-security.kubernetes.io/enforce": "privileged"}),
    ),
)


@dataclass(frozen=True)
class Step:
    """One request and its answer; `who` asks it, where it is not the chain's."""

    action: str
    change: Json
    verdict: str
    who: str = ""


@dataclass(frozen=True)
class Chain:
    """Who does what with an object that is made like `like`, one request after the other."""

    name: str
    who: str
    like: str
    steps: tuple[Step, ...]

    @property
    def obj(self) -> str:
        """The key of its own object."""
        return f"{self.like} {self.name}"


def merge(change: Json, verdict: str) -> Step:
    return Step("merge", change, verdict)


def force(change: Json, verdict: str) -> Step:
    return Step("force", change, verdict)


DENIED: Final = Step("delete", {}, "gate")
DELETED: Final = Step("delete", {}, "yes")
QUEUE: Final = "kueue.x-k8s.io/queue-name"
START: Final = {"spec": {"suspend": False}}
UNQUEUED: Final = labelled(**{QUEUE: None})
EMPTIED: Final = merged(UNQUEUED, annotated(**{QUEUE: ""}))
FREED: Final[Json] = {"metadata": {"finalizers": None}}
OWNED: Final = {"metadata": {"ownerReferences": [{**_GONE, "controller": True}]}}
NO_ORIGIN: Final = labelled(**{"roadstead.dev/origin": None})
ANOTHER: Final = annotated(**{world.SUBMITTED_BY: "bob"})
BY_HUB: Final = annotated(**{"roadstead.dev/mirror-of": "u"})
UNMARKED: Final = labelled(**dict.fromkeys(world.CREATED))
OTHER_HUB: Final = labelled(**{"roadstead.dev/managed-by": "hub-2"})
HOLDING: Final = {"metadata": {"finalizers": [_KEPT]}}
DATA: Final = {"data": {"key": "b3Vycw=="}}
RELEASED: Final = labelled(**dict.fromkeys({**world.CREATED, **world.TAKEN}))
RELABELLED: Final = merged(RELEASED, labelled(app="evil"))
ANNOTATED: Final = merged(RELEASED, annotated(**{"example.com/load-balancer": "yes"}))
_ENFORCE: Final = "pod-security.kubernetes.io/enforce"
PINNED: Final = labelled(**{f"{_ENFORCE}-version": "v1.0"})
WITHDRAWN: Final = labelled(**{"roadstead.dev/accept": None})

_MEMBER: Final = (
    Chain("released-then-deleted", "agent+", "Secret created", (merge(UNMARKED, "yes"), DENIED)),
    Chain(
        "released-then-marked-again",
        "agent+",
        "Secret created",
        (merge(UNMARKED, "yes"), merge(labelled(**world.CREATED), "gate"), DENIED),
    ),
    Chain(
        "taken-then-claimed",
        "agent+",
        "Secret lent",
        (
            merge(labelled(**world.MANAGED), "yes"),
            merge(labelled(**world.CREATED), "gate"),
            DENIED,
        ),
    ),
    Chain(
        "taken-then-owned",
        "agent+",
        "Secret lent",
        (merge(labelled(**world.MANAGED), "yes"), merge(OWNED, "gate"), force(OWNED, "gate")),
    ),
    Chain(
        "taken-then-of-another-hub",
        "agent+",
        "Secret lent",
        (merge(labelled(**world.MANAGED), "yes"), merge(OTHER_HUB, "gate")),
    ),
    Chain(
        "a-job-released-then-changed",
        "agent+",
        "Job created",
        (merge(FREED, "yes"), merge(labelled(**dict.fromkeys(world.MANAGED)), "gate")),
    ),
    Chain(
        "a-level-raised-then-lowered",
        "agent+",
        "Namespace created",
        (
            merge(labelled(**{"pod-security.kubernetes.io/enforce": "restricted"}), "yes"),
            merge(labelled(**{"pod-security.kubernetes.io/enforce": "baseline"}), "gate"),
            merge(labelled(**{"pod-security.kubernetes.io/enforce": None}), "gate"),
        ),
    ),
    Chain(
        "a-namespace-taken-then-claimed",
        "agent+",
        "Namespace lent",
        (
            merge(labelled(**world.MANAGED), "gate"),
            merge(labelled(**world.TAKEN), "yes"),
            merge(labelled(**{"roadstead.dev/job-uid": None}), "gate"),
            force(labelled(**world.CREATED), "gate"),
            DENIED,
        ),
    ),
    Chain(
        "its-own-namespace-accepts",
        "agent+",
        "Namespace created",
        (merge(labelled(**world.ACCEPT), "gate"), force(labelled(**world.ACCEPT), "gate")),
    ),
)
HELD_BY_PEOPLE: Final = Step("merge", HOLDING, "yes", "admin")
_AFTER_WITHDRAWAL: Final = (
    Chain(
        "deleted-then-changed",
        "agent+",
        "Secret withdrawn",
        (HELD_BY_PEOPLE, merge(DATA, "gate"), DELETED, merge(DATA, "gate"), force(DATA, "gate")),
    ),
    Chain(
        "deleted-then-released",
        "agent+",
        "Secret withdrawn",
        (HELD_BY_PEOPLE, DELETED, merge(RELABELLED, "gate"), merge(RELEASED, "yes")),
    ),
    Chain(
        "released-with-more",
        "agent+",
        "Secret withdrawn",
        (merge(RELABELLED, "gate"), merge(ANNOTATED, "gate"), merge(RELEASED, "yes"), DENIED),
    ),
    Chain(
        "kept-then-deleted",
        "agent+",
        "Secret created",
        (merge(HOLDING, "gate"), merge(OWNED, "gate"), force(OWNED, "gate"), DELETED),
    ),
    Chain(
        "a-version-then-a-level",
        "agent+",
        "Namespace created",
        (
            merge(PINNED, "gate"),
            merge(merged(PINNED, labelled(**{_ENFORCE: "baseline"})), "gate"),
            merge(labelled(**{f"{_ENFORCE}-version": "latest"}), "yes"),
        ),
    ),
    *(
        Chain(
            "taken-then-withdrawn",
            "agent+",
            like,
            (
                merge(labelled(**world.TAKEN, team="blue"), "yes"),
                Step("merge", WITHDRAWN, "yes", "admin"),
                merge(labelled(team="red"), "gate"),
                merge(annotated(**{"example.com/note": "yes"}), "gate"),
                merge(RELABELLED, "gate"),
                merge(RELEASED, "yes"),
                merge(labelled(team="red"), "gate"),
            ),
        )
        for like in ("Namespace taken", "PriorityClass taken")
    ),
    Chain(
        "a-job-given-to-a-hub-that-is-accepted",
        "agent+",
        "Job working",
        (merge(OTHER_HUB, "gate"), merge(merged(OTHER_HUB, START), "gate")),
    ),
)
WITH_TOKENS: Final[Json] = {"spec": {"template": {"spec": {"automountServiceAccountToken": True}}}}
_MARKED_AND_CHANGED: Final = merged(labelled(**world.MANAGED), {"data": {"key": "other"}})
MEMBER: Final = (
    *_MEMBER,
    *_AFTER_WITHDRAWAL,
    *(
        Chain(
            "a-copy-of-one-mark-is-changed",
            "agent+",
            f"ConfigMap {name}",
            (
                force({"data": {"key": "other"}}, "gate"),
                merge({"data": {"key": "other"}}, "gate"),
                merge(_MARKED_AND_CHANGED, "gate"),
                force(_MARKED_AND_CHANGED, "gate"),
                DENIED,
            ),
        )
        for name in ("noted", "held")
    ),
    *(
        Chain(
            "a-copy-of-one-mark-is-started",
            "agent+",
            f"Job {name}",
            (
                merge(labelled(**world.MANAGED), "gate"),
                force(merged(labelled(**world.MANAGED), START), "gate"),
                merge(START, "gate"),
                DENIED,
            ),
        )
        for name in ("noted", "held")
    ),
    Chain(
        "a-token-is-turned-on",
        "agent+",
        "Deployment mute",
        (merge(WITH_TOKENS, "gate"), force(WITH_TOKENS, "gate")),
    ),
    Chain(
        "the-default-is-a-token",
        "agent+",
        "Deployment mute",
        (merge({"spec": {"template": {"spec": {"automountServiceAccountToken": None}}}}, "gate"),),
    ),
)
HUB_CLUSTER: Final = (
    Chain(
        "a-controller-then-a-start",
        "submitter",
        "Job suspended",
        (merge(OWNED, "gate"), force(OWNED, "gate"), merge(START, "gate")),
    ),
    Chain(
        "no-finalizer-then-no-queue",
        "submitter",
        "Job suspended",
        (merge(FREED, "yes"), merge(EMPTIED, "gate"), merge(UNQUEUED, "gate")),
    ),
    Chain(
        "an-annotation-then-no-label",
        "submitter",
        "Job marked",
        (
            merge(annotated(**{QUEUE: "other"}), "yes"),
            merge(FREED, "yes"),
            merge(EMPTIED, "gate"),
        ),
    ),
    Chain(
        "a-template-then-a-queue",
        "submitter",
        "Job hostile",
        (merge(TOUCHED, "yes"), merge(labelled(**world.QUEUED), "gate")),
    ),
    Chain(
        "a-template-then-the-finalizer",
        "submitter",
        "Job hostile",
        (merge({"metadata": {"finalizers": ["roadstead.dev/hub"]}}, "gate"),),
    ),
    Chain(
        "no-finalizer-then-another-name",
        "submitter",
        "Job marked",
        (merge(FREED, "yes"), merge(ANOTHER, "gate")),
    ),
    Chain(
        "no-origin-then-deleted",
        "tool",
        "Job mirror",
        (merge(NO_ORIGIN, "gate"), force(merged(NO_ORIGIN, TOUCHED), "gate"), DENIED),
    ),
    Chain(
        "an-administrator-marks-a-mirror",
        "admin",
        "LocalQueue theirs",
        (merge(BY_HUB, "yes"), merge(labelled(**world.ORIGIN), "gate")),
    ),
    Chain(
        "the-hub-marks-then-deletes",
        "hub+",
        "Job foreign",
        (merge(labelled(**world.ORIGIN), "gate"), DENIED),
    ),
    Chain(
        "the-hub-queues-then-deletes",
        "hub+",
        "Job foreign",
        (merge(labelled(**world.QUEUED), "gate"), DENIED),
    ),
    Chain(
        "the-hub-holds-then-deletes",
        "hub+",
        "Job foreign",
        (merge({"metadata": {"finalizers": ["roadstead.dev/hub"]}}, "gate"), DENIED),
    ),
    Chain(
        "the-hub-owns-then-waits-for-the-collector",
        "hub+",
        "Job foreign",
        (merge(OWNED, "gate"), force(OWNED, "gate")),
    ),
    Chain(
        "the-hub-starts-its-mirror",
        "hub+",
        "Job mirror",
        (merge(TOUCHED, "yes"), merge(START, "gate"), force(START, "gate")),
    ),
)


def with_copies(objects: world.Manifests, chains: tuple[Chain, ...]) -> dict[str, Json]:
    """The objects, and one for each chain."""
    found = dict(objects)
    for number, chain in enumerate(chains):
        found[chain.obj] = merged(objects[chain.like], {"metadata": {"name": f"chain-{number}"}})
    return found
