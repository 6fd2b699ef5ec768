"""A process that evaluates jq for its parent, and is ended by the system when it takes too long.

Started as a file, without the rest of the project: it needs jq alone. A line in is
`{"object": …, "fresh": …}` (fresh: another object, not the same one changed) or `{"expression": text}`; a
line out is `{"values": […]}` or `{"fault": text}`. All evaluations of an object together may take `SECONDS`
of this process's own time: then SIGPROF, which nobody handles, ends it. So a busy machine ends nothing that
an idle one would allow.
"""

import contextlib
import itertools
import json
import resource
import signal
import sys
import time
from typing import Any, Final

import jq

SECONDS: Final = 0.2
MOST_VALUES: Final = 1000  # of one expression
MOST_ANSWER: Final = 1 << 22  # characters of JSON
MOST_BYTES: Final = 1 << 30  # of memory
_COMPILED: Final[dict[str, Any]] = {}
_MOST_COMPILED: Final = 2048


class _Budget:
    """What is left of the time of one object."""

    def __init__(self) -> None:
        self.left = SECONDS

    def spend(self, expression: str, obj: Any) -> dict[str, Any]:
        """One evaluation, compiling not counted to the object but bounded as well."""
        try:
            program = _program(expression)
            start = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, max(self.left, 1e-4))
            try:
                found = list(itertools.islice(iter(program.input_value(obj)), MOST_VALUES + 1))
                answer = json.dumps({"values": found})
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                self.left -= time.process_time() - start
        except (ValueError, MemoryError) as fault:
            return {"fault": str(fault) or "not enough memory"}
        if len(answer) > MOST_ANSWER:
            return {"fault": f"its values have more than {MOST_ANSWER} characters"}
        if len(found) > MOST_VALUES:
            return {"fault": f"it gives more than {MOST_VALUES} values"}
        return {"answer": answer}


def _program(expression: str) -> Any:
    if expression not in _COMPILED:
        if len(_COMPILED) >= _MOST_COMPILED:
            _COMPILED.clear()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            _COMPILED[expression] = jq.compile(expression)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return _COMPILED[expression]


def main() -> None:
    """Answer until the parent closes its end."""
    with contextlib.suppress(ValueError, OSError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    _say("{}")
    obj: Any = None
    budget = _Budget()
    for line in sys.stdin:
        asked = json.loads(line)
        if "expression" not in asked:
            obj = asked["object"]
            budget = _Budget() if asked["fresh"] else budget
            continue
        answer = budget.spend(asked["expression"], obj)
        _say(answer["answer"] if "answer" in answer else json.dumps(answer))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
