"""Builds Kueue once per state of its Go module (`go.mod`, `go.sum` here): the program, and its manifests.

The module is one of its own: Kueue is built with the versions that its release names, which are not those
of the control plane. Run as a program (`python -m tests.realkube.kueue.building`) it builds and prints the
folder.
"""

import dataclasses
import shutil
import subprocess
import sys
from pathlib import Path

from tests.realkube import build

MODULE = Path(__file__).parent
PACKAGE = "sigs.k8s.io/kueue/cmd/kueue"
_COMPONENTS = ("crd", "rbac", "webhook")  # of config/components in Kueue's module


@dataclasses.dataclass(frozen=True)
class Kueue:
    """Where the built program stands, and the manifests of the same release."""

    program: Path
    manifests: Path  # the folders crd, rbac and webhook


def kueue() -> Kueue:
    """Build what is missing and say where it stands; instant when nothing changed.

    Raises CannotBuildError.
    """
    target = build.cached("kueue", MODULE.glob("go.*"))
    target.mkdir(parents=True, exist_ok=True)
    built = Kueue(target / "kueue", target / "manifests")
    with build.one_builder(target):
        if not built.program.exists():
            build.compile_program(PACKAGE, built.program, MODULE, "-s -w")
        if not built.manifests.exists():
            _copy_manifests(built.manifests)
    build.forget_old_builds(target.parent, "kueue")
    return built


def _copy_manifests(target: Path) -> None:
    """What the release installs, from its module: read-only there, and gone when its cache is cleaned."""
    command = ["go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue"]
    done = subprocess.run(command, cwd=MODULE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise build.CannotBuildError(f"Kueue's manifests are not there: {done.stderr.strip()}")
    unfinished = target.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    for component in _COMPONENTS:
        for path in (Path(done.stdout.strip()) / "config/components" / component).rglob("*.yaml"):
            place = unfinished / component / path.name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
    unfinished.rename(target)


if __name__ == "__main__":
    try:
        print(kueue().program.parent)
    except build.CannotBuildError as problem:
        sys.exit(str(problem))
