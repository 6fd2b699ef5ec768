"""Settings of the hub, read once at start from ROADSTEAD_<CONCERN>_<NAME>; durations in seconds.

The records themselves are `hub.services.context.settings`: nothing below `hub.main` reads the environment.
"""

import datetime as dt
import difflib
import math
import re
import types
from collections.abc import Collection, Mapping
from dataclasses import Field, fields
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from hub.services.context.settings import Settings
from shared.documents import Json


def limits_from(environ: Mapping[str, str]) -> Settings:
    """Defaults, overridden by the environment. Raises ValueError naming the variable."""
    defaults = Settings()
    return Settings(
        **{
            each.name: _read(each.name, getattr(defaults, each.name), environ)
            for each in fields(defaults)
        }
    )


# Variables of the command line, of agents and of every process: a fleet's parts share an environment.
_OTHERS: Final = frozenset(
    f"ROADSTEAD_{name}"
    for name in (
        *(
            "SERVER",
            "TOKEN",
            "CA",
            "DATA",
            "LOG_LEVEL",
            "LOG_FORMAT",
            "FP",
            "PARENT",
            "DIE_WITH_PARENT",
        ),
        *("CONTEXT", "NAMESPACE", "IMAGE", "ARRAY_FIRST", "ARRAY_INDEX"),
        *("HUB", "HUB_CA", "HUB_CA_PIN", "HUB_PLAIN_HTTP", "CLIENT_CERT", "CLIENT_KEY"),
        *("CREDENTIAL", "JOIN_TOKEN", "KUBECONFIG", "KUBE_QPS", "PROPERTIES_NAMESPACE"),
        *("DATABASE", "SECRETS_KEY", "METRICS_HOST", "METRICS_PORT", "JOB_UID", "EPOCH"),
    )
)
_AGENTS: Final = "ROADSTEAD_AGENT_"
# Options of `python -m hub` alone, which no variable sets.
_OPTIONS: Final = frozenset(
    {
        *("listen", "hub-kubeconfig", "hub-in-cluster", "admin-token-file", "no-migrate"),
        *("share-port", "own-listen", "advertise"),
    }
)
# What Kubernetes puts into pods of a namespace that has a Service called roadstead-…
_OF_SERVICES: Final = re.compile(
    r"_SERVICE_(HOST|PORT)(_\w+)?$|_PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?$"
)


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Variables called ROADSTEAD_… that nothing reads, each with the one that may have been meant."""
    defaults = Settings()
    known = {
        f"ROADSTEAD_{concern.name}_{each.name}".upper()
        for concern in fields(defaults)
        for each in _settable(getattr(defaults, concern.name))
    } | _OTHERS
    unknown = sorted(
        name
        for name in environ
        if name.startswith("ROADSTEAD_")
        and name not in known
        and not name.startswith(_AGENTS)
        and not _OF_SERVICES.search(name)
    )
    return [_with_guess(name, known) for name in unknown]


def _with_guess(name: str, known: Collection[str]) -> str:
    option = name.removeprefix("ROADSTEAD_").lower().replace("_", "-")
    if option in _OPTIONS:
        return f"{name} (use the option --{option})"
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.8)
    return f"{name} (did you mean {near[0]}?)" if near else name


def _read(concern: str, defaults: Any, environ: Mapping[str, str]) -> Any:
    hints = get_type_hints(type(defaults))
    given: Json = {}
    for each in _settable(defaults):
        variable = f"ROADSTEAD_{concern}_{each.name}".upper()
        text = environ.get(variable)
        # Only a text can be meant to be empty; deployments set what they leave open to nothing.
        if text or (text is not None and hints[each.name] is str):
            least = _least(getattr(defaults, each.name))
            given[each.name] = _value(variable, text, hints[each.name], least)
    return type(defaults)(
        **{
            each.name: given.get(each.name, getattr(defaults, each.name))
            for each in _settable(defaults)
        }
    )


def _settable(record: Any) -> list[Field[Any]]:
    """What is set by itself, not taken from another record."""
    return [each for each in fields(record) if each.init]


def _least(default: Any) -> float:
    """No amount is negative, but where the default is, which then has a meaning of its own."""
    return -math.inf if isinstance(default, int | float) and default < 0 else 0


def _value(variable: str, text: str, hint: type | types.GenericAlias, least: float) -> Any:
    try:
        if get_origin(hint) is Literal:
            if text not in get_args(hint):
                raise ValueError(f"expected one of {', '.join(get_args(hint))}")
            return text
        if hint is dt.timedelta:
            return dt.timedelta(seconds=_amount(text, float, least))
        return _amount(text, hint, least) if hint in (int, float) else text
    except OverflowError:
        raise ValueError(f"{variable}={text}: expected a smaller number") from None
    except ValueError as error:
        raise ValueError(f"{variable}={text}: {error}") from error


def _amount(text: str, hint: Any, least: float) -> Any:
    try:
        found = hint(text)
    except ValueError:
        found = math.nan
    if not (math.isfinite(found) and found >= least):
        kind = "a whole number" if hint is int else "a number"
        raise ValueError(f"expected {kind}" + (" from 0 on" if least == 0 else ""))
    return found
