"""Holds the simulated cluster against a real one: the same kubectl commands, the same answers.

A `Story` is typed into both; what each prints becomes a transcript, freed of what no two clusters
share (times, uids, addresses, random suffixes, resource versions). Equal transcripts are agreement.
"""

import contextlib
import dataclasses
import difflib
import itertools
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import yaml

from tests import stem, waiting
from tests.realkube import build

# What differs between any two clusters, and what stands for it in a transcript; order matters.
_UNLIKE = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| [+-]\d{4})", "TIME"),
        (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
        (r'"resourceVersion": "\d+"', '"resourceVersion": "RV"'),
        (r"127\.0\.0\.1:\d+", "SERVER"),
        (r"\b(10|172)\.\d+\.\d+\.\d+\b", "ADDRESS"),
        (r"(?<=[a-z0-9]-)[bcdfghjklmnpqrstvwxz2456789]{5}\b", "RANDOM"),
        (r"\.[0-9a-f]{16}\b", ".SERIAL"),
        (r"\bgeneral-[01]\b", "NODE"),
        (r"(?<=\s)(<unknown>|<invalid>|(\d+[dhms])+)(?=\s|$)", "AGE"),
        (r"[\w./-]+/(LIVE|MERGED)-\d+", r"\1"),
        # Listed in docs/reference/simulated-cluster.md: the simulator says nothing of preemption.
        (
            r" no new claims to deallocate, preemption: \d+/\d+ nodes are available: .* scheduling\.",
            "",
        ),
        (r"[ \t]+", " "),  # columns are as wide as what they hold
        (r" $", ""),
    )
)


@dataclasses.dataclass(frozen=True)
class Story:
    """kubectl command lines; a word `@name` becomes a file holding that manifest."""

    name: str
    commands: Sequence[str]
    manifests: dict[str, str] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        """Its name, which is also the test's id."""
        return self.name


@dataclasses.dataclass(frozen=True)
class Cluster:
    """A cluster that stories are typed into."""

    kubeconfig: Path
    kubectl: Path

    def tell(self, story: Story, folder: Path) -> str:
        """Type the story's commands; returns the transcript. A command gets 30 s."""
        for name, text in story.manifests.items():
            (folder / name).write_text(text)
        return "\n".join(self._typed(command, folder) for command in story.commands)

    def _typed(self, command: str, folder: Path) -> str:
        words = [
            str(folder / word[1:]) if word.startswith("@") else word
            for word in shlex.split(command)
        ]
        done = subprocess.run(
            [str(self.kubectl), "--kubeconfig", str(self.kubeconfig), *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        said = "\n".join(_ordered(map(_freed, (done.stdout + done.stderr).splitlines())))
        said = said.replace(str(folder) + "/", "@")
        return f"$ kubectl {command}\n{said}\nexit {done.returncode}\n"


def difference(real: str, simulated: str) -> str:
    """What the simulated cluster says otherwise, with the commands around it; empty where nothing."""
    lines = difflib.unified_diff(
        real.splitlines(), simulated.splitlines(), "real", "simulated", lineterm="", n=4
    )
    return "\n".join(lines)


def _ordered(lines: Iterable[str]) -> Iterator[str]:
    """Without the progress that a command happened to see; causes, which come in any order, sorted."""
    told = (line for line in lines if not line.startswith("Waiting for deployment "))
    for cause, run in itertools.groupby(told, key=lambda line: line.startswith("* ")):
        block = list(run)
        yield from sorted(block) if cause else block


def _freed(line: str) -> str:
    for pattern, name in _UNLIKE:
        line = pattern.sub(name, line)
    return line


@contextlib.contextmanager
def simulated(folder: Path, pools: object) -> Iterator[Cluster]:
    """The simulated cluster as a process, for the length of a `with` block."""
    kubeconfig, nodes, log = folder / "kubeconfig", folder / "pools.yaml", folder / "log"
    log.touch()
    nodes.write_text(yaml.safe_dump(pools))
    options = ("--name=sim", f"--kubeconfig={kubeconfig}", f"--pools={nodes}")
    process = stem.start("shared.kubesim", *options, log=log)
    try:
        waiting.until(
            lambda: "ready " in log.read_text() or process.poll() is not None, "ready", within_s=30
        )
        assert process.poll() is None, log.read_text()
        yield Cluster(kubeconfig, Path(shutil.which("kubectl") or build.programs().kubectl))
    finally:
        process.terminate()
        process.wait(30)
