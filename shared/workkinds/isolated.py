"""jq for definitions that administrators wrote: in a worker process, which is killed after 200 ms.

The process counts its own time (`shared.workkinds.jq_worker`); this side waits a little longer than any
allowed evaluation can take on a busy machine, and kills what is silent then.
"""

import contextlib
import json
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from shared.clock import Clock
from shared.workkinds.jq_language import fault_of
from shared.workkinds.language import Language, Object, Place, StoppedEvaluation

T = TypeVar("T")

_WORKER: Final = Path(__file__).with_name("jq_worker.py")
MILLISECONDS: Final = 200  # of an object's evaluations together
SHARED_S: Final = 2.0  # of all objects of one request together, see `SharedTime`
_MEMORY: Final = "1 GiB"  # `shared.workkinds.jq_worker.MOST_BYTES`
_STARTING_S: Final = 30.0
_SILENT_S: Final = 10.0  # on a machine so busy that 200 ms of work take longer
_ENDING_S: Final = 1.0  # from the end of its output to its own


class IsolatedJq:
    """See `shared.workkinds.language.Language`. Starts its process with the first evaluation; close it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._told: Object | None = None
        self._fresh = True

    def begin(self, obj: Object) -> None:
        self._told, self._fresh = None, True

    def values(self, expression: str, obj: Object) -> list[Any]:
        answer = self._asked(expression, obj)
        if "fault" in answer:
            raise fault_of(answer["fault"])
        found: list[Any] = answer["values"]
        return found

    def places(self, expression: str, obj: Object) -> list[Place]:
        return [tuple(place) for place in self.values(f"path({expression})", obj)]

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process, self._told = self._process, None, None
        if process is None:
            return
        process.kill()
        process.wait()
        for end in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what was not flushed is for nobody
                if end is not None:
                    end.close()

    def _asked(self, expression: str, obj: Object) -> dict[str, Any]:
        try:
            process = self._started()
            if self._told is not obj:
                _write(process, {"object": obj, "fresh": self._fresh})
                self._told, self._fresh = obj, False
            _write(process, {"expression": expression})
            answer = _read(process, _SILENT_S)
        except OSError:
            answer = None
        if answer is None:
            why = _why(self._process)
            self.close()
            raise StoppedEvaluation(f"evaluating {_shown(expression)} {why} and was stopped")
        return answer

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            command = [sys.executable, "-I", str(_WORKER)]
            # Without a shell, and with nothing of this process's environment.
            self._process = subprocess.Popen(  # noqa: S603  # our own file and nothing else
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={},
            )
            if _read(self._process, _STARTING_S) is None:
                self.close()
                raise StoppedEvaluation("the process that evaluates jq did not start")
        return self._process


class SharedTime:
    """A language for the objects of one request, whose evaluations share `SHARED_S` from the first on.

    Neither objects that come later nor an expression that was stopped are tried. The start of the process is
    not counted. See `shared.workkinds.language.Language`.
    """

    def __init__(self, bounded: Language, clock: Clock) -> None:
        self._bounded = bounded
        self._clock = clock
        self._ends: float | None = None
        self._stopped: set[str] = set()

    def begin(self, obj: Object) -> None:
        if self._ends is None:
            self._bounded.values(".", {})
            self._ends = self._clock.monotonic() + SHARED_S
        self._bounded.begin(obj)

    def values(self, expression: str, obj: Object) -> list[Any]:
        return self._tried(self._bounded.values, expression, obj)

    def places(self, expression: str, obj: Object) -> list[Place]:
        return self._tried(self._bounded.places, expression, obj)

    def _tried(
        self, ask: Callable[[str, Object], list[T]], expression: str, obj: Object
    ) -> list[T]:
        if expression in self._stopped:
            why = "was stopped for another object of this request"
            raise StoppedEvaluation(f"evaluating {_shown(expression)} {why}: not tried again")
        if self._ends is not None and self._clock.monotonic() >= self._ends:
            why = f"the objects of this request took more than {SHARED_S:g} s together"
            raise StoppedEvaluation(f"not tried: {why}; send the others in another request")
        try:
            return ask(expression, obj)
        except StoppedEvaluation:
            self._stopped.add(expression)
            raise


def _shown(expression: str) -> str:
    return expression if len(expression) <= 80 else f"{expression[:79]}…"


def _why(process: "subprocess.Popen[bytes] | None") -> str:
    """What the process that gave no answer ended by: SIGPROF is its time, anything else that is not silence
    is its memory, of which jq aborts.
    """
    late = f"took more than {MILLISECONDS} ms"
    if process is None:
        return late
    try:
        ended = process.wait(_ENDING_S)
    except subprocess.TimeoutExpired:
        return late
    return late if ended == -signal.SIGPROF else f"needed more than {_MEMORY} of memory"


@contextlib.contextmanager
def isolated_jq() -> Iterator[IsolatedJq]:
    """A language whose process ends with the block."""
    language = IsolatedJq()
    try:
        yield language
    finally:
        language.close()


def _write(process: "subprocess.Popen[bytes]", message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def _read(process: "subprocess.Popen[bytes]", seconds: float) -> dict[str, Any] | None:
    """The next line; None where the process ended or stays silent."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    line = process.stdout.readline() if ready else b""
    if not line.endswith(b"\n"):
        return None
    answer: dict[str, Any] = json.loads(line)
    return answer
