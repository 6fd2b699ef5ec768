"""Tests in forks of one process that has collected them: `--forks N`.

Collecting costs twenty CPU seconds: here it is done once, and each worker is a fork that has everything. To
a worker that is free the next group is dealt: the tests of one file; with `--alone` one test, save those that
`dealing.TOGETHER` keeps together. A worker reports to the process that collected, which shows and counts.

    collect ──► deal ──► fork, fork, … ──► each: next group ──► reports ──► shown, counted
"""

import ctypes
import itertools
import os
import pickle
import selectors
import signal
import struct
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pytest
from _pytest.config import create_terminal_writer

from tests import databases, dealing

_NUMBER: Final = struct.Struct("=I")
_MOST_DEALT: Final = (64 << 10) // _NUMBER.size  # capacity of a pipe that nobody reads yet
_MOST_LOST: Final = (
    5  # workers that end before their time: then something is wrong with all of them
)
_PR_SET_PDEATHSIG: Final = 1
Group = Sequence[pytest.Item]


def add_options(parser: pytest.Parser) -> None:
    """Register what the command line can say."""
    parser.addoption("--forks", type=int, default=0, help="run tests in N forks of this process")
    parser.addoption("--alone", action="store_true", help="give a worker one test at a time")


def is_wanted(config: pytest.Config) -> bool:
    """True where `--forks N` is given and tests are to run."""
    return bool(config.getoption("forks")) and not config.getoption("collectonly")


def run(session: pytest.Session) -> None:
    """Run all that was collected. Raises what `-x` and Ctrl-C raise."""
    groups = list(_grouped(session))
    run = _Run(session, groups)
    try:
        run.until_all_are_done()
    finally:
        run.end()


def _grouped(session: pytest.Session) -> Iterator[Group]:
    """Groups in the order of their first tests."""
    alone = session.config.getoption("alone")
    groups: dict[str, list[pytest.Item]] = {}
    for item in session.items:
        key = dealing.group_of(item) if alone else str(item.path)
        groups.setdefault(key, []).append(item)
    yield from groups.values()


class _Run:
    """The workers, and what they are given."""

    def __init__(self, session: pytest.Session, groups: Sequence[Group]) -> None:
        self._session, self._groups = session, groups
        self._dealt, dealing_out = os.pipe()  # numbers of groups: who is free reads the next one
        assert len(groups) <= _MOST_DEALT, (
            "more groups than a pipe takes: write them from a thread"
        )
        os.write(dealing_out, b"".join(map(_NUMBER.pack, range(len(groups)))))
        os.close(dealing_out)
        self._folder = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        self._numbers = itertools.count(1)
        self._selector = selectors.DefaultSelector()
        self._lost = 0
        for _ in range(min(session.config.getoption("forks"), len(groups))):
            self._begin()

    def until_all_are_done(self) -> None:
        """Show what the workers report, until the last of them has ended."""
        while self._selector.get_map():
            for key, _ in self._selector.select():
                self._hear(key.data)
            if self._session.shouldfail:
                raise self._session.Failed(self._session.shouldfail)
            if self._session.shouldstop:
                raise self._session.Interrupted(self._session.shouldstop)

    def end(self) -> None:
        """End the workers that are left; each takes down its fixtures first."""
        left: list[_Worker] = [key.data for key in self._selector.get_map().values()]
        for worker in left:
            os.kill(worker.pid, signal.SIGINT)
        for worker in left:
            while worker.hear() is not None:
                continue
            worker.end()
        self._selector.close()
        os.close(self._dealt)

    def _begin(self, first: Group = ()) -> None:
        """Fork a worker; `first`: what is run before anything that is dealt out."""
        number = next(self._numbers)
        its, ours = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(its)
            _be_worker(
                self._session,
                first,
                _Dealt(self._dealt, self._groups),
                ours,
                self._folder / f"w{number}",
            )
        os.close(ours)
        worker = _Worker(number, pid, its)
        self._selector.register(worker.line, selectors.EVENT_READ, worker)

    def _hear(self, worker: "_Worker") -> None:
        said = worker.hear()
        if said is None:
            self._selector.unregister(worker.line)
            code = worker.end()
            if worker.left:
                self._replace(worker, code)
            elif code:
                raise self._session.Interrupted(f"worker {worker.number} ended with {code}")
        elif isinstance(said, list):
            worker.left = said
        else:
            self._show(worker, said)

    def _show(self, worker: "_Worker", told: dict[str, Any]) -> None:
        hook = self._session.config.hook
        report = hook.pytest_report_from_serializable(config=self._session.config, data=told)
        hook.pytest_runtest_logreport(report=report)

    def _replace(self, worker: "_Worker", code: int) -> None:
        """Report its test as failed; start a worker for the other tests of its group."""
        number, *others = worker.left
        item = self._session.items[number]
        text = f"worker {worker.number} ended with {code} in {item.nodeid}"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
        self._session.config.hook.pytest_runtest_logreport(report=report)
        self._lost += 1
        if self._lost > _MOST_LOST:
            raise self._session.Interrupted(f"{self._lost} workers ended before their time")
        self._begin([self._session.items[each] for each in others])


