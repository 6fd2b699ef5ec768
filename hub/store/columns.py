"""Types of columns beyond those of SQL: instants, JSON, and the states of the domain."""

import datetime as dt
from typing import Any

import orjson
from sqlalchemy import DateTime, Dialect, LargeBinary, String, TypeDecorator

from hub.domain.workloads.states import State, WithdrawTo


class Utc(TypeDecorator[dt.datetime]):
    """A timezone-aware instant; stored as UTC, returned as UTC. A naive value is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(
        self, value: dt.datetime | None, dialect: Dialect
    ) -> dt.datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("naive datetime")
        return value.astimezone(dt.UTC)

    def process_result_value(
        self, value: dt.datetime | None, dialect: Dialect
    ) -> dt.datetime | None:
        return None if value is None else value.replace(tzinfo=dt.UTC)


class JsonColumn(TypeDecorator[Any]):
    """An opaque JSON value, kept as the bytes orjson writes."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:
        return None if value is None else orjson.dumps(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:
        return None if value is None else orjson.loads(value)


class StateColumn(TypeDecorator[State]):
    """The state of a workload, where a query asks for it as one of the domain's."""

    impl = String
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> State | None:
        return None if value is None else State(value)


class WithdrawColumn(TypeDecorator[WithdrawTo]):
    """What follows once a workload has been taken back, likewise."""

    impl = String
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> WithdrawTo | None:
        return None if value is None else WithdrawTo(value)
