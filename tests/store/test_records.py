"""Records are what the tables hold: a field for each column, with its type."""

import datetime as dt
import types
import typing

import pytest
from sqlalchemy import BigInteger, Boolean, Integer, LargeBinary, String, Table, Text

from hub.domain.workloads.apply_options import ApplyOptions
from hub.store import tables
from hub.store.columns import JsonColumn, OptionsColumn, Utc
from hub.store.kind_versions import KindVersion
from hub.store.records.history import AuditEntry, StoredEvent
from hub.store.records.members import DeclaredColumns, Member, MemberColumns
from hub.store.records.objects import StoredObject
from hub.store.records.tokens import StoredPrincipal, Token
from hub.store.records.workloads import (
    MoveColumns,
    Workload,
    WorkloadChange,
    WorkloadColumns,
    WorkloadMove,
)
from hub.store.records.works import Work

RECORDS = [
    (tables.workloads, Workload),
    (tables.objects, StoredObject),
    (tables.clusters, Member),
    (tables.works, Work),
    (tables.events, StoredEvent),
    (tables.audit, AuditEntry),
    (tables.principals, StoredPrincipal),
    (tables.kind_versions, KindVersion),
]
IN_ORDER = [
    tables.objects, tables.works, tables.events, tables.audit, tables.principals,
    tables.kind_versions,
]  # fmt: skip
_PYTHON = {
    String: str,
    Text: str,
    Integer: int,
    BigInteger: int,
    Boolean: bool,
    LargeBinary: bytes,
    Utc: dt.datetime,
    OptionsColumn: ApplyOptions,
}


def _is_of(hint: object, column_type: object) -> bool:
    """Does a field's type fit what the column gives?"""
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    (kind,) = [each for each in options if each is not types.NoneType]
    if isinstance(column_type, JsonColumn):
        return typing.get_origin(kind) is not None
    expected = next(python for sql, python in _PYTHON.items() if type(column_type) is sql)
    return isinstance(kind, type) and issubclass(kind, expected)


@pytest.mark.parametrize(("table", "record"), RECORDS, ids=lambda each: getattr(each, "name", ""))
def test_a_record_has_the_columns_of_its_table(table: Table, record: type) -> None:
    """By name, none too many, and the type of each is the column's; None where it may be null."""
    hints = typing.get_type_hints(record)
    assert hints.keys() == {column.name for column in table.c}
    wrong = [c.name for c in table.c if not _is_of(hints[c.name], c.type)]
    wrong += [
        c.name
        for c in table.c
        if (type(None) in typing.get_args(hints[c.name])) != bool(c.nullable)
    ]
    assert wrong == []


def test_what_may_be_set_of_a_workload_are_its_columns() -> None:
    """Named as in its record, with the same types; its identity and its state are not among them."""
    fixed = {
        "uid",
        "api_version",
        "kind",
        "namespace",
        "name",
        "state",
        "epoch",
        "created_at",
        "owner",
    }
    whole = typing.get_type_hints(Workload)
    assert typing.get_type_hints(WorkloadColumns) == {
        name: hint for name, hint in whole.items() if name not in fixed
    }
    for written in (WorkloadChange, WorkloadMove):
        assert written.__required_keys__ <= {"uid", "epoch"}
    assert typing.get_type_hints(MoveColumns).keys() - whole.keys() == {
        "new_epoch",
        "if_state",
        "if_generation",
        "cause",
    }


def test_what_may_be_set_of_a_member_are_its_columns() -> None:
    """Named as in its record, with the same types; its name and its age are not among them."""
    whole = typing.get_type_hints(Member)
    settable = {n: hint for n, hint in whole.items() if n not in {"name", "created_at"}}
    assert typing.get_type_hints(MemberColumns) == settable
    assert typing.get_type_hints(DeclaredColumns).items() <= settable.items()


@pytest.mark.parametrize("table", IN_ORDER, ids=lambda each: each.name)
def test_records_of_whole_rows_are_in_the_order_of_their_table(table: Table) -> None:
    """Queries ask for the table, and make records of its rows as they come."""
    record: typing.Any = dict(RECORDS)[table]
    assert record._fields == tuple(column.name for column in table.c)


def test_a_token_is_read_with_whose_it_is() -> None:
    """Its own columns in their order, then those of its principal."""
    own = tuple(column.name for column in tables.tokens.c)
    assert Token._fields == (*own, "role", "name", "cluster", "groups")
