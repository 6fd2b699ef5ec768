"""What a release consists of: lock, document of components, notes. All of it is `make release`."""

import importlib.resources
import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.house.sources import REPOSITORY
from tests.release import __main__ as making, lock, notes, sbom
from tests.release.lock import Locked

PARTS = ("bom-1.6", "spdx", "jsf-0.82", "cryptography-defs")
REQUIREMENTS = REPOSITORY / "requirements"


def test_a_lock_file_is_read(tmp_path: Path) -> None:
    """Version, marker and who asks, on one line or several; constraints ask for nothing."""
    text = r"""
aiohttp==3.14.5 \
    --hash=sha256:00 \
    --hash=sha256:01
    # via
    #   -c requirements/lock.txt
    #   kubernetes-asyncio
    #   roadstead (pyproject.toml)
colorama==0.4.6 ; sys_platform == 'win32' \
    --hash=sha256:02
    # via click
"""
    (tmp_path / "lock.txt").write_text(text)
    by = frozenset({"kubernetes-asyncio", "roadstead"})
    assert lock.read(tmp_path / "lock.txt") == {
        "aiohttp": Locked("aiohttp", "3.14.5", "", by),
        "colorama": Locked("colorama", "0.4.6", "sys_platform == 'win32'", frozenset({"click"})),
    }


def test_nothing_locked_is_overlooked() -> None:
    """Every line of the real lock file that names a version is read."""
    named = re.findall(r"^([a-z0-9._-]+)==", (REQUIREMENTS / "lock.txt").read_text(), re.MULTILINE)
    assert sorted(lock.read(REQUIREMENTS / "lock.txt")) == sorted(set(named))


@pytest.fixture(scope="module")
def document() -> Any:
    """The document of what is locked now."""
    return json.loads(sbom.document(REQUIREMENTS, "1.2.3"))


def test_the_document_is_cyclonedx(document: Any) -> None:
    """It meets the published JSON schema of CycloneDX 1.6, with SPDX's names of licences."""
    folder = importlib.resources.files("cyclonedx.schema._res")
    bom, *parts = (
        (f"http://cyclonedx.org/schema/{name}", json.loads((folder / name).read_text()))
        for name in (f"{part}.SNAPSHOT.schema.json" for part in PARTS)
    )
    schema = jsonschema_rs.validator_for(bom[1], registry=jsonschema_rs.Registry(parts))
    schema.validate(document)
    with pytest.raises(jsonschema_rs.ValidationError):
        schema.validate({**document, "components": [{"name": "x"}]})


def test_the_document_names_everything_and_says_what_is_shipped(document: Any) -> None:
    """Each locked package once, with its version; what only development needs is excluded."""
    locked = lock.read(REQUIREMENTS / "lock.txt")
    found = {each["name"]: each for each in document["components"]}
    assert {name: each["version"] for name, each in found.items()} == {
        name: each.version for name, each in locked.items()
    }
    assert found["fastapi"]["purl"] == f"pkg:pypi/fastapi@{locked['fastapi'].version}"
    assert found["fastapi"]["scope"] == "required"
    assert found["pytest"]["scope"] == "excluded"
    assert document["metadata"]["component"]["version"] == "1.2.3"


def test_the_document_says_who_needs_whom(document: Any) -> None:
    """The project stands at the root, and a package that others brought is theirs alone."""
    needs = {each["ref"]: set(each.get("dependsOn", ())) for each in document["dependencies"]}
    versions = {each["name"]: each["bom-ref"] for each in document["components"]}
    assert versions["httpx"] in needs["roadstead"]
    assert versions["httpcore"] in needs[versions["httpx"]]
    assert versions["httpcore"] not in needs["roadstead"]


def test_the_document_is_the_same_each_time() -> None:
    """No moment and no chance is in it: the same lock file gives the same text."""
    assert sbom.document(REQUIREMENTS, "1.2.3") == sbom.document(REQUIREMENTS, "1.2.3")


CHANGELOG = """# Changelog

## Unreleased

Coming.

## [0.2.0] - 2026-05-01

### Added

- This.

## 0.1.0

First.
"""


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("Unreleased", "Coming."),
        ("0.2.0", "### Added\n\n- This."),
        ("0.1.0", "First."),
        ("0.1", ""),
        ("0.10.0", ""),
    ],
)
def test_notes_are_the_section_of_the_version(version: str, text: str) -> None:
    """A heading may have brackets and a date; another version's is never taken."""
    assert notes.section(CHANGELOG, version) == text


def test_the_changelog_tells_of_this_version() -> None:
    """The version in pyproject.toml, or what is unreleased, has its section."""
    assert making.notes_of(making.project_version(), final=False)


def test_a_final_release_needs_notes_of_its_own() -> None:
    """Those of Unreleased do for a dry run alone."""
    with pytest.raises(making.NotReleasable, match=r"no section nine"):
        making.notes_of("nine", final=True)


def test_an_archive_is_the_same_each_time(tmp_path: Path) -> None:
    """Neither the moment nor whoever packs is in it."""
    for name in ("one.tar.gz", "two.tar.gz"):
        making.archive(tmp_path / name, ["docker"])
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()


def test_a_command_that_fails_is_told(tmp_path: Path) -> None:
    """With its beginning and its last words."""
    with pytest.raises(making.NotReleasable, match="no such thing"):
        making._run(["sh", "-c", "echo no such thing >&2; exit 3"], 10, cwd=tmp_path)
