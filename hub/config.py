"""Settings of the hub, read once at start from ROADSTEAD_<CONCERN>_<NAME>; durations in seconds.

The records themselves are `hub.services.context.settings`: nothing below `hub.main` reads the environment.
"""

import datetime as dt
import types
from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hub.services.context.settings import Settings


def limits_from(environ: Mapping[str, str]) -> Settings:
    """Defaults, overridden by the environment. Raises ValueError naming the variable."""
    defaults = Settings()
    return Settings(
        **{
            each.name: _read(each.name, getattr(defaults, each.name), environ)
            for each in fields(defaults)
        }
    )


def _read(concern: str, defaults: Any, environ: Mapping[str, str]) -> Any:
    hints = get_type_hints(type(defaults))
    given: dict[str, Any] = {}
    for each in _settable(defaults):
        variable = f"ROADSTEAD_{concern}_{each.name}".upper()
        text = environ.get(variable)
        # Only a text can be meant to be empty; deployments set what they leave open to nothing.
        if text or (text is not None and hints[each.name] is str):
            given[each.name] = _value(variable, text, hints[each.name])
    return type(defaults)(
        **{
            each.name: given.get(each.name, getattr(defaults, each.name))
            for each in _settable(defaults)
        }
    )


def _settable(record: Any) -> list[Field[Any]]:
    """What is set by itself, not taken from another record."""
    return [each for each in fields(record) if each.init]


def _value(variable: str, text: str, hint: type | types.GenericAlias) -> Any:
    try:
        if get_origin(hint) is Literal:
            if text not in get_args(hint):
                raise ValueError(f"expected one of {', '.join(get_args(hint))}")
            return text
        if hint is dt.timedelta:
            return dt.timedelta(seconds=float(text))
        return int(text) if hint is int else float(text) if hint is float else text
    except ValueError as error:
        raise ValueError(f"{variable}={text}: {error}") from error