class _Worker:
    """A fork, seen from the process that collected.

    `left`: numbers of the tests of its group that have not ended, the one that runs first.
    """

    def __init__(self, number: int, pid: int, line: int) -> None:
        self.number, self.pid, self.line = number, pid, line
        self.left: list[int] = []

    def hear(self) -> Any:
        """Read its next message; None at its end."""
        head = self._read(_NUMBER.size)
        body = self._read(_NUMBER.unpack(head)[0]) if head else b""
        return pickle.loads(body) if body else None

    def _read(self, length: int) -> bytes:
        """Read this number of bytes; none at the end of the pipe."""
        whole = b""
        while len(whole) < length:
            part = os.read(self.line, length - len(whole))
            if not part:
                return b""
            whole += part
        return whole

    def end(self) -> int:
        """Its exit code, once it has ended."""
        os.close(self.line)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class _Dealt:
    """Groups, as they are dealt to the worker that reads."""

    def __init__(self, line: int, groups: Sequence[Group]) -> None:
        self._line, self._groups = line, groups

    def __iter__(self) -> Iterator[Group]:
        while number := os.read(self._line, _NUMBER.size):
            yield self._groups[_NUMBER.unpack(number)[0]]


class _Relay:
    """Takes the place of the terminal in a worker."""

    def __init__(self, config: pytest.Config, line: int) -> None:
        self._config, self._line = config, os.fdopen(line, "wb")
        # pytest-timeout writes the stacks of a test that takes too long here.
        self._tw = create_terminal_writer(config, sys.__stderr__)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.say(
            self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        )

    def say(self, what: Any) -> None:
        body = pickle.dumps(what)
        self._line.write(_NUMBER.pack(len(body)) + body)
        self._line.flush()


def _be_worker(
    session: pytest.Session, first: Group, dealt: Iterable[Group], line: int, folder: Any
) -> None:
    """Run tests and leave; the fork never returns from here."""
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        config = session.config
        _capture_anew(config)
        config.pluginmanager.unregister(name="terminalreporter")
        relay = _Relay(config, line)
        config.pluginmanager.register(relay, "terminalreporter")
        folder.mkdir(mode=0o700)
        config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]
        numbers = {id(item): number for number, item in enumerate(session.items)}
        _run_all(session, itertools.chain([first] if first else [], dealt), numbers, relay)
        session._setupstate.teardown_exact(None)
        code = 0
    except KeyboardInterrupt:
        session._setupstate.teardown_exact(None)
        code = 130
    except BaseException:  # noqa: BLE001 - the fork must not go on where the run does
        traceback.print_exc(file=sys.__stderr__)
    finally:
        databases.end()
        os._exit(code)


def _run_all(
    session: pytest.Session, groups: Iterable[Group], numbers: dict[int, int], relay: _Relay
) -> None:
    for group in groups:
        for place, item in enumerate(group):
            relay.say([numbers[id(each)] for each in group[place:]])
            # What the whole session has stays; what a file has goes with its last test.
            after: Any = group[place + 1] if place + 1 < len(group) else session
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if session.shouldfail or session.shouldstop:
                return
        relay.say([])


def _capture_anew(config: pytest.Config) -> None:
    """Files that this process alone writes what is printed to."""
    capturing: Any = config.pluginmanager.getplugin("capturemanager")
    if capturing.is_globally_capturing():
        capturing.stop_global_capturing()
        capturing.start_global_capturing()
        capturing.suspend_global_capture()
