"""The reference pages say what the code says."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

import agent.config
from agent.metrics import Meters
from hub.api import measures
from hub.domain.plan import Reason
from hub.domain.quota.tree import QuotaTree
from hub.domain.workloads.states import CHARGED, TRANSITIONS, State
from hub.services.questions import gauges as queue_gauges
from hub.services.queues import usage
from shared import labels
from shared.reject_codes import RejectCode
from tests.house import reference, sources

# How a refusal is made: the call, and which of its arguments is the code.
_REFUSALS = {"Rejected": 0, "problem": 0, "add": 1, "FieldError": 1, "NameTaken": 9}
_CODE = re.compile(r"[A-Z][A-Za-z]+")


def _page(name: str) -> str:
    return sources.text_of(reference.FOLDER / name)


def _rows(name: str) -> Iterator[list[str]]:
    """The cells of every table row of a page."""
    for line in _page(name).splitlines():
        if line.startswith("| `"):
            yield [cell.strip().strip("`") for cell in line.strip("|").split(" | ")]


@pytest.mark.parametrize("page", ["rest.md", "settings.md", "states.md"])
def test_tables_from_the_code_are_as_the_code_is(page: str) -> None:
    """`python -m tests.house.reference` would change nothing."""
    assert reference.rendered(_page(page)) == _page(page)


# What standing in line, an agent or a rule about clusters says of a job that does not run.
_SAID_BY_MEMBERS = {
    "ClusterSetAside", "ClusterUnreachable", "HeldByMember", "HeldByUser", "KindNotServed",
    "LeaseExpired", "LeaseWait", "NameConflict", "NameTaken", "PodsPendingTimeout",
    "RefusedByMember", "Retrying", "TokenNotAllowed", "WaitingToGrow", "WaitsInMemberQueue",
}  # fmt: skip
# Of `roadstead simulate` alone; the hub says QueueStopped and PendingEvaluation.
_OFFLINE = {"NotConsidered", "Suspended"}


def test_every_reason_to_wait_is_explained() -> None:
    """Whoever reads one in `explain` finds what holds the job, and what to do."""
    page = sources.text_of(Path("docs/howto/why-it-waits.md"))
    wanted = (_SAID_BY_MEMBERS | set(Reason)) - _OFFLINE
    assert sorted(reason for reason in wanted if f"`{reason}`" not in page) == []


def test_every_code_has_the_status_that_the_page_says() -> None:
    """Each code of the table code → status is on the page, and no other."""
    told = {row[0]: int(row[1]) for row in _rows("errors.md") if len(row) == 3}
    assert told == {code: code.status for code in RejectCode if code.status != 422 or code in told}


def test_every_code_is_explained_once() -> None:
    """Two rows of one code would drift apart."""
    for width in (2, 3):
        codes = [row[0] for row in _rows("errors.md") if len(row) == width]
        assert sorted(codes) == sorted(set(codes))


def test_every_refusal_in_the_sources_is_on_the_page() -> None:
    """A code that is written in a refusal is explained."""
    told = {row[0].strip("` ") for row in _rows("errors.md")}
    assert sorted(_refusals() - told) == []


def test_every_explained_code_is_in_the_sources() -> None:
    """The page explains nothing that is gone."""
    text = "".join(
        sources.text_of(path)
        for path in sources.python_files()
        if path.parts[0] in {"hub", "shared"}
    )
    assert [row[0] for row in _rows("errors.md") if f'"{row[0].strip("` ")}"' not in text] == []


def test_every_key_is_on_the_page_of_labels() -> None:
    """Labels, annotations and finalizers of `shared.labels` are explained, and no others."""
    known = set(labels.USER_ANNOTATIONS)
    known |= {v for v in vars(labels).values() if isinstance(v, str) and not v.endswith("/")}
    keys = {key for key in known if "roadstead.dev/" in key}
    told = set(re.findall(r"(?:sim\.)?roadstead\.dev/[a-z-]+", _page("labels.md")))
    assert told == keys


def test_every_state_is_on_the_page_of_states() -> None:
    """Each state stands in the table, with whether its quota is charged."""
    told = {
        state: row[-1].strip("` |")
        for row in _rows("states.md")
        for state in re.findall(r"[A-Z][a-z]+", " ".join(row[:1]))
        if len(row) == 3 and row[-1].strip(" |") in {"yes", "no"}
    }
    assert told == {state.value: "yes" if state in CHARGED else "no" for state in State}


def test_every_metric_is_on_the_page_of_metrics() -> None:
    """Hub's and agent's metrics are explained, and no others."""
    registered = {family.name for family in REGISTRY.collect()}
    nothing = usage.Counted({}, {}, QuotaTree(()), {})
    gauges = [
        *queue_gauges.made_of([], nothing, {}),
        *queue_gauges.made_of_placements((), {}, 0, {}, ()),
    ]
    fleet = measures.exposition({"jobs": {}, "clusters": {}, "revision": 0}, gauges).decode()
    registered |= set(re.findall(r"^# TYPE (\S+)", fleet, re.MULTILINE))
    registered |= {family.name for family in Meters().registry.collect()}
    ours = {
        name.removesuffix("_total").removesuffix("_created")
        for name in registered
        if name.startswith("roadstead_")
    }
    assert {row[0] for row in _rows("metrics.md")} == ours


def test_every_variable_is_on_the_page_of_settings() -> None:
    """A ROADSTEAD_ variable that some process reads is explained.

    But for ROADSTEAD_FP, which is for tests alone, and ROADSTEAD_PARENT, which our own parts tell each other.
    """
    named = {
        name
        for path in sources.python_files()
        if path.parts[0] in {"agent", "hub", "roadstead", "shared"}
        for name in re.findall(r"ROADSTEAD_[A-Z_]*[A-Z]", sources.text_of(path))
    }
    told = set(re.findall(r"ROADSTEAD_[A-Z_]*[A-Z]", _page("settings.md")))
    assert named - told - {"ROADSTEAD_FP", "ROADSTEAD_PARENT"} == set()


def test_every_flag_of_the_agent_is_a_variable_of_the_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What `python -m agent --help` names stands in the table."""
    with pytest.raises(SystemExit):
        agent.config.from_arguments(["--help"], {})
    named = set(re.findall(r"ROADSTEAD_[A-Z_]+", capsys.readouterr().out))
    assert named <= set(re.findall(r"ROADSTEAD_[A-Z_]+", _page("settings.md")))


