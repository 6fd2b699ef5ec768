"""The base of the hub's answers: JSON in, a frozen record out, by the annotations of its fields.

Records behave and are checked like frozen dataclasses with keyword-only fields, without dataclass's code
generation, which would delay each command for thirty classes.
"""

import datetime as dt
import inspect
from collections.abc import Callable
from types import UnionType
from typing import (
    Any,
    ClassVar,
    Final,
    NamedTuple,
    Self,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

Json = dict[str, Any]
Convert = Callable[[Any], Any]
_SHORT: Final = 40  # for a value of the wrong type, in the error
_NONE: Final = object()


class Malformed(ValueError):
    """An answer that is not a hub's: it lacks a required field."""


class Field(NamedTuple):
    """One field of a record: its name, the hub's name, its annotation, and its default.

    `convert` converts its JSON value; None if no conversion is needed.
    """

    name: str
    key: str
    hint: Any
    convert: Convert | None
    default: Any  # _NONE: it must be there
    factory: Callable[[], Any] | None
    shown: bool

    @property
    def is_required(self) -> bool:
        """Whether the field is required."""
        return self.default is _NONE and self.factory is None

    def value(self) -> Any:
        """Its default value."""
        return self.factory() if self.factory is not None else self.default


class _FieldOptions(NamedTuple):
    key: str
    default: Any
    factory: Callable[[], Any] | None
    shown: bool


def record_field(
    key: str = "",
    *,
    default: Any = _NONE,
    default_factory: Callable[[], Any] | None = None,
    repr: bool = True,  # noqa: A002 - as dataclasses.field has it
) -> Any:
    """A field with more than a default; `key` is the hub's name if it differs in more than spelling."""
    return _FieldOptions(key, default, default_factory, repr)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(record_field,))
class Record:
    """One answer of the hub, or a part of one; `raw` is its JSON. Immutable.

    Equal to a record of its kind with the same fields, whatever else their JSON contains.
    """

    fields: ClassVar[tuple[Field, ...]] = ()
    raw: Json = record_field(default_factory=dict, repr=False)

    def __init_subclass__(cls) -> None:
        found = {each.name: each for base in reversed(cls.__mro__[1:]) for each in _fields(base)}
        found |= {
            name: _field(name, hint, cls.__dict__.get(name, _NONE))
            for name, hint in inspect.get_annotations(cls).items()
        }
        cls.fields = tuple(found.values())

    def __init__(self, **given: Any) -> None:
        values: Json = {"raw": given.pop("raw", {})}
        for each in self.fields:
            if each.name in given:
                values[each.name] = given.pop(each.name)
            elif each.is_required:
                raise TypeError(f"a {type(self).__name__} has {each.name!r}")
            else:
                values[each.name] = each.value()
        if given:
            raise TypeError(f"a {type(self).__name__} has no {next(iter(given))!r}")
        self.__dict__.update(values)

    @classmethod
    def of(cls, raw: Any) -> Self:
        """Build the record of this JSON object.

        A missing or null value becomes the field's default. Raises Malformed if there is no default.
        """
        if not isinstance(raw, dict):
            raise Malformed(f"{str(raw)[:_SHORT]!r} is no {cls.__name__}")
        found: Json = {"raw": raw}
        for each in cls.fields:
            value = raw.get(each.key)
            if value is not None:
                found[each.name] = value if each.convert is None else _converted(each, value)
            elif each.is_required:
                raise Malformed(f"its {cls.__name__} has no {each.key!r}")
            else:
                found[each.name] = each.value()
        made = cls.__new__(cls)
        made.__dict__.update(found)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, e.name) == getattr(other, e.name) for e in self.fields)

    __hash__ = None  # type: ignore[assignment]  # its fields may be dictionaries

    def __repr__(self) -> str:
        shown = ", ".join(f"{e.name}={getattr(self, e.name)!r}" for e in self.fields if e.shown)
        return f"{type(self).__name__}({shown})"


def key_of(name: str) -> str:
    """`created_at` as the hub writes it: createdAt."""
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


def _fields(base: type) -> tuple[Field, ...]:
    return base.fields if issubclass(base, Record) else ()


def _field(name: str, hint: Any, given: Any) -> Field:
    more = (
        given if isinstance(given, _FieldOptions) else _FieldOptions("", given, None, shown=True)
    )
    key = more.key or key_of(name)
    return Field(name, key, hint, _convert(hint), more.default, more.factory, more.shown)


def _converted(field: Field, value: Any) -> Any:
    assert field.convert is not None
    try:
        return field.convert(value)
    except Malformed:
        raise
    except (TypeError, ValueError, AttributeError) as fault:
        raise Malformed(f"its {field.key!r} is {str(value)[:_SHORT]!r}") from fault


def _convert(hint: Any) -> Convert | None:
    """A converter from JSON to the type `hint`; None if no conversion is needed."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (hint,) = (each for each in inside if each is not type(None))
        return _convert(hint)
    if origin is tuple:
        each = _convert(inside[0])
        return tuple if each is None else lambda values: tuple(each(v) for v in values)
    if origin is dict:
        one = _convert(inside[1])
        return one and (lambda value: {k: None if v is None else one(v) for k, v in value.items()})
    if hint is dt.datetime:
        return dt.datetime.fromisoformat
    if isinstance(hint, type) and issubclass(hint, Record):
        return hint.of
    return None
