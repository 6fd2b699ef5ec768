"""The runner of planted defects: what counts as found, and what every patch must say."""

import pytest

from tests.planted.planting import REPOSITORY, all_planted, read, verdict

ONE = '<testsuites><testsuite><testcase classname="t" name="test_it">{}</testcase></testsuite></testsuites>'


def _failure(message: str) -> str:
    return ONE.format(f'<failure message="{message}"></failure>')


def test_a_failed_assertion_finds_the_defect():
    """A test that fails by what it asserts has found it."""
    assert verdict(1, _failure("assert 1 == 2")) == (True, "t::test_it: assert 1 == 2")


@pytest.mark.parametrize(
    ("code", "report"),
    [
        pytest.param(0, ONE.format(""), id="passed"),
        pytest.param(
            1, _failure("Failed: Timeout (&gt;120.0s) from pytest-timeout."), id="timeout"
        ),
        pytest.param(1, _failure("ImportError: cannot import name"), id="import"),
        pytest.param(1, ONE.format('<error message="fixture"></error>'), id="error-of-a-fixture"),
        pytest.param(2, "", id="collection"),
        pytest.param(5, ONE.format(""), id="no-test"),
    ],
)
def test_what_proves_nothing_finds_nothing(code, report):
    """A pass, a timeout, and anything that keeps a test from running are not found."""
    assert not verdict(code, report)[0]


def test_every_patch_names_its_promise_and_its_finder():
    """The header of each patch is complete; a test that it names is in a file that is there."""
    found = all_planted()
    assert found
    for planted in found:
        kind = planted.finder.split()[0]
        file = REPOSITORY / planted.finder.partition("::")[0]
        assert kind in {"simulate", "chaos"} or file.exists(), planted.name


def test_a_patch_without_a_finder_is_refused(tmp_path):
    """A defect that nothing is to find is no use."""
    path = tmp_path / "x.patch"
    path.write_text("# invariant: R-01 nothing is lost\ndiff --git a/x b/x\n")
    with pytest.raises(ValueError, match="found by"):
        read(path)


def test_an_unknown_name_is_refused():
    """A misspelt name must not look like nothing to do."""
    with pytest.raises(ValueError, match="nosuch"):
        all_planted(["nosuch"])
