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
        build._build("realkube", tmp_path / "realkube")
