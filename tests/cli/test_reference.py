"""Help, version, and docs/reference/cli.md, which says what the parser and the errors say."""

import re
import subprocess
import sys

import click
import pytest

from roadstead import errors
from roadstead.cli import other_words
from roadstead.cli.root import cli
from tests.cli import reference
from tests.cli.build import a_job, a_listed_job, text
from tests.cli.commands import REPOSITORY, run
from tests.cli.scripted import Answer, answering, items

TEXT = reference.PAGE.read_text()
COMMANDS = dict(reference.commands(cli, "roadstead"))
GROUPS = sorted({path.rpartition(" ")[0] for path in COMMANDS})


def test_the_page_lists_every_verb_with_its_options():
    """The table of verbs is the parser's; `python -m tests.cli.reference` writes it anew."""
    assert reference.page_with(reference.listing()) == TEXT


def test_the_page_has_every_exit_code():
    """Each error's exit code stands in the table of exit codes, with the error's name."""
    told = {
        name: int(code)
        for code, names in re.findall(r"^\| (\d+) \|.*\| (.*) \|$", TEXT, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", names)
    }
    assert told == {
        kind.__name__: kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.RoadsteadError)
    }


def test_the_page_has_every_variable():
    """The environment variables that the command reads itself are on the page."""
    assert all(name in TEXT for name in ("ROADSTEAD_SERVER", "ROADSTEAD_TOKEN", "ROADSTEAD_DATA"))


def test_the_python_example_runs(tmp_path, monkeypatch, capsys):
    """What the page shows in Python works as it stands."""
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "job.yaml").write_text(text(a_job()))
    monkeypatch.chdir(tmp_path)
    ended = Answer(a_listed_job(state="Succeeded"))
    why = Answer(a_listed_job(message="waits"))
    with answering(ended, ended, items(a_listed_job()), why) as script:
        monkeypatch.setenv("ROADSTEAD_SERVER", script.address)
        exec(code.replace('open("job.yaml", "rb").read()', '(tmp / "job.yaml").read_bytes()'),
             {"tmp": tmp_path})  # fmt: skip
    assert capsys.readouterr().out == "gpu-1\nok waits\n"


@pytest.mark.parametrize("path", [*COMMANDS, *GROUPS])
def test_help_fits_and_is_whole(path):
    """Help has no line beyond the 80th column, and no sentence of a list of verbs is cut."""
    done = run(*path.split()[1:], "--help", columns=80)
    assert done.code == 0
    assert max(map(len, done.lines)) <= 80
    _, _, verbs = done.out.partition("\nCommands:\n")
    assert "simulate" in path or "..." not in verbs


@pytest.mark.parametrize(("path", "command"), COMMANDS.items(), ids=str)
def test_every_command_and_option_has_a_word(path: str, command: click.Command):
    """Each command says what it does, and each of its options what it is for."""
    assert command.help
    own = not path.startswith("roadstead simulate")
    silent = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
    assert not (own and silent)


def test_the_version_is_the_distributions():
    """--version prints the name and the installed version."""
    assert re.fullmatch(r"roadstead \d+\.\d+\.\d+\n", run("--version").out)


def test_a_near_miss_is_suggested():
    """A verb that is nearly one gets the right one named."""
    assert "Did you mean 'jobs'?" in run("job", "ls").err


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["squeue"], "Did you mean 'jobs ls'?"),
        (["sbatch", "x.sh"], "Did you mean 'run'?"),
        (["cancel", "x"], "Did you mean 'jobs cancel'?"),
        (["describe", "x"], "Did you mean 'explain'?"),
        (["jobs", "logs", "x"], "Did you mean 'roadstead logs'?"),
        (["jobs", "list"], "Did you mean 'ls'?"),
        (["run", "--partition", "gpu", "--", "x"], "Use --queue."),
        (["run", "--mem=16G", "--", "x"], "Use --memory."),
    ],
)
def test_words_of_elsewhere_lead_to_what_they_are_here(typed, said):
    """Of Slurm, of kubectl, and one level too high or too low: wrong usage, with what is meant."""
    done = run(*typed)
    assert (done.code, said in " ".join(done.err.split())) == (2, True), done.err


def test_words_of_elsewhere_lead_to_commands():
    """Each is a command that there is."""
    for said in other_words._MEANT.values():
        words = said.partition(" --")[0]
        assert run(*words.split(), "--help").code == 0


def test_the_module_is_the_command():
    """`python -m roadstead.cli` is the same command."""
    command = [sys.executable, "-m", "roadstead.cli", "--help"]
    told = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert told.stdout.startswith("Usage: roadstead ")


def test_a_list_that_goes_on_says_so(hub):
    """Where there are more jobs than --limit, a note to standard error says how to see them."""
    done = hub.run("jobs", "ls", "-n", "compute-jobs", "--limit", "1")
    whole = hub.run("jobs", "ls", "-n", "compute-jobs")
    assert (len(done.lines), "--limit" in done.err) == (2, True)
    assert whole.err == ""
