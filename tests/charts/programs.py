"""Programs of others that the tests of what is installed need: Helm, and the reader of compose files.

Both are built from tests/charts/go.mod, so that one file fixes their versions, and land in
`$XDG_CACHE_HOME/roadstead-helm/<digest of the module>/`. Run as a program
(`python -m tests.charts.programs`) it builds them and prints that folder.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

MODULE: Final = Path(__file__).parent
KUBERNETES: Final = "1.36.0"  # what Helm renders for without a cluster
PACKAGES: Final = {
    "helm": "helm.sh/helm/v3/cmd/helm",
    "compose-spec": "github.com/compose-spec/compose-go/v2/cmd",
}
BUILD_TIMEOUT_S: Final = (
    20 * 60
)  # a minute on two cores where the real control plane is built already


class NotBuilt(Exception):
    """A program is missing and can not be built; the text says why."""


def missing() -> str | None:
    """Say in one line why tests can not use them, or None when they can.

    Tests never build by themselves: that takes minutes where nothing is compiled yet.
    """
    built = all((_folder() / name).exists() for name in PACKAGES)
    return None if built else "no Helm: `make helm` builds it (needs Go)"


def program(name: str) -> Path:
    """Build it where it is missing, and say where it stands. Raises NotBuilt."""
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / name
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs at once build once
        if not target.exists():
            _build(name, target)
    return target


def _folder() -> Path:
    digest = hashlib.sha256(KUBERNETES.encode())
    for name in ("go.mod", "go.sum"):
        digest.update((MODULE / name).read_bytes() + b"\0")
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "roadstead-helm" / digest.hexdigest()[:16]


def _build(name: str, target: Path) -> None:
    if shutil.which("go") is None:
        raise NotBuilt("no Go toolchain on PATH")
    print(f"building {name}", file=sys.stderr, flush=True)
    unfinished = target.with_suffix(".unfinished")
    command = ["go", "build", "-mod=readonly", "-trimpath", "-p=2", "-buildvcs=false"]
    command += ["-ldflags", f"-s -w {_stamps()}", "-o", str(unfinished), PACKAGES[name]]
    env = {**os.environ, "CGO_ENABLED": "0"}
    try:
        subprocess.run(command, cwd=MODULE, env=env, timeout=BUILD_TIMEOUT_S, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as failure:
        raise NotBuilt(f"building {name} failed: {failure}") from failure
    unfinished.replace(target)


def _stamps() -> str:
    """What a release of Helm says of itself, and the Kubernetes that it renders for without a cluster."""
    found = re.search(r"helm\.sh/helm/v3 (v\S+)", (MODULE / "go.mod").read_text())
    assert found is not None
    major, minor, _ = KUBERNETES.split(".")
    stamps = {
        "internal/version.version": found[1],
        "pkg/chartutil.k8sVersionMajor": major,
        "pkg/chartutil.k8sVersionMinor": minor,
        "pkg/lint/rules.k8sVersionMajor": major,
        "pkg/lint/rules.k8sVersionMinor": minor,
    }
    return " ".join(f"-X helm.sh/helm/v3/{name}={value}" for name, value in stamps.items())


if __name__ == "__main__":
    try:
        print({program(name).parent for name in PACKAGES}.pop())
    except NotBuilt as problem:
        sys.exit(str(problem))
