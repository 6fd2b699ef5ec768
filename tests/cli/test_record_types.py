"""Records of the Python client have what the hub's models send, in the same shape."""

import datetime as dt
from typing import Any

import pytest

from hub.api.models import explanation as sent, queues as sent_queues
from hub.api.models.base import Model
from roadstead.models.explanation import AvoidedBecause, Explanation
from roadstead.models.queues import QuotaUse
from roadstead.models.record import Record
from tests.cli.filled import filled


@pytest.mark.parametrize(
    ("record", "model"),
    [
        (Explanation, sent.Explanation),
        (AvoidedBecause, sent.AvoidedBecause),
        (QuotaUse, sent_queues.FlavorQuota),
    ],
)
def test_a_record_has_every_field_of_the_answer(record: type[Record], model: type[Model]) -> None:
    """A field that only the hub knew was dropped without a word."""
    keys = {field.alias or name for name, field in model.model_fields.items()}
    assert keys - {field.key for field in record.fields} == set()


def test_why_a_member_is_set_aside_is_a_record() -> None:
    """The hub sends reason and message for each member."""
    told: dict[str, Any] = {
        "setAsideBecause": {"m": {"reason": "NameConflict", "message": "taken"}}
    }
    told |= {"setAside": {"m": dt.datetime(2026, 3, 1, tzinfo=dt.UTC).isoformat()}}
    found = Explanation.of(filled(Explanation, **told))
    assert found.set_aside_because == {"m": AvoidedBecause(reason="NameConflict", message="taken")}