def _refusals() -> set[str]:
    found = set()
    for path in sources.python_files():
        if path.parts[0] in {"hub", "shared"} and not _is_kubernetes(path) and _may_refuse(path):
            for node in ast.walk(sources.tree_of(path)):
                if isinstance(node, ast.Call):
                    found |= _code_of(node)
    return found


def _is_kubernetes(path: Path) -> bool:
    """Modules that speak Kubernetes' errors, which are not ours."""
    return path.parts[1] in {"kube", "kubesim"}


def _may_refuse(path: Path) -> bool:
    """Skip files without any of the calls: parsing is slow."""
    return any(f"{name}(" in sources.text_of(path) for name in _REFUSALS)


def _code_of(call: ast.Call) -> set[str]:
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    at = _REFUSALS.get(name, 9)
    if len(call.args) <= at:
        return set()
    given = call.args[at]
    value = given.value if isinstance(given, ast.Constant) else None
    return {value} if isinstance(value, str) and _CODE.fullmatch(value) else set()


def test_the_drawing_of_states_has_only_ways_that_there_are() -> None:
    """Each arrow of the drawing is a transition of the table, from and to those states."""
    arrows = re.findall(r"^  (\w+) --> (\w+): (\w+)$", _page("states.md"), re.MULTILINE)
    assert len(arrows) > 10
    ways = {
        (source.value, target.value, name.value)
        for name, (sources_of_it, target) in TRANSITIONS.items()
        for source in sources_of_it
    }
    assert set(arrows) - ways == set()
