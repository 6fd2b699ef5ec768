"""Mutation testing of one module: `make mutate MODULE=hub/domain/quota/ledger.py`.

Each mutant is one small change of the module (`<` for `<=`, `and` for `or`, a constant, an argument left
out); one that every test passes with survives, and is printed as a diff: either no test holds that rule,
or the change makes no difference. mutmut makes and runs them, in a copy of the sources below `.cache`,
so that the checkout is left alone. The tests are those that specify the module: the folders named in
`SPECIFIED_BY`, or `MUTATE_ARGS="--tests folder file …"`. Of these, mutmut runs for each mutant those that
call it, on SQLite alone: mutmut runs pytest many times in one process, and each run ends its server.

Ends with 0 if every mutant was killed, 1 if some survived, 2 if the tests fail without any, 3 out of time.
"""

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
ROOTS = ("hub", "agent", "shared", "roadstead", "tests", "examples", "docs")
# Where the tests of a module are: the longest beginning of its path counts.
SPECIFIED_BY = {
    "hub/domain": ("tests/domain",),
    "hub/offline": ("tests/offline", "tests/properties"),
    "hub/services": ("tests/services",),
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
pytest_add_cli_args = ["-m", "not slow", "-k", "not postgres", "-p", "no:cacheprovider"]
pytest_add_cli_args_test_selection = {tests}
timeout_constant = 5.0
timeout_multiplier = 5.0
"""


def tests_of(module: str) -> list[str]:
    """Folders of the tests that specify a module."""
    known = [prefix for prefix in SPECIFIED_BY if module.startswith(prefix + "/")]
    return list(SPECIFIED_BY[max(known, key=len)]) if known else ["tests"]


def prepare(module: str, tests: list[str]) -> Path:
    """Copy the sources to a folder of this module, and say there what is to be mutated."""
    copy = REPOSITORY / ".cache" / "mutate" / module.replace("/", ".")
    shutil.rmtree(copy, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.patch")
    for root in ROOTS:
        shutil.copytree(REPOSITORY / root, copy / root, ignore=ignored)
    root = module.partition("/")[0]
    others = [each for each in ROOTS if each != root]
    written = CONFIGURATION.format(root=root, module=module, others=others, tests=tests)
    (copy / "pyproject.toml").write_text((REPOSITORY / "pyproject.toml").read_text() + written)
    return copy


COMMAND = str(Path(sys.executable).with_name("mutmut"))


def run(copy: Path, most_s: float) -> int | None:
    """Make the mutants and run the tests on each; its exit code, None where the time was up."""
    command = [COMMAND, "run", "--max-children=2"]
    shown = sys.stdout.isatty()  # its spinner is of use on a terminal alone
    log = copy / "mutmut.log"
    with log.open("w") as kept:
        process = subprocess.Popen(
            command,
            cwd=copy,
            start_new_session=True,
            stdout=None if shown else kept,
            stderr=None if shown else kept,
        )
    try:
        code = process.wait(most_s)
        if code and not shown:
            print(log.read_text()[-20_000:])
        return code
    except subprocess.TimeoutExpired:
        return None
    finally:  # with the workers that it has forked
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def ask(copy: Path, *arguments: str) -> str:
    """What mutmut says of the results."""
    done = subprocess.run(
        [COMMAND, *arguments], cwd=copy, capture_output=True, text=True, check=False
    )
    return done.stdout


def survivors(copy: Path) -> list[tuple[str, str]]:
    """Mutants that no test noticed, and why: survived, or not called by any test."""
    lines = ask(copy, "results").splitlines()
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
    copy = prepare(module, given.tests or tests_of(module))
    code = run(copy, given.most_s)
    if code is None:
        print(f"not done within {given.most_s:g} s; what was found until then:")
    elif code:
        return 2
    found = survivors(copy)
    for name, status in found:
        print(ask(copy, "show", name) if status == "survived" else f"# {name}: {status}\n")
    print(f"{module}: {len(found)} {'mutant' if len(found) == 1 else 'mutants'} not noticed")
    return 3 if code is None else min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
