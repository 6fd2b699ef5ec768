"""Parts of a fleet as forks of one process that has loaded their modules."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from roadstead.cli.forks import Fork, Forks
from tests import stem
from tests.e2e.running import until

_WITHIN_S = 60


@pytest.fixture
def forks(tmp_path: Path) -> Iterator[Forks]:
    """A template whose log is `template.log`; it is a fork itself, which saves loading the modules again."""
    opened = Forks(tmp_path, tmp_path / "template.log", stem.launcher())
    with contextlib.closing(opened):
        yield opened


@pytest.fixture
def own_forks(tmp_path: Path) -> Iterator[Forks]:
    """A template as a fleet starts it."""
    with contextlib.closing(Forks(tmp_path, tmp_path / "template.log")) as opened:
        yield opened


def started(forks: Forks, folder: Path, module: str, *arguments: str, **environment: str) -> Fork:
    """A part named `a-part`, as soon as its process is there."""
    begun = forks.start("a-part", module, arguments, folder / "log", os.environ | environment)
    return begun.result(_WITHIN_S)


def a_simulator(forks: Forks, folder: Path) -> Fork:
    """A simulated cluster that has said that it is ready."""
    data = folder / "data"
    child = started(
        forks, folder, "shared.kubesim", "--name=m1", f"--data={data}", "--listen=127.0.0.1:0"
    )
    log = folder / "log"
    until(lambda: log.exists() and "ready" in log.read_text(), _WITHIN_S, "it is ready")
    return child


def test_a_part_gets_its_arguments_and_tells_its_exit_code(tmp_path: Path, forks: Forks) -> None:
    """As by `python -m`: bad usage is explained in its log, and ends it with 2."""
    child = started(
        forks, tmp_path, "hub", f"--data={tmp_path}", "--listen=nowhere", "--no-such-flag"
    )

    assert child.wait(_WITHIN_S) == 2
    assert "--no-such-flag" in (tmp_path / "log").read_text()


def test_a_part_gets_its_environment_and_no_other(tmp_path: Path, forks: Forks) -> None:
    """What the agent reads from the environment is the child's own."""
    asked = ("agent", "--hub=http://127.0.0.1:1", f"--credential={tmp_path / 'c'}")
    child = started(forks, tmp_path, *asked, ROADSTEAD_LOG_LEVEL="loud")

    assert child.wait(_WITHIN_S) == 2
    assert "loud" in (tmp_path / "log").read_text()


def test_a_start_that_nobody_awaits_any_more_disturbs_no_other(
    tmp_path: Path, forks: Forks
) -> None:
    """Ctrl-C while a part starts: the start cannot be cancelled, and later parts still begin and end."""
    begun = forks.start("given-up", "hub", ["--help"], tmp_path / "log", os.environ)

    assert not begun.cancel()
    assert started(forks, tmp_path, "hub", "--help").wait(_WITHIN_S) == 0
    assert begun.result(_WITHIN_S).wait(_WITHIN_S) == 0


def test_a_signal_that_ends_a_part_is_its_exit_code(tmp_path: Path, forks: Forks) -> None:
    """Kill -9 ends with -9; the template goes on, and forks the next part."""
    child = a_simulator(forks, tmp_path)
    child.send_signal(signal.SIGKILL)

    assert child.wait(_WITHIN_S) == -signal.SIGKILL
    assert started(forks, tmp_path, "hub", "--help").wait(_WITHIN_S) == 0


def test_a_part_is_told_apart_by_its_name(tmp_path: Path, own_forks: Forks) -> None:
    """`ps` shows the name of the part beside the command of the template."""
    child = a_simulator(own_forks, tmp_path)

    assert Path(f"/proc/{child.pid}/comm").read_text() == "a-part\n"
    assert os.fsencode(tmp_path) in Path(f"/proc/{child.pid}/cmdline").read_bytes()


def test_parts_end_with_their_template(tmp_path: Path, forks: Forks) -> None:
    """Who starts them learns of it, and that this template starts nothing more."""
    child = a_simulator(forks, tmp_path)
    template = int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(template, signal.SIGKILL)

    assert child.wait(_WITHIN_S) == -signal.SIGKILL
    assert forks.is_lost
    with pytest.raises(ChildProcessError):
        started(forks, tmp_path, "hub", "--help")
    until(lambda: has_ended(child.pid), _WITHIN_S, "the part has ended too")


def has_ended(pid: int) -> bool:
    """It is gone, or a zombie of whoever adopted it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_shell_types_commands_that_are_forks(tmp_path):
    """They have the shell's streams, folder and variables, and end with the command's own exit code."""
    stem.put_on_path(tmp_path, "roadstead", "roadstead.cli.root")
    script = (
        "roadstead kinds ls | head -n 1; roadstead kinds check - <<<'a: b' >told 2>&1; echo $?"
    )
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    first, code = done.stdout.splitlines()
    assert first.startswith("KIND ")
    assert code == "2"
    assert "standard input, document 1, apiVersion" in (tmp_path / "told").read_text()
