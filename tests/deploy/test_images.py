"""Rules for the container files: pinned, small, without root, and watched."""

import re
from pathlib import Path

import pytest

from tests.deploy import dockerfile
from tests.house.sources import REPOSITORY

FILES = sorted((REPOSITORY / "deploy/docker").glob("*.Dockerfile"))
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)


@every_file
def test_base_images_are_pinned_and_slim(path: Path) -> None:
    """Each stage starts from a slim base with a version as its tag, never `latest`."""
    bases = [dockerfile.texts(stage, "FROM")[0].split()[0] for stage in dockerfile.stages(path)]
    assert bases
    assert all(re.fullmatch(r"[\w./-]+:\d[\w.]*-slim[\w.-]*", base) for base in bases)


@every_file
def test_it_runs_without_root(path: Path) -> None:
    """The last stage sets a numeric user that is not root, and nothing changes it back."""
    users = dockerfile.texts(dockerfile.stages(path)[-1], "USER")
    assert len(users) == 1
    assert int(users[0].split(":")[0]) > 0


@every_file
def test_its_health_is_watched(path: Path) -> None:
    """The last stage has a health check."""
    assert dockerfile.texts(dockerfile.stages(path)[-1], "HEALTHCHECK")


@every_file
def test_every_package_is_hashed(path: Path) -> None:
    """Every pip install resolves nothing: it takes hashed requirements, or the project's wheel."""
    commands = [c for stage in dockerfile.stages(path) for c in dockerfile.texts(stage, "RUN")]
    installs = [part for c in commands for part in c.split("&&") if "pip install" in part]
    assert installs
    assert all("--no-deps" in part for part in installs)
    assert all("--require-hashes" in part or ".whl" in part for part in installs)


@every_file
def test_the_build_tools_stay_behind(path: Path) -> None:
    """The last stage installs nothing: it takes what the build stage made."""
    last = dockerfile.stages(path)[-1]
    assert not [c for c in dockerfile.texts(last, "RUN") if "pip" in c]
    assert [c for c in dockerfile.texts(last, "COPY") if c.startswith("--from=build ")]


@every_file
def test_the_command_is_an_exec_form(path: Path) -> None:
    """ENTRYPOINT and CMD are lists, so that signals reach the process."""
    last = dockerfile.stages(path)[-1]
    forms = dockerfile.texts(last, "ENTRYPOINT") + dockerfile.texts(last, "CMD")
    assert forms
    assert all(form.startswith("[") for form in forms)


@pytest.mark.parametrize("package", ["fastapi", "starlette", "sqlalchemy", "alembic", "uvicorn"])
def test_the_agent_is_light(package: str) -> None:
    """The agent's locked requirements carry neither web framework nor database layer."""
    assert package not in _locked("agent")


def test_the_agent_has_what_it_imports() -> None:
    """The agent's locked requirements carry the Kubernetes client and the HTTP client."""
    assert {"kubernetes-asyncio", "httpx", "pydantic", "orjson"} <= _locked("agent").keys()


@pytest.mark.parametrize("name", ["hub", "agent", "sim", "build"])
def test_images_and_tests_use_the_same_versions(name: str) -> None:
    """What an image installs is what the tests ran with: the versions of requirements/lock.txt."""
    everything = _locked("lock")
    different = {p: v for p, v in _locked(name).items() if everything.get(p) != v}
    assert different == {}


def _locked(name: str) -> dict[str, str]:
    text = (REPOSITORY / "requirements" / f"{name}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;\\]+)", text, re.MULTILINE))
