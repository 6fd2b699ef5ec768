"""Texts of members, as rows and events keep them."""

from typing import Final

import orjson

from shared.documents import Json
from shared.nesting import MAX_DEPTH, is_deeper_than
from shared.pointers import steps
from shared.secrecy import is_hidden_at, without_env
from shared.wire.agent_v1 import Drift

MESSAGE_CHARS: Final = 1024
REASON_CHARS: Final = 64


def plain(text: str, limit: int = MESSAGE_CHARS) -> str:
    """Text of a member without control characters, at most `limit` long."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " for c in text)


REDACTED: Final = '"<redacted>"'  # agents send it in place of a secret value
PATH_CHARS, VALUE_CHARS, INSTANT_CHARS = 1024, 1024, 40


def bounded_drift(told: Drift) -> Json:
    """One field that differs, no longer than a hub keeps; agents cut values off themselves.

    Without values of environment variables: an earlier agent tells them in other places than `env`.
    """
    given = told.model_dump()
    for name in ("hub", "member"):
        given[name] = _without_variables(told.path, given[name])
    for name, limit in (("path", PATH_CHARS), ("hub", VALUE_CHARS), ("member", VALUE_CHARS)):
        if given[name] is not None and len(given[name]) > limit:
            given[name] = f"{given[name][: limit - 1]}…"
    given["first_seen"] = told.first_seen[:INSTANT_CHARS]
    return given


def drift_text(cluster: str, told: Drift) -> str:
    """The message of an event about it."""
    path, hub, member = (bounded_drift(told)[name] for name in ("path", "hub", "member"))
    return plain(f"{path} on {cluster}: {hub} on the hub, {member} in the member")


def _without_variables(path: str, text: str | None) -> str | None:
    """A value as JSON text; what no manifest can be, for it is too deep, is not kept either."""
    if text is None or text == REDACTED:
        return text
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = {"env.": text, "value": text} if text[:1] in {"{", "["} else text  # cut off
    if is_deeper_than(value, MAX_DEPTH) or is_hidden_at(steps(path), value, {}):
        return REDACTED
    shown = without_env(value)
    return text if shown is value else orjson.dumps(shown).decode()
