"""Answers in which every field has a value of its own: what is taken from another one is seen."""

import datetime as dt
from types import UnionType
from typing import Any, Union, get_args, get_origin

from roadstead.models.objects import KubernetesObject
from roadstead.models.record import Field, Json, Record

LATER = "2999-01-01T00:00:00Z"  # its age is 0s, which no other time of an answer has
_EPOCH = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


def filled(kind: type[Record], **given: Any) -> Json:
    """The JSON of a record: a text is its field's name, a number or a time is told by the field's place.

    `given` are the values of fields by the hub's names; nothing is known of what is JSON only.
    """
    found = {each.key: _value(each, number) for number, each in enumerate(kind.fields, 1)}
    found.pop("raw", None)
    known = {key: value for key, value in found.items() if value is not None}
    return known | given


def _value(field: Field, number: int) -> Any:
    return _of(field.hint, field.key, number)


def _of(hint: Any, key: str, number: int) -> Any:
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (hint,) = (each for each in inside if each is not type(None))
        return _of(hint, key, number)
    if origin is tuple:
        one = _of(inside[0], key, number)
        return None if one is None else [one]
    if origin is dict:
        value = _of(inside[1], f"of-{key}", number)
        return None if value is None else {f"k-{key}": value}
    if hint is dt.datetime:
        return (_EPOCH + dt.timedelta(days=number)).isoformat().replace("+00:00", "Z")
    if isinstance(hint, type) and issubclass(hint, Record):
        return filled(hint)
    return {str: key, int: number, float: number + 0.5, bool: True}.get(hint)


# A Workload as the hub shows it, each of its columns with a value of its own.
WORKLOAD = filled(
    KubernetesObject,
    metadata={
        "name": "w",
        "namespace": "ns",
        "creationTimestamp": LATER,
        "ownerReferences": [{"kind": "Job", "name": "train"}],
    },
    spec={"queueName": "queueName", "priority": 7, "active": False},
    status={
        "clusterName": "clusterName",
        "admission": {"clusterQueue": "clusterQueue"},
        "requeueState": {"requeueAt": "requeueAt"},
        "admissionChecks": [{"name": "check", "state": "Pending", "message": "soon"}],
        "conditions": [
            {"type": "Admitted", "status": "Unknown", "reason": "r1", "message": "m1"},
            {"type": "Finished", "status": "False", "reason": "r2", "message": "m2"},
        ],
    },
)
