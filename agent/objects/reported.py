"""An object's status as the hub is given it where a placement asks for it: as it is, within bounds. Pure."""

from typing import Any, Final

import orjson

from agent.objects.facts import Object

MOST_BYTES: Final = 16 * 1024  # as JSON; what is larger loses its largest fields


def reported_status(obj: Object) -> dict[str, Any] | None:
    """The status, without its largest fields where it is too large, and without what is no JSON.

    None where it has none.

    Secrets have none that is told, whatever stands there. Of a Pod the termination messages are left out:
    they are logs, which go through `agent.hub.streams` alone.
    """
    status = obj.get("status")
    if not isinstance(status, dict) or (obj.get("apiVersion"), obj.get("kind")) == (
        "v1",
        "Secret",
    ):
        return None
    if (obj.get("apiVersion"), obj.get("kind")) == ("v1", "Pod"):
        status = {name: _without_messages(value) for name, value in status.items()}
    sizes = {name: _size(name, value) for name, value in status.items()}
    kept: set[str] = set()
    left = MOST_BYTES
    for name in sorted(sizes, key=lambda each: (sizes[each], each)):
        left -= sizes[name]
        if left < 0:
            break
        kept.add(name)
    return {name: value for name, value in status.items() if name in kept}


def _without_messages(value: Any) -> Any:
    """Statuses of a pod's containers without termination messages, which the containers write themselves."""
    if not isinstance(value, list):
        return value
    return [_ended_silently(each) if isinstance(each, dict) else each for each in value]


def _ended_silently(container: Object) -> Object:
    told = dict(container)
    for when in ("state", "lastState"):
        state = told.get(when)
        if isinstance(state, dict) and isinstance(ended := state.get("terminated"), dict):
            left = {name: value for name, value in ended.items() if name != "message"}
            told[when] = {**state, "terminated": left}
    return told


def _size(name: str, value: object) -> int:
    """Bytes as JSON; more than there is room for where it can not be told as such."""
    try:
        return len(orjson.dumps({name: value}))
    except TypeError:  # nested too deep, a number of no 64 bits, half a character
        return MOST_BYTES + 1
