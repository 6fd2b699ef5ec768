"""The wheel: what an installation elsewhere has, and that the demo finds its manifests there."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.commands import GUIDE, REPOSITORY


def _python(*arguments: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=cwd,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    _python("-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=REPOSITORY)
    (built,) = folder.glob("roadstead-*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> Sequence[str]:
    with zipfile.ZipFile(wheel) as opened:
        return opened.namelist()


def test_the_wheel_has_the_packages_and_nothing_else(names):
    """hub, agent, shared and roadstead; no tests, benchmarks or documentation."""
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"hub", "agent", "shared", "roadstead"}


def test_the_wheel_has_the_example_manifests(names):
    """The guide's files and the demo's other two stand under roadstead/examples."""
    wanted = {f"guide/{path.name}" for path in GUIDE.glob("*.yaml")}
    wanted |= {"research-team.yaml", "gpu-intensive.yaml"}
    assert {f"roadstead/examples/{name}" for name in wanted} <= set(names)


def test_the_wheel_has_what_is_no_python(names):
    """Pages and schemas that the programs read are in it."""
    kept = [p.relative_to(REPOSITORY) for p in (REPOSITORY / "hub/web/templates").rglob("*.*")]
    assert {p.as_posix() for p in kept} <= set(names)
    assert "shared/kubesim/schema/builtin_schemas.json" in names
    kinds = [p.relative_to(REPOSITORY) for p in (REPOSITORY / "shared/workkinds").rglob("*.yaml")]
    assert {p.as_posix() for p in kinds} <= set(names)


def test_the_wheel_says_that_the_sdk_is_typed(names):
    """py.typed stands beside the package, so that a checker of types believes its annotations."""
    assert "roadstead/py.typed" in names


def test_an_installed_demo_finds_its_manifests(wheel, tmp_path):
    """Unpacked elsewhere, the package's own examples are found, not the checkout's."""
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(tmp_path)
    code = "from roadstead.cli.story import examples; print(examples())"
    found = _python("-c", code, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert found == str(tmp_path / "roadstead" / "examples")
