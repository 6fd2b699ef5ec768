"""What an agent told, as people see it: records of a stream, pods and events; values are hidden."""

import re
from collections.abc import Sequence

from shared.documents import Json
from shared.secrecy import HIDDEN
from shared.wire.streams_v1 import ContainerTold, EventTold, LogLine, PodTold, StreamEnd


class Hiding:
    """Puts a mark where one of these texts is."""

    def __init__(self, texts: Sequence[str]) -> None:
        joined = "|".join(re.escape(each) for each in texts)
        self._pattern = re.compile(joined) if joined else None

    def __call__(self, text: str) -> str:
        return self._pattern.sub(HIDDEN, text) if self._pattern is not None else text


def record(line: LogLine, hiding: Hiding, *, timestamps: bool) -> Json:
    """One line, or one note of the agent's, as a record of the stream."""
    told: Json = {"pod": line.pod, "container": line.container}
    if timestamps and line.at:
        told["time"] = line.at
    told["note" if line.note else "line"] = hiding(line.line)
    if line.cut:
        told["cut"] = True
    return told


def ended(end: StreamEnd) -> Json:
    """The last record of a stream."""
    return {"end": {"code": end.code, "message": end.message}}


def pod(told: PodTold, hiding: Hiding) -> Json:
    """One pod with its containers."""
    return {
        "name": told.name,
        "uid": told.uid,
        "epoch": told.epoch,
        "node": told.node,
        "phase": told.phase,
        "reason": told.reason,
        "message": hiding(told.message),
        "restarts": sum(each.restarts for each in told.containers),
        "createdAt": told.created_at,
        "startedAt": told.started_at,
        "finishedAt": told.finished_at,
        "containers": [_container(each, hiding) for each in told.containers],
    }


def event(told: EventTold, hiding: Hiding) -> Json:
    """One event of the member."""
    return {
        "at": told.at,
        "type": told.type,
        "reason": told.reason,
        "message": hiding(told.message),
        "object": told.about,
        "count": told.count,
    }


def _container(told: ContainerTold, hiding: Hiding) -> Json:
    return {
        "name": told.name,
        "init": told.init,
        "state": told.state,
        "reason": told.reason,
        "message": hiding(told.message),
        "exitCode": told.exit_code,
        "ready": told.ready,
        "restarts": told.restarts,
        "startedAt": told.started_at,
        "finishedAt": told.finished_at,
        "lastReason": told.last_reason,
        "lastExitCode": told.last_exit_code,
    }
