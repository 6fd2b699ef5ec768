"""A release without publishing anything: `make release` (`python -m tests.release [--out dist] [--final]`).

It leaves in the folder: wheel and sdist, the charts as packages, the plain manifests and the images' build
files as archives, the notes of this version, a CycloneDX document of what it is made of, and SHA256SUMS.
The wheel is installed into an environment of its own first and has to say its version. `--final` insists
on a section of this version in CHANGELOG.md, without it those of Unreleased will do.
"""

import argparse
import gzip
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.charts import helm
from tests.charts.programs import NotBuilt
from tests.house.sources import REPOSITORY
from tests.release import lock, notes, sbom

_BUILD_S: Final = 120
_INSTALL_S: Final = 300
_SAY_S: Final = 30
SUMS: Final = "SHA256SUMS"
MANIFESTS: Final = ("hub", "hub-cluster", "member", "crds", "monitoring")


class NotReleasable(Exception):
    """Something that a release needs is missing or does not work; the text says what."""


def main() -> None:
    """Make all of it; ends with 1 and one line where that is not possible."""
    parser = argparse.ArgumentParser(prog="python -m tests.release", description=__doc__)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "dist")
    parser.add_argument("--final", action="store_true", help="insist on this version's own notes")
    given = parser.parse_args()
    try:
        release(given.out, final=given.final)
    except (NotReleasable, NotBuilt, helm.HelmError) as problem:
        sys.exit(f"release: {problem}")


def release(out: Path, *, final: bool) -> None:
    """Fill `out`, which is emptied first. Raises NotReleasable, NotBuilt, HelmError."""
    version = project_version()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / "NOTES.md").write_text(notes_of(version, final=final) + "\n")
    wheel = build_python(out, version)
    check_wheel(wheel, version)
    (out / f"roadstead-{version}.cdx.json").write_text(
        sbom.document(REPOSITORY / "requirements", version)
    )
    for chart in helm.NAMES:
        helm.run("package", str(helm.CHARTS / chart), "--destination", str(out))
    archive(out / f"roadstead-manifests-{version}.tar.gz", MANIFESTS)
    archive(out / f"roadstead-images-{version}.tar.gz", ["docker"])
    files = sorted(each for each in out.iterdir() if each.is_file())
    sums = [f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in files]
    (out / SUMS).write_text("".join(sums))
    for each in files:
        print(f"{each.stat().st_size:>9}  {each.name}")
    print(f"nothing was published; {len(files)} files and {SUMS} are in {out}")


def project_version() -> str:
    """The version in pyproject.toml."""
    about = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    return str(about["project"]["version"])


def notes_of(version: str, *, final: bool) -> str:
    """What the changelog says of this version. Raises NotReleasable where it says nothing."""
    changelog = (REPOSITORY / "CHANGELOG.md").read_text()
    text = notes.section(changelog, version)
    if not text and final:
        raise NotReleasable(f"CHANGELOG.md has no section {version}")
    if not text:
        print(f"CHANGELOG.md has no section {version} yet: the notes are those of Unreleased")
        text = notes.section(changelog, notes.UNRELEASED)
    if not text:
        raise NotReleasable(f"CHANGELOG.md says nothing of {version}, nor below Unreleased")
    return text


def build_python(out: Path, version: str) -> Path:
    """Wheel and sdist, by the locked build backend; returns the wheel."""
    _run([sys.executable, "-m", "hatchling", "build", "-d", str(out)], _BUILD_S)
    wheel = out / f"roadstead-{version}-py3-none-any.whl"
    if not wheel.exists() or not (out / f"roadstead-{version}.tar.gz").exists():
        raise NotReleasable(f"no wheel or no sdist of {version}")
    return wheel


def check_wheel(wheel: Path, version: str) -> None:
    """Install it as a user does, with the locked versions, and ask it who it is."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "venv")
        venv.create(home, with_pip=True)
        wanted = Path(folder, "versions.txt")
        locked = lock.read(REPOSITORY / "requirements" / "lock.txt").values()
        wanted.write_text("".join(f"{each.name}=={each.version}\n" for each in locked))
        pip = [str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        _run([*pip, "install", "--quiet", "--constraint", str(wanted), str(wheel)], _INSTALL_S)
        said = _run([str(home / "bin" / "roadstead"), "--version"], _SAY_S, cwd=Path(folder))
    if said.strip() != f"roadstead {version}":
        raise NotReleasable(
            f"the installed command says {said.strip()!r}, not roadstead {version}"
        )


def archive(path: Path, folders: Sequence[str]) -> None:
    """Folders below deploy/ as one archive, the same for the same files."""

    def settled(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = 0
        return entry

    with (
        path.open("wb") as bare,
        gzip.GzipFile("", "wb", fileobj=bare, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as file,
    ):
        for folder in folders:
            file.add(REPOSITORY / "deploy" / folder, folder, filter=settled)


def _run(command: list[str], most_s: float, *, cwd: Path = REPOSITORY) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=most_s, check=True, cwd=cwd
        )
    except subprocess.TimeoutExpired as slow:
        raise NotReleasable(f"{' '.join(command[:4])} takes more than {most_s:.0f} s") from slow
    except subprocess.CalledProcessError as failed:
        words = (failed.stderr or failed.stdout).strip()[-500:]
        raise NotReleasable(f"{' '.join(command[:4])}: {words}") from failed
    return done.stdout


if __name__ == "__main__":
    main()
