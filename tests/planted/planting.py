"""A planted defect: a patch that breaks one promise, and what must find it.

The header of a patch names the promise (`# invariant: R-04 …`) and the finder: `# test:` or
`# found by:` a test's node id, `simulate first,count [level]` or `chaos first,count`. A finder finds a defect
when it passes without and fails with it, by its own judgement: a timeout, an error while
collecting or an import that fails proves nothing.
"""

import compileall
import json
import os
import py_compile
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

FOLDER = Path(__file__).parent
REPOSITORY = FOLDER.parents[1]
TEST_S, SIMULATE_S, CHAOS_S = 180, 900, 900  # of a busy host
_NO_PROOF = ("Failed: Timeout", "ModuleNotFoundError", "ImportError", "SyntaxError")


@dataclass(frozen=True)
class Planted:
    """One patch and what its header says."""

    name: str
    path: Path
    invariant: str
    finder: str


@dataclass(frozen=True)
class Outcome:
    """What a finder said: `failed` by its own judgement, or why that is no answer."""

    failed: bool
    proof: str
    seconds: float


def read(path: Path) -> Planted:
    """A patch with its header. ValueError when a line of the header is missing."""
    header: dict[str, str] = {}
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            break
        key, _, value = line.lstrip("# ").partition(":")
        header[key.strip()] = value.strip()
    finder = header.get("test") or header.get("found by") or ""
    if not header.get("invariant") or not finder:
        raise ValueError(f"{path.name}: `# invariant:` and `# test:` or `# found by:` are needed")
    return Planted(path.stem, path, header["invariant"], finder)


def all_planted(names: Sequence[str] = ()) -> list[Planted]:
    """The patches of these names, or all, by name. ValueError for a name that is none."""
    found = {path.stem: path for path in sorted(FOLDER.glob("*.patch"))}
    unknown = [name for name in names if name not in found]
    if unknown:
        raise ValueError(f"no such patch: {', '.join(unknown)}")
    return [read(found[name]) for name in names or found]


class Scratch:
    """A copy of what git keeps of the repository, in which defects are planted one at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True).stdout
        for name in filter(None, listed.decode().split("\0")):
            if (REPOSITORY / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(REPOSITORY / name, folder / name)
        # Once here, not in each of some hundred runs; by hashes, so that no patch goes unnoticed.
        by_hash = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(folder, quiet=2, maxlevels=20, invalidation_mode=by_hash)
        (folder / ".venv").symlink_to(Path(sys.prefix))

    def plant(self, planted: Planted, *, undo: bool = False) -> str:
        """Apply a patch, or take it back; what `git apply` has against it, "" for nothing."""
        # Context may have moved: a patch is a few lines, and those must be there.
        command = ["git", "apply", "-C1", *(("-R",) if undo else ()), str(planted.path)]
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(self.folder.parent)}
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, env=environment
        )
        return done.stderr.strip() if done.returncode else ""

    def ask(self, finder: str) -> Outcome:
        """Run a finder on the copy as it is now."""
        kind, _, seeds = finder.partition(" ")
        began = time.monotonic()
        match kind:
            case "simulate":
                seeds, _, level = seeds.partition(" ")
                module = [sys.executable, "-m", "tests.simulation", "--first-only"]
                command = [*module, f"--seeds={seeds or '1,2000'}", f"--level={level or 'model'}"]
                failed, proof = self._campaign(command, SIMULATE_S)
            case "chaos":
                module = [sys.executable, "-m", "tests.chaos", "--first-only"]
                traces = f"--traces={self.folder / 'traces'}"
                command = [*module, f"--seeds={seeds or '1,8'}", traces]
                failed, proof = self._campaign(command, CHAOS_S)
            case _:
                failed, proof = self._test(finder)
        return Outcome(failed, proof, time.monotonic() - began)

    def _campaign(self, command: list[str], within_s: float) -> tuple[bool, str]:
        code, output = self._run(command, within_s)
        if code is None:
            return False, f"timeout after {within_s:g} s"
        try:
            found = json.loads(output.strip().splitlines()[-1])["violations"]
        except (IndexError, KeyError, ValueError):
            return False, f"exit code {code} without a verdict"
        if not found:
            return False, "no violation"
        return True, f"seed {found[0]['seed']}: {found[0]['invariant']}"

    def _test(self, node: str) -> tuple[bool, str]:
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *(f"--junitxml={report}", node),
        ]
        code, _ = self._run(command, TEST_S)
        if code is None:
            return False, f"timeout after {TEST_S} s"
        return verdict(code, report.read_text() if report.exists() else "")

    def _run(self, command: list[str], within_s: float) -> tuple[int | None, str]:
        """Exit code (None: it took too long and was ended with its children) and output."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",  # these go by seconds: a patch in one would go unnoticed
        }
        process = subprocess.Popen(
            command, cwd=self.folder, env=environment, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""
        return process.returncode, output


def verdict(code: int, report: str) -> tuple[bool, str]:
    """Whether tests failed by what they assert, from pytest's exit code and JUnit report."""
    if code == 0:
        return False, "passed"
    if code != 1 or not report:
        return False, f"pytest ended with exit code {code}"
    told = [
        (f"{case.get('classname')}::{case.get('name')}", failure.get("message") or "")
        for case in ET.fromstring(report).iter("testcase")
        for failure in case.iter("failure")
    ]
    proofs = [(name, text) for name, text in told if not text.startswith(_NO_PROOF)]
    if proofs:
        return True, f"{proofs[0][0]}: {proofs[0][1].splitlines()[0][:120]}"
    return False, told[0][1].splitlines()[0][:120] if told else "an error outside of any test"
