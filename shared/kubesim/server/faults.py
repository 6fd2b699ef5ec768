"""Faults on request: conflicts, throttling, errors, delays, lost replies, stalled and cut watches.

A fault matches requests by verb, resource, namespace and name, and strikes a number of times. Set
in-process (`Faults.add`) or by `POST /_sim/faults` with an administrator's token:
`{"action": "504-after", "verb": "create", "resource": "jobs", "count": 1}`.
"""

import asyncio
import itertools
from dataclasses import asdict, dataclass
from typing import Any

from shared.clock import Clock
from shared.kubesim.apimachinery import errors
from shared.kubesim.requests.call import Call, Reply, error_reply, json_reply
from shared.kubesim.server.app import ConnectionCut
from shared.kubesim.store.watch import WatchHub

ACTIONS = (
    "403",
    "forbid",  # 403 by RBAC: access reviews deny the right too
    "409",
    "410",
    "429",
    "500",
    "503",
    "504-after",  # carried out, but the reply says 504
    "delay",  # carried out after `seconds`
    "hold",  # carried out once the fault is removed, by its id or with all
    "drop",  # the connection ends without a reply, nothing is carried out
    "drop-after",  # carried out, then the connection ends without a reply
    "stall",  # matching watches, open or new, stay silent for `seconds` from now
    "cut",  # matching watches that are open end now
    "compact",  # the watch history up to now is forgotten: older watches get 410
)
_ADMINS = "system:masters"


@dataclass(slots=True)
class Fault:
    """What strikes which requests. Empty fields match all; `count` 0 means until removed."""

    action: str
    verb: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    user: str = ""
    subresource: str = ""
    count: int = 1
    seconds: float = 1.0
    id: int = 0
    hits: int = 0

    def matches(self, call: Call, verb: str) -> bool:
        resource = call.resource
        plural, key = (resource.plural, resource.key) if resource else ("", "")
        return (
            self.verb in ("", "*", verb)
            and self.resource in ("", "*", plural, key)
            and self.namespace in ("", call.namespace)
            and self.name in ("", call.name)
            and self.user in ("", call.user.name)
            and self.subresource in ("", call.subresource)
        )


class Faults:
    """The faults of one cluster; plays them on requests as the server's `Intercept`."""

    def __init__(self, clock: Clock, hub: WatchHub) -> None:
        self._clock = clock
        self._hub = hub
        self._faults: list[Fault] = []
        self._holds: dict[int, asyncio.Event] = {}  # by the fault's id: set when it is removed
        self._ids = itertools.count(1)

    def add(self, action: str, **fields: Any) -> Fault:
        """Add a fault. ValueError on an unknown action, TypeError on unknown fields."""
        if action not in ACTIONS:
            raise ValueError(f"unknown action {action!r}: one of {', '.join(ACTIONS)}")
        fault = Fault(action, **{**fields, "id": next(self._ids), "hits": 0})
        match action:
            case "cut":
                fault.hits = self._hub.cut(fault.resource)
            case "compact":
                self._hub.forget_before(self._hub.released_rv)
            case "stall":
                self._hub.stall(fault.resource, self._clock.monotonic() + fault.seconds)
            case _:
                self._faults.append(fault)
        if action == "hold":
            self._holds[fault.id] = asyncio.Event()
        return fault

    def remove(self, fault_id: int | None = None) -> None:
        """Remove one fault, or all."""
        self._faults = [one for one in self._faults if fault_id not in (None, one.id)]
        for held in [one for one in self._holds if fault_id in (None, one)]:
            self._holds.pop(held).set()

    def active(self) -> list[Fault]:
        return list(self._faults)

    def forbids(self, user: str, verb: str, plural: str, namespace: str) -> bool:
        """True where a fault takes this right from the user: what an access review says."""
        asked = (("user", user), ("verb", verb), ("resource", plural), ("namespace", namespace))
        return any(
            fault.action == "forbid"
            and all(getattr(fault, field) in ("", "*", value) for field, value in asked)
            for fault in self._faults
        )

    def _struck(self, call: Call, verb: str, actions: tuple[str, ...]) -> Fault | None:
        for fault in self._faults:
            if fault.action in actions and fault.matches(call, verb):
                fault.hits += 1
                if fault.count and fault.hits >= fault.count:
                    self._faults.remove(fault)
                return fault
        return None

    # --- the server's intercept ------------------------------------------------------------------

    async def before(self, call: Call, verb: str) -> Reply | None:
        """A reply instead of the request, if a fault says so."""
        if not self._faults or call.path.startswith("/_sim"):
            return None
        delay = self._struck(call, verb, ("delay",))
        if delay is not None:
            await self._clock.sleep(delay.seconds)
        hold = self._struck(call, verb, ("hold",))
        if hold is not None:
            await self._holds[hold.id].wait()
        if verb == "watch":
            return None
        fault = self._struck(
            call, verb, ("403", "forbid", "409", "410", "429", "500", "503", "drop")
        )
        if fault is None:
            return None
        if fault.action == "drop":
            raise ConnectionCut
        return error_reply(_refusal(call, fault))

    async def after(self, call: Call, verb: str, reply: Reply) -> Reply:
        """Another reply than the true one, if a fault says so."""
        if not self._faults or call.path.startswith("/_sim"):
            return reply
        fault = self._struck(call, verb, ("504-after", "drop-after"))
        if fault is None:
            return reply
        if fault.action == "drop-after":
            raise ConnectionCut
        message = "request did not complete within requested timeout - context deadline exceeded"
        return error_reply(errors.ApiError(504, "Timeout", message))

    # --- the private endpoint --------------------------------------------------------------------

    async def answer(self, call: Call) -> Reply | None:
        """`GET`, `POST` and `DELETE /_sim/faults[/ID]`, for administrators."""
        parts = call.path.strip("/").split("/")
        if parts[:2] != ["_sim", "faults"]:
            return None
        if _ADMINS not in call.user.groups:
            raise errors.forbidden("faults", "", "", "for administrators only")
        fault_id = int(parts[2]) if len(parts) > 2 and parts[2].isdecimal() else None
        if call.method == "POST":
            return json_reply(asdict(self._from_body(call)), 201)
        if call.method == "DELETE":
            self.remove(fault_id)
        return json_reply({"faults": [asdict(one) for one in self._faults]})

    def _from_body(self, call: Call) -> Fault:
        body = call.json()
        if not isinstance(body, dict) or not isinstance(body.get("action"), str):
            raise errors.bad_request('the body must be {"action": …}')
        try:
            return self.add(body.pop("action"), **body)
        except (TypeError, ValueError) as fault:
            raise errors.bad_request(str(fault)) from fault


def _refusal(call: Call, fault: Fault) -> errors.ApiError:
    plural = call.resource.plural if call.resource else ""
    group = call.resource.group if call.resource else ""
    match fault.action:
        case "403" | "forbid":
            return errors.forbidden(plural, group, call.name, "injected")
        case "409":
            return errors.stale(plural, group, call.name)
        case "410":
            return errors.gone("The provided continue parameter is too old")
        case "429":
            seconds = max(1, round(fault.seconds))
            return errors.ApiError(
                429,
                "TooManyRequests",
                "the server has received too many requests and has asked us to try again later",
                {"retryAfterSeconds": seconds},
            )
        case "503":
            message = "the server is currently unable to handle the request"
            return errors.ApiError(503, "ServiceUnavailable", message)
        case _:
            return errors.ApiError(500, "InternalError", "Internal error occurred: injected")
