"""Types of columns: instants in UTC, JSON as bytes, what is encrypted, options of works, and states."""

import datetime as dt
import functools
from typing import Any

import orjson
from sqlalchemy import DateTime, Dialect, Engine, LargeBinary, String
from sqlalchemy.types import TypeDecorator

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.chains import EndCondition, LinkState
from hub.domain.workloads.states import State, WithdrawTo
from hub.store.keyring import NO_KEYS, Keyring


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

    def process_bind_param(self, value: object, dialect: Dialect) -> bytes | None:
        return None if value is None else orjson.dumps(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:
        return None if value is None else orjson.loads(value)


class SealedColumn(TypeDecorator[bytes]):
    """Bytes that are kept encrypted where the engine has a key (`give_keys`). `place`: table.column."""

    impl = LargeBinary
    cache_ok = True

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place

    def process_bind_param(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        return None if value is None else keys_of(dialect).seal(value, self.place)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        return None if value is None else keys_of(dialect).unseal(value, self.place)


class SealedJsonColumn(JsonColumn):
    """An opaque JSON value, likewise."""

    cache_ok = True

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place

    def process_bind_param(self, value: object, dialect: Dialect) -> bytes | None:
        body = super().process_bind_param(value, dialect)
        return None if body is None else keys_of(dialect).seal(body, self.place)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> object:
        body = None if value is None else keys_of(dialect).unseal(value, self.place)
        return super().process_result_value(body, dialect)


def give_keys(engine: Engine, keys: Keyring) -> Engine:
    """The engine, which seals and opens by `keys` from here on."""
    engine.dialect.roadstead_keys = keys  # type: ignore[attr-defined]  # types of columns see no more of it
    return engine


def keys_of(dialect: Dialect) -> Keyring:
    """The keys of an engine's dialect; none where none were given."""
    found = getattr(dialect, "roadstead_keys", NO_KEYS)
    assert isinstance(found, Keyring)
    return found


class OptionsColumn(TypeDecorator[ApplyOptions]):
    """The apply options of a work: the one place that writes and reads their JSON."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: ApplyOptions | None, dialect: Dialect) -> bytes | None:
        return None if value is None else orjson.dumps(value.as_json())

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> ApplyOptions | None:
        return None if value is None else _read_options(value)


@functools.lru_cache(maxsize=10_000)  # those of one plan are mostly alike
def _read_options(body: bytes) -> ApplyOptions:
    return ApplyOptions.from_json(orjson.loads(body))


class StateColumn(TypeDecorator[State]):
    """The state of a workload, where a query asks for it as one of the domain's."""

    impl = String
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> State | None:
        return None if value is None else State(value)


class WithdrawColumn(TypeDecorator[WithdrawTo]):
    """The next state after a withdrawal, likewise."""

    impl = String
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> WithdrawTo | None:
        return None if value is None else WithdrawTo(value)


class EndConditionColumn(TypeDecorator[EndCondition]):
    """The required end of a dependency, likewise."""

    impl = String
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> EndCondition | None:
        return None if value is None else EndCondition(value)


class LinkColumn(TypeDecorator[LinkState]):
    """The state of a dependency, likewise."""

    impl = String
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> LinkState | None:
        return None if value is None else LinkState(value)
