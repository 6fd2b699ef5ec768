"""Run a command, and write the CPU seconds of everything that it started to a file.

`python3 .ci/counted.py FILE COMMAND...`; ends with the command's exit code. `time` counts only the processes
whose parents waited for them. This process adopts the orphans (PR_SET_CHILD_SUBREAPER), such as the
servers of a test that was killed, and counts them too. It lists on stderr what still runs at the end.
Needs only Python and Linux.
"""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 5.0  # how long orphans may take to end after the command


def reap() -> None:
    """Collect the children that have ended."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return


def left_running() -> list[tuple[str, float]]:
    """Processes below this one: command line, CPU seconds so far."""
    tick = os.sysconf("SC_CLK_TCK")
    found: dict[int, tuple[int, str, float]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (
                (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            )
        except OSError:
            continue  # it has ended meanwhile
        used = sum(map(int, fields[11:15])) / tick  # its own and that of children it waited for
        found[int(folder.name)] = (int(fields[1]), command, used)
    below = {os.getpid()}
    while more := {pid for pid, each in found.items() if each[0] in below} - below:
        below |= more
    return [found[pid][1:] for pid in sorted(below - {os.getpid()})]


def main() -> int:
    """Run, count, report."""
    target, *command = sys.argv[1:]
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # The command is in the same process group; exec resets these handlers for it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    process = subprocess.Popen(command)  # noqa: S603 - the caller's command
    code = process.wait()
    until = time.monotonic() + GRACE_S
    reap()
    while (running := left_running()) and time.monotonic() < until:
        time.sleep(0.1)
        reap()
    for line, _ in running:
        print(f"still running after the step: {line}", file=sys.stderr)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = used.ru_utime + used.ru_stime + sum(each for _, each in running)
    Path(target).write_text(f"{total:.1f}\n")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
