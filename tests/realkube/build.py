"""Builds the programs of the real control plane once per state of the Go module.

`realkube` (etcd and the Kubernetes components), `kwok` and, where the host has none, `kubectl`, all
from tests/realkube/go.mod, so that one file fixes every version. They land in
`$XDG_CACHE_HOME/roadstead-realkube/<digest of the module>/`; plane.py starts them.
Run as a program (`python -m tests.realkube.build`) it builds and prints that folder.

REALKUBE_VERSION names an older Kubernetes, 1.30 for instance: `tests/realkube/1.30` has its go.mod and
go.sum, the sources are the same, copied beside them; KWOK stays the newest one's.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

MODULE = Path(__file__).parent
VERSION = "REALKUBE_VERSION"
SOURCES = ("*.go", "go.mod", "go.sum", "stages.yaml")
PACKAGES = {
    "realkube": ".",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
}
KEPT_BUILDS = 3
BUILD_TIMEOUT_S = 40 * 60  # 8 minutes of CPU with empty caches, on two cores shared with others


class CannotBuildError(Exception):
    """The Go toolchain is missing, or the build failed; the text says which and why."""


@dataclasses.dataclass(frozen=True)
class Programs:
    """Where the built programs stand."""

    realkube: Path
    kwok: Path
    kubectl: Path  # the host's own, or the built one


@dataclasses.dataclass(frozen=True)
class _Module:
    """A Go module that programs are built from, and where they land."""

    requirements: Path  # the folder of go.mod and go.sum
    target: Path

    @property
    def older(self) -> bool:
        """Is this another Kubernetes than the one of the sources' own go.mod?"""
        return self.requirements != MODULE


def version() -> tuple[int, int]:
    """Major and minor of the Kubernetes that is built. Raises CannotBuildError: there is no such one."""
    major, minor, _ = _release(_requirements())
    return int(major), int(minor)


def _requirements() -> Path:
    """The folder of the go.mod that REALKUBE_VERSION names; the newest where it names none."""
    wanted = os.environ.get(VERSION, "")
    found = [MODULE, *(path.parent for path in MODULE.glob("[0-9]*/go.mod"))]
    known = {".".join(_release(folder)[:2]): folder for folder in found}
    if wanted and wanted not in known:
        raise CannotBuildError(f"{VERSION}={wanted}: there is {', '.join(sorted(known))}")
    return known.get(wanted, MODULE)


def go_is_missing() -> str | None:
    """Say in one line why nothing can be built here, or None when it can."""
    return None if shutil.which("go") else "no Go toolchain on PATH"


def programs() -> Programs:
    """Build what is missing and say where it stands; instant when nothing changed."""
    newest = _module(MODULE)
    wanted = _module(_requirements())
    kubectl = shutil.which("kubectl")
    built = ["realkube"] if kubectl else ["realkube", "kubectl"]
    for module, names in ((newest, ["kwok"]), (wanted, built)):
        module.target.mkdir(parents=True, exist_ok=True)
        with one_builder(module.target):
            for name in names:
                _build(name, module)
        label = module.requirements.name if module.older else ""
        forget_old_builds(module.target.parent, label)
    return Programs(
        realkube=wanted.target / "realkube",
        kwok=newest.target / "kwok",
        kubectl=Path(kubectl) if kubectl else wanted.target / "kubectl",
    )


def _module(requirements: Path) -> _Module:
    found = {path.name: path for pattern in SOURCES for path in MODULE.glob(pattern)}
    found |= {path.name: path for path in requirements.glob("go.*")}
    label = "" if requirements == MODULE else requirements.name
    return _Module(requirements, cached(label, found.values()))


def cached(label: str, sources: Iterable[Path]) -> Path:
    """The folder, `label`-digest, of what is built from these files."""
    digest = hashlib.sha256()
    for path in sorted(sources, key=lambda path: path.name):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = "-".join(each for each in (label, digest.hexdigest()[:16]) if each)
    return Path(home) / "roadstead-realkube" / name


def forget_old_builds(cache: Path, label: str) -> None:
    """Keep the newest few that are called `label`-digest: each edit of a module leaves 180 MiB behind."""
    alike = [folder for folder in cache.iterdir() if folder.name.rpartition("-")[0] == label]
    by_age = sorted(alike, key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in by_age[KEPT_BUILDS:]:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def one_builder(folder: Path) -> Iterator[None]:
    """Two test runs at once build once: the second waits for the first."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(name: str, module: _Module) -> None:
    if not (module.target / name).exists():
        flags = _linker_flags(module.requirements)
        compile_program(PACKAGES[name], module.target / name, _sources(module), flags)


def compile_program(package: str, target: Path, folder: Path, linker_flags: str) -> None:
    """Build `package` as the Go module in `folder` has it. Raises CannotBuildError."""
    if reason := go_is_missing():
        raise CannotBuildError(reason)
    name = target.name
    print(f"building {name} from {package}", file=sys.stderr, flush=True)
    unfinished = target.with_suffix(".unfinished")
    command = ["go", "build", "-mod=readonly", "-trimpath", "-p=2", "-buildvcs=false"]
    command += ["-ldflags", linker_flags, "-o", str(unfinished), package]
    if nice := shutil.which("nice"):
        command = [nice, "-n", "15", *command]
    try:
        subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "CGO_ENABLED": "0"},
            stdin=subprocess.DEVNULL,
            timeout=BUILD_TIMEOUT_S,
            check=True,
        )
    except subprocess.TimeoutExpired as failure:
        what = f"building {name} was stopped after {BUILD_TIMEOUT_S // 60} minutes"
        hint = "what is compiled is kept: the same call once more goes on from there"
        raise CannotBuildError(f"{what}; {hint}") from failure
    except subprocess.CalledProcessError as failure:
        raise CannotBuildError(f"building {name} failed: {failure}") from failure
    unfinished.replace(target)


def _sources(module: _Module) -> Path:
    """Where the module can be built: an older one's requirements and the sources in one folder."""
    if not module.older:
        return MODULE
    folder = module.target / "sources"
    folder.mkdir(exist_ok=True)
    for path in [*(each for pattern in SOURCES for each in MODULE.glob(pattern))]:
        own = module.requirements / path.name
        shutil.copyfile(own if own.exists() else path, folder / path.name)
    return folder


def _release(requirements: Path) -> tuple[str, str, str]:
    """Major, minor and patch of the Kubernetes that a go.mod requires."""
    required = (requirements / "go.mod").read_text()
    found = re.search(r"^\s*k8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)$", required, re.MULTILINE)
    if found is None:
        raise CannotBuildError(f"{requirements / 'go.mod'} requires no k8s.io/kubernetes release")
    return found[1], found[2], found[3]


def _linker_flags(requirements: Path) -> str:
    """No symbol tables, and the version that clients see: a plain build says v0.0.0-master."""
    major, minor, patch = _release(requirements)
    stamps = {
        "gitVersion": f"v{major}.{minor}.{patch}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitCommit": f"v{major}.{minor}.{patch}",
        "gitTreeState": "archive",
        "buildDate": "1970-01-01T00:00:00Z",  # the same input gives the same program
    }
    prefix = "k8s.io/component-base/version"
    return " ".join(["-s -w", *(f"-X {prefix}.{key}={value}" for key, value in stamps.items())])


if __name__ == "__main__":
    try:
        print(programs().realkube.parent)
    except CannotBuildError as problem:
        sys.exit(str(problem))
