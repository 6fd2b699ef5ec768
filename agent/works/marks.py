"""Marks: how far the hub's store had come by its replies, to detect a rollback.

Pure. The newest mark of each run of the hub, from its replies and from the Jobs that carry them: so a
restarted agent knows them too.
"""

from agent.objects.facts import Object
from shared import labels
from shared.wire.agent_v1 import MAX_MARKS, Mark

_PARTS = 3


class Marks:
    """The newest mark of each run, the latest learnt last."""

    def __init__(self) -> None:
        self._newest: dict[str, Mark] = {}
        self._texts: set[str] = set()
        self._untold: dict[str, Mark] = {}  # found on objects, and in no answered request yet
        self._telling: list[Mark] = []
        self.last: Mark | None = None  # of the newest reply

    def answered(self, mark: Mark | None) -> None:
        """A reply carried this mark."""
        if mark is not None:
            self.last = mark
            self._learn(mark)
        for told in self._telling:
            if self._untold.get(told.run) is told:
                del self._untold[told.run]

    def found(self, obj: Object) -> None:
        """An object of ours may carry one."""
        text = (obj["metadata"].get("annotations") or {}).get(labels.MARK)
        if not text or text in self._texts:
            return
        self._texts.add(text)
        parts = text.split(":")
        if len(parts) == _PARTS and parts[1].isdecimal() and len(parts[1]) < 19:
            mark = Mark(run=parts[0][:64], revision=int(parts[1]), proof=parts[2][:64])
            if self._learn(mark):
                self._untold[mark.run] = mark

    def tell(self, *, everything: bool) -> list[Mark]:
        """The marks to send: all that fit into a request, or the last one and those found since.

        A mark found on a Job is sent no later than the Job, and until a request with it is answered.
        """
        if everything:
            self._telling = list(self._newest.values())[-MAX_MARKS:]
        else:
            found = list(self._untold.values())[: MAX_MARKS - 1]
            self._telling = found + ([self.last] if self.last is not None else [])
        return self._telling

    @property
    def text(self) -> str:
        """The newest mark as an annotation holds it; "" before the first reply."""
        last = self.last
        return f"{last.run}:{last.revision}:{last.proof}" if last is not None else ""

    def _learn(self, mark: Mark) -> bool:
        """Keep it if it is the newest of its run; whether it is."""
        held = self._newest.get(mark.run)
        if held is not None and mark.revision <= held.revision:
            return False
        self._newest.pop(mark.run, None)
        self._newest[mark.run] = mark
        return True
