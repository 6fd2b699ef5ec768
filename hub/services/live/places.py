"""Locates the pods of a job by the store: the agent to ask, or the reason why it can not be asked."""

from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

import orjson

from hub.domain.access import Area
from hub.domain.workloads.states import State
from hub.services.index.fleet import state_of
from hub.store import clusters, manifests, workloads
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.manifest_yaml import read_yaml
from shared.reject_codes import RejectCode
from shared.secrecy import Form, Place, places

_NOT_THERE: Final = frozenset({State.HELD, State.PENDING, State.RESERVED, State.PLACED})
_LEAST_CHARACTERS: Final = 4  # of a value that is looked for: a shorter one is in every other word
_MOST_VALUES: Final = 500  # lines of values: looking for them costs time with each


class PodsPlace(NamedTuple):
    """The job, its cluster, and what must not be read in its logs (longest first)."""

    uid: str
    namespace: str
    name: str
    cluster: str
    queue: str
    owner: str
    hidden: tuple[str, ...] = ()

    def is_within(self, areas: Iterable[Area]) -> bool:
        """True if the job is in one of them."""
        return any(area.holds(self.namespace, self.queue, self.owner) for area in areas)


def find(tx: Transaction, uid: str, shown: Collection[Area], suspect_after_s: float) -> PodsPlace:
    """The location of the job's pods; `shown`: True if the caller may read values of environment variables.

    Raises Rejected: NotFound, JobWaits, ClusterSilent; Forbidden where there is more to hide than can be
    looked for.
    """
    row = workloads.get(tx, uid)
    if row is None or not tx.scope.shows(row.namespace, row.queue, row.owner):
        raise Rejected(RejectCode.NOT_FOUND, f"there is no job {uid[:64]}")
    name = f"{row.namespace}/{row.name}"
    if not row.cluster or row.state in _NOT_THERE:
        text = f"{name} is {row.state}: no cluster holds pods of it; roadstead explain {name}"
        raise Rejected(RejectCode.JOB_WAITS, text)
    member = clusters.get(tx, row.cluster)
    if member is None:
        text = f"{name} ran in {row.cluster}, which is no member any more"
        raise Rejected(RejectCode.PODS_REMOVED, text)
    state = state_of(member, tx.now, suspect_after_s)
    if state in {"Suspect", "Declared", "Fenced"}:
        heard = "never" if member.heartbeat_at is None else f"{member.heartbeat_at:%H:%M:%S} UTC"
        text = f"{name} is in {row.cluster}, whose agent is silent (last heard: {heard})"
        raise Rejected(RejectCode.CLUSTER_SILENT, f"{text}; ask again when it is back")
    place = PodsPlace(row.uid, row.namespace, row.name, row.cluster, row.queue, row.owner)
    return place if place.is_within(shown) else place._replace(hidden=values_of(tx, uid))


def values_of(tx: Transaction, uid: str) -> tuple[str, ...]:
    """Values of environment variables in the job's manifest, longest first. Raises Rejected: Forbidden."""
    found = manifests.latest(tx, uid)
    if found is None:
        return ()
    given = (text for place in places(orjson.loads(found[1])) for text in _texts(place))
    lines = (line.strip() for text in given for line in text.splitlines())
    values = {line for line in lines if len(line) >= _LEAST_CHARACTERS}
    if len(values) > _MOST_VALUES:
        text = (
            f"values of its environment variables have more than {_MOST_VALUES} lines, too many to hide "
            "them in its logs: an administrator may read those"
        )
        raise Rejected(RejectCode.FORBIDDEN, text)
    return tuple(sorted(values, key=lambda each: (-len(each), each)))


def _texts(place: Place) -> Iterator[str]:
    """Texts that are looked for: of NAME=VALUE its second part, of a document the values inside it."""
    if place.form == Form.DOCUMENT:
        yield from _texts_of_document(place.value)
    elif place.form == Form.ASSIGNMENT and isinstance(place.value, str):
        name, _, value = place.value.partition("=")
        yield value or name
    else:
        yield from _scalars(place.value)


def _texts_of_document(text: str) -> Iterator[str]:
    """Of what can not be read all of it."""
    try:
        found = places(read_yaml(text.encode())) if text.strip() else []
    except (Rejected, UnicodeEncodeError):
        yield text
        return
    for each in found:
        yield from _texts(each)


def _scalars(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _scalars(each)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
