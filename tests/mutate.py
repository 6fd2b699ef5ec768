"""Mutation testing of one module: `make mutate MODULE=hub/domain/quota/ledger.py`.

Each mutant is one small change of the module (`<` for `<=`, `and` for `or`, a constant, an argument left
out); one that every test passes with survives, and is printed as a diff: either no test holds that rule,
or the change makes no difference. mutmut makes and runs them, in a copy of the sources below `.cache`,
so that the checkout is left alone. The tests are those that specify the module: the folders named in
`SPECIFIED_BY`, or `TESTS="folder file …"`. Of these, mutmut runs for each mutant those that call it.

Ends with 0 if every mutant was killed, 1 if some survived, 2 if the tests fail without any, 3 out of time.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
COPY = REPOSITORY / ".cache" / "mutate"
ROOTS = ("hub", "agent", "shared", "roadstead", "tests", "examples", "docs")
# Where the tests of a module are: the longest beginning of its path counts.
SPECIFIED_BY = {
    "hub/domain": ("tests/domain",),
    "hub/offline": ("tests/offline", "tests/properties"),
    "hub/services": ("tests/services", "tests/scheduling", "tests/lifecycle", "tests/sync"),
    "hub/services/placements": ("tests/placements",),
    "hub/services/kueue_view": ("tests/status",),
    "hub/services/outside": ("tests/checks",),
    "hub/store": ("tests/store",),
    "hub/bridge": ("tests/bridge",),
    "hub/api": ("tests/api",),
    "hub/web": ("tests/web",),
    "agent": ("tests/agent",),
    "shared": ("tests/shared",),
    "shared/kinds": ("tests/kinds",),
    "shared/kube": ("tests/kube",),
    "shared/kubesim": ("tests/kubesim",),
    "roadstead": ("tests/cli",),
}
CONFIGURATION = """
[tool.mutmut]
source_paths = ["{root}"]
only_mutate = ["{module}"]
also_copy = {others}
pytest_add_cli_args = ["-m", "not slow", "-p", "no:cacheprovider"]
pytest_add_cli_args_test_selection = {tests}
timeout_constant = 5.0
timeout_multiplier = 5.0
"""


def tests_of(module: str) -> list[str]:
    """Folders of the tests that specify a module."""
    known = [prefix for prefix in SPECIFIED_BY if module.startswith(prefix + "/")]
    return list(SPECIFIED_BY[max(known, key=len)]) if known else ["tests"]


def prepare(module: str, tests: list[str]) -> None:
    """Copy the sources, and say there what is to be mutated."""
    shutil.rmtree(COPY, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.patch")
    for root in ROOTS:
        shutil.copytree(REPOSITORY / root, COPY / root, ignore=ignored)
    root = module.partition("/")[0]
    others = [each for each in ROOTS if each != root]
    written = CONFIGURATION.format(root=root, module=module, others=others, tests=tests)
    (COPY / "pyproject.toml").write_text((REPOSITORY / "pyproject.toml").read_text() + written)


def mutmut(*arguments: str, timeout_s: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run mutmut in the copy; its output is this program's unless it is asked for results."""
    shown = arguments[0] == "run"
    return subprocess.run(
        [str(Path(sys.executable).with_name("mutmut")), *arguments],
        cwd=COPY,
        env={**os.environ, "PYTHONPATH": ""},
        stdout=None if shown else subprocess.PIPE,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def survivors() -> list[tuple[str, str]]:
    """Mutants that no test noticed, and why: survived, or not called by any test."""
    lines = mutmut("results").stdout.splitlines()
    found = [line.strip().rpartition(": ")[::2] for line in lines if ": " in line]
    return [(name, status) for name, status in found if status in {"survived", "no tests"}]


def main() -> int:
    """Mutate the module that is named, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("module", help="a source file, as hub/domain/quota/ledger.py")
    parser.add_argument(
        "--tests", nargs="+", help="the tests to run instead of those of its folder"
    )
    parser.add_argument("--most-s", type=float, default=900.0, help="end after this time")
    given = parser.parse_args()
    module = str(Path(given.module))
    if not (REPOSITORY / module).is_file():
        parser.error(f"there is no file {module}")
    prepare(module, given.tests or tests_of(module))
    try:
        ran = mutmut("run", "--max-children=2", timeout_s=given.most_s)
    except subprocess.TimeoutExpired:
        print(f"not done within {given.most_s:g} s; what was found until then:")
        ran = None
    if ran is not None and ran.returncode:
        return 2
    found = survivors()
    for name, status in found:
        print(mutmut("show", name).stdout if status == "survived" else f"# {name}: {status}\n")
    print(f"{module}: {len(found)} mutants not noticed")
    return 3 if ran is None else min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
