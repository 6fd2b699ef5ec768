"""Builds the programs of the real control plane once per state of the Go module.

`realkube` (etcd and the Kubernetes components), `kwok` and, where the host has none, `kubectl`, all
from tests/realkube/go.mod, so that one file fixes every version. They land in
`$XDG_CACHE_HOME/roadstead-realkube/<digest of the module>/`; plane.py starts them.
Run as a program (`python -m tests.realkube.build`) it builds and prints that folder.
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
from collections.abc import Iterator
from pathlib import Path

MODULE = Path(__file__).parent
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


def go_is_missing() -> str | None:
    """Say in one line why nothing can be built here, or None when it can."""
    return None if shutil.which("go") else "no Go toolchain on PATH"


def programs() -> Programs:
    """Build what is missing and say where it stands; instant when nothing changed."""
    folder = _cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with _one_builder(folder):
        for name in ("realkube", "kwok"):
            _build(name, folder / name)
        kubectl = shutil.which("kubectl")
        if kubectl is None:
            _build("kubectl", folder / "kubectl")
    _forget_old_builds(folder.parent)
    return Programs(
        realkube=folder / "realkube",
        kwok=folder / "kwok",
        kubectl=Path(kubectl) if kubectl else folder / "kubectl",
    )


def _cache_folder() -> Path:
    digest = hashlib.sha256()
    for path in sorted(path for pattern in SOURCES for path in MODULE.glob(pattern)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "roadstead-realkube" / digest.hexdigest()[:16]


def _forget_old_builds(builds: Path) -> None:
    """Keep the newest few: each edit of the module leaves 180 MiB behind."""
    by_age = sorted(builds.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in by_age[KEPT_BUILDS:]:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _one_builder(folder: Path) -> Iterator[None]:
    """Two test runs at once build once: the second waits for the first."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(name: str, target: Path) -> None:
    if target.exists():
        return
    if reason := go_is_missing():
        raise CannotBuildError(reason)
    print(f"building {name} from {PACKAGES[name]}", file=sys.stderr, flush=True)
    unfinished = target.with_suffix(".unfinished")
    command = ["go", "build", "-mod=readonly", "-trimpath", "-p=2", "-buildvcs=false"]
    command += ["-ldflags", _linker_flags(), "-o", str(unfinished), PACKAGES[name]]
    if nice := shutil.which("nice"):
        command = [nice, "-n", "15", *command]
    try:
        subprocess.run(
            command,
            cwd=MODULE,
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


def _linker_flags() -> str:
    """No symbol tables, and the version that clients see: a plain build says v0.0.0-master."""
    required = (MODULE / "go.mod").read_text()
    found = re.search(r"^\s*k8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)$", required, re.MULTILINE)
    if found is None:
        raise CannotBuildError("go.mod requires no k8s.io/kubernetes release")
    major, minor, patch = found.groups()
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
