"""How an agent's message is read: what is at fault is refused by itself, and the rest is taken."""

import json
from typing import Any

import pytest

from hub.api.agents import read_sync
from shared.errors import Rejected


def an_entry(uid: str, **more: Any) -> dict[str, Any]:
    return {"uid": uid, "epoch": 1, "generation": 1, "seq": 1, "phase": "Applied", **more}


def read(*entries: Any, **more: Any) -> Any:
    message = {
        "session": "f1b2c3d4e5",
        "seq": 7,
        "cluster_uid": "k",
        "observed": {"full": True, "digest": "d", "entries": list(entries)},
        **more,
    }
    return read_sync(json.dumps(message).encode(), "c1")


def test_entries_at_fault_are_refused_by_their_uids_and_the_others_are_taken() -> None:
    """Wherever they stand among them; one that is no object has no uid; each is refused once."""
    message, refused = read(
        an_entry("a", phase="No"),
        an_entry("b"),
        "nothing",
        an_entry("c", generation=-1, phase="No"),
        an_entry("d"),
        an_entry("x" * 99, epoch="no"),
    )
    assert [entry.uid for entry in message.observed.entries] == ["b", "d"]
    assert [(each.uid, each.code) for each in refused] == [
        ("a", "InvalidEntry"),
        ("", "InvalidEntry"),
        ("c", "InvalidEntry"),
        ("x" * 64, "InvalidEntry"),
    ]
    assert refused[0].detail.startswith("observed.entries.0.phase: ")
    assert (message.seq, message.observed.full, message.observed.digest) == (7, True, "d")


def test_a_capacity_at_fault_is_refused_once_and_the_entries_are_taken() -> None:
    """Together with entries at fault, which have codes of their own."""
    message, refused = read(
        an_entry("a"), an_entry("b", phase="No"), capacity={"pools": 1, "bound": 2}
    )
    assert message.capacity is None
    assert [entry.uid for entry in message.observed.entries] == ["a"]
    codes = sorted((each.uid, each.code) for each in refused)
    assert codes == [("", "CapacityInvalid"), ("b", "InvalidEntry")]


@pytest.mark.parametrize(
    ("more", "code", "field"),
    [
        ({"seq": "no"}, "InvalidMessage", "seq"),
        ({"proto": "new"}, "UpgradeRequired", "proto"),
        ({"cluster": "c2"}, "IdentityMismatch", "cluster"),
    ],
)
def test_a_message_at_fault_as_a_whole_is_refused(
    more: dict[str, Any], code: str, field: str
) -> None:
    """Though entries of it are at fault as well: with the field that is."""
    with pytest.raises(Rejected) as no:
        read(an_entry("a", phase="No"), **more)
    assert no.value.code == code
    assert field in [no.value.field, *(each.field for each in no.value.errors)]
