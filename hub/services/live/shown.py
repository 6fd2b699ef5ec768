"""An agent's answers as shown to users: records of a stream, pods and events; values are redacted."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from shared.documents import Json
from shared.secrecy import HIDDEN
from shared.wire.streams_v1 import ContainerTold, EventTold, LogLine, PodTold, StreamEnd

_LEAST: Final = 4  # characters by which a part of a value at the edge of a cut text is known
_MAY_BE_CUT: Final = 250  # maximum characters of texts: agents and Kubernetes cut them


class Hiding:
    """Puts a mark where one of these texts is: whole, overlapping another, or cut at the text's edge."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [each for each in texts if each]
        longest_first = sorted(self._texts, key=len, reverse=True)
        joined = "|".join(re.escape(each) for each in longest_first)
        self._pattern = re.compile(joined) if joined else None
        self._at_each = re.compile(f"(?=({joined}))")  # finds those that overlap, too

    def __call__(self, text: str, *, cut: bool = False) -> str:
        """`cut`: more of the text followed. Long texts count as cut."""
        if self._pattern is None:
            return text
        spans: list[tuple[int, int]] = []
        if self._pattern.search(text):
            spans = [found.span(1) for found in self._at_each.finditer(text)]
        if cut or len(text) >= _MAY_BE_CUT:
            spans += self._at_edges(text)
        return _marked(text, spans) if spans else text

    def _at_edges(self, text: str) -> Iterator[tuple[int, int]]:
        """The longest begin of a value that ends the text, and the longest end of one that begins it."""
        for value in self._texts:
            begin, end = value[:_LEAST], value[-_LEAST:]
            if len(value) <= _LEAST:
                continue
            at = text.find(begin, max(0, len(text) - len(value) + 1))
            while at >= 0 and not value.startswith(text[at:]):
                at = text.find(begin, at + 1)
            if at >= 0:
                yield at, len(text)
            upto = text.rfind(end, 0, len(value) - 1)
            while upto >= 0 and not value.endswith(text[: upto + _LEAST]):
                upto = text.rfind(end, 0, upto + _LEAST - 1)
            if upto >= 0:
                yield 0, upto + _LEAST


def _marked(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with one mark for each run of spans that touch or overlap."""
    parts, done = [], 0
    upto = -1
    for start, end in sorted(spans):
        if start > upto:
            parts += [text[done:start], HIDDEN]
        upto = done = max(upto, end)
    return "".join([*parts, text[done:]])


def record(line: LogLine, hiding: Hiding, *, timestamps: bool) -> Json:
    """One line, or one note of the agent's, as a record of the stream."""
    told: Json = {"pod": line.pod, "container": line.container}
    if timestamps and line.at:
        told["time"] = line.at
    told["note" if line.note else "line"] = hiding(line.line, cut=line.cut)
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
