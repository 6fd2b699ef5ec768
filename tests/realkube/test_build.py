"""The build of the real control plane, without a toolchain."""

import subprocess

import pytest

from tests.realkube import build


def test_a_build_that_takes_too_long_says_that_it_goes_on(monkeypatch, tmp_path):
    """The limit is one of wall time: on a busy machine the second call finishes what the first began."""

    def too_long(command, **options):
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(build, "go_is_missing", lambda: None)
    monkeypatch.setattr(subprocess, "run", too_long)
    with pytest.raises(build.CannotBuildError, match=r"after 40 minutes.*once more goes on"):
        build._build("realkube", build._Module(build.MODULE, tmp_path))


def test_an_older_kubernetes_is_named_by_its_minor_version(monkeypatch):
    """Its folder has requirements alone: the sources are those of the newest."""
    monkeypatch.delenv(build.VERSION, raising=False)
    newest = build.version()
    monkeypatch.setenv(build.VERSION, "1.30")
    assert build.version() == (1, 30) < newest
    assert {path.name for path in build._requirements().iterdir()} == {"go.mod", "go.sum"}
    monkeypatch.setenv(build.VERSION, "1.2")
    with pytest.raises(build.CannotBuildError, match=r"1\.2: there is 1\.30"):
        build.version()
