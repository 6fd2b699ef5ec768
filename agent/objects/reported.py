"""An object's status as the hub is given it where a placement asks for it: as it is, within bounds. Pure."""

from typing import Any, Final

import orjson

from agent.objects.facts import Object

MOST_BYTES: Final = 16 * 1024  # as JSON; what is larger loses its largest fields


def reported_status(obj: Object) -> dict[str, Any] | None:
    """The status, without its largest fields where it is too large, and without what is no JSON.

    None where it has none.

    Secrets have none that is told, whatever stands there.
    """
    status = obj.get("status")
    if not isinstance(status, dict) or (obj.get("apiVersion"), obj.get("kind")) == (
        "v1",
        "Secret",
    ):
        return None
    sizes = {name: _size(name, value) for name, value in status.items()}
    kept: set[str] = set()
    left = MOST_BYTES
    for name in sorted(sizes, key=lambda each: (sizes[each], each)):
        left -= sizes[name]
        if left < 0:
            break
        kept.add(name)
    return {name: value for name, value in status.items() if name in kept}


def _size(name: str, value: object) -> int:
    """Bytes as JSON; more than there is room for where it can not be told as such."""
    try:
        return len(orjson.dumps({name: value}))
    except TypeError:  # nested too deep, a number of no 64 bits, half a character
        return MOST_BYTES + 1
