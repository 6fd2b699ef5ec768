"""Agents from before the run-once protocol: understood, and given nothing new.

They refuse what they do not know, say Gone while a create of theirs may still take effect, and start what
they make at once (docs/explain/exactly-once.md: rules 1 to 7 are not theirs). So what they hold runs on and
is reported, and their members are shown as unhealthy until they are upgraded: nothing else is sent there.
They are known by what a request of theirs does not have.
"""

from typing import Final

import orjson

from shared.session_ids import began_at
from shared.wire.agent_v1 import ApiServerDown, SyncRequest

REASON: Final = (
    "its agent is of a release that does not start jobs safely: upgrade it. Its running jobs "
    "continue, and the hub sends nothing new"
)
_NOT_KNOWN: Final = ("orders", "mark", "rotate")  # of a reply
_OF_A_WORK: Final = ("fresh", "report_status")


def is_first(message: SyncRequest) -> bool:
    """True if an agent of such a release sent it: nothing in it tells when its session began.

    Nor which marks it holds, as agents do that call their sessions otherwise.
    """
    return began_at(message.session) is None and "marks" not in message.model_fields_set


def hold_back(message: SyncRequest) -> None:
    """Have its member get no new work."""
    if message.capacity is not None:
        message.capacity.api_server = ApiServerDown(reason=REASON, down_s=0)


def readable(answer: bytes) -> bytes:
    """The reply without what it does not know, and would refuse the whole reply for."""
    told = orjson.loads(answer)
    for name in _NOT_KNOWN:
        told.pop(name, None)
    for work in told["desired"]["works"]:
        for name in _OF_A_WORK:
            work.pop(name, None)
    return orjson.dumps(told)
