"""docker-compose.yml: the fleet that `roadstead up` runs, and one of PostgreSQL, two hubs and k3s members."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.config import from_arguments
from roadstead.cli.fleet import Fleet
from roadstead.cli.members import read_members
from tests.charts import programs
from tests.charts.flags import known_flags
from tests.deploy.exported import exported
from tests.house.sources import REPOSITORY

COMPOSE: dict[str, Any] = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SIM = {name for name, service in SERVICES.items() if service["profiles"] == ["sim"]}
K3S = {name for name, service in SERVICES.items() if service["profiles"] == ["k3s"]}
MODULES = {"roadstead-hub": "hub", "roadstead-agent": "agent", "roadstead-sim": "shared.kubesim"}
OURS = {name for name, service in SERVICES.items() if service["image"] in MODULES}
MONITORING = REPOSITORY / "deploy" / "monitoring"
every_service = pytest.mark.parametrize("name", SERVICES)


def _flags(command: list[str]) -> set[str]:
    return {word.partition("=")[0] for word in command if word.startswith("--")}


@pytest.fixture
def embedded(tmp_path: Path) -> dict[str, list[str]]:
    """The commands of the children of `roadstead up --members 3`, by name."""
    fleet = Fleet(tmp_path, ("127.0.0.1", 0), read_members("3"))
    children = [fleet._simulator("sim-hub", None)]
    for member in fleet.members:
        children += [fleet._simulator(f"sim-{member.name}", member), fleet._agent(member)]
    return {child.name: ["python", "-m", child.module, *child.arguments] for child in children}


def test_the_same_processes_run(embedded: dict[str, list[str]]) -> None:
    """Hub, hub cluster, three members and their agents run; in addition, only the one-time enrolment."""
    assert {"hub", "enrol", *embedded} == SIM


def test_every_service_is_in_one_of_the_two_fleets() -> None:
    """`docker compose up` starts the simulated one, for .env says so; nothing starts in both."""
    assert set(SERVICES) == SIM | K3S
    assert "COMPOSE_PROFILES=sim" in (REPOSITORY / ".env").read_text().splitlines()


@pytest.mark.skipif(programs.missing() is not None, reason=str(programs.missing()))
def test_the_file_is_a_compose_file() -> None:
    """The reference implementation of the specification reads it, and refuses what it does not know."""
    reader = str(programs.program("compose-spec"))
    read = [reader, "--format", "json"]
    path = REPOSITORY / "docker-compose.yml"
    done = subprocess.run([*read, path], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["services"].keys() == SERVICES.keys()
    for name, bound in json.loads(done.stdout)["services"].items():
        for mount in bound.get("volumes", ()):
            assert mount["type"] == "volume" or Path(mount["source"]).is_dir(), name


@pytest.mark.parametrize("name", sorted(OURS & K3S))
def test_hubs_and_agents_understand_their_commands(name: str) -> None:
    """Each command line of ours is one that the program has."""
    service = SERVICES[name]
    if "entrypoint" in service:
        return
    if service["image"] == "roadstead-agent":
        from_arguments(service["command"], {})
    else:
        assert _flags(service["command"]) <= known_flags("hub")


def test_both_hubs_share_one_database_and_one_administrator() -> None:
    """Two hubs with a folder each, one database, and one token that neither of them may change."""
    hubs = [SERVICES["hub-1"], SERVICES["hub-2"]]
    assert hubs[0]["environment"] == hubs[1]["environment"]
    assert hubs[0]["command"] == hubs[1]["command"]
    assert [hub["volumes"][0] for hub in hubs] == ["admin:/var/lib/roadstead/admin:ro"] * 2
    assert hubs[0]["volumes"][1] != hubs[1]["volumes"][1]
    database = SERVICES["database"]["environment"]
    assert hubs[0]["environment"]["PGPASSWORD"] == database["POSTGRES_PASSWORD"]
    url = f"postgresql://{database['POSTGRES_USER']}@database:5432/{database['POSTGRES_DB']}"
    assert hubs[0]["environment"]["ROADSTEAD_DATABASE"] == url


def test_every_image_of_others_has_a_version() -> None:
    """What is not built here is pinned to a version of three numbers or a release of one."""
    foreign = {each["image"] for name, each in SERVICES.items() if name not in OURS}
    assert len(foreign) == 4
    assert all(re.search(r":v?\d+\.\d+[\w.-]*$", image) for image in foreign)


def test_the_scripts_use_commands_that_exist() -> None:
    """Each `roadstead` line of the enrolments is one that the command line knows."""
    for name in ("enrol", "enrol-k3s"):
        (script,) = SERVICES[name]["command"]
        asked = set(re.findall(r"roadstead ([a-z]+ [a-z]+)", script))
        assert asked <= {"clusters show", "clusters add", "tokens issue"}
        shell = script.replace("$$", "$")
        checked = subprocess.run(["sh", "-n"], input=shell, text=True, check=False, timeout=10)
        assert checked.returncode == 0


def test_prometheus_asks_every_hub_and_agent() -> None:
    """Its targets are the services of the real fleet, on the ports that they serve."""
    asked = yaml.safe_load((MONITORING / "prometheus.yaml").read_text())["scrape_configs"]
    targets = {t for job in asked for group in job["static_configs"] for t in group["targets"]}
    hubs = {f"{name}:8080" for name in K3S if name.startswith("hub-")}
    agents = {name for name in K3S if name.startswith("agent-")}
    networks = {SERVICES[name]["network_mode"].removeprefix("service:") for name in agents}
    assert targets == hubs | {f"{each}:9464" for each in networks}
    token = asked[0]["authorization"]["credentials_file"]
    assert "metrics/token" in token
    assert f"metrics:{Path(token).parent}:ro" in SERVICES["prometheus"]["volumes"]


def test_the_dashboard_shows_metrics_that_there_are() -> None:
    """Every metric in an expression is on docs/reference/metrics.md, with the endings Prometheus adds."""
    board = json.loads((MONITORING / "dashboard.json").read_text())
    shown = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked = {name for expr in shown for name in re.findall(r"roadstead_\w+", expr)}
    assert len(shown) >= 12
    assert asked <= exported()


def test_they_take_the_same_arguments(embedded: dict[str, list[str]]) -> None:
    """Each process gets the flags that `roadstead up` gives it, but for the one about its parent."""
    for name, command in embedded.items():
        assert _flags(SERVICES[name]["command"]) == _flags(command) - {"--die-with-parent"}, name


def test_they_run_the_same_modules(embedded: dict[str, list[str]]) -> None:
    """The image of each service runs the module that `roadstead up` runs under that name."""
    for name, command in embedded.items():
        assert MODULES[SERVICES[name]["image"]] == command[command.index("-m") + 1], name


@pytest.mark.parametrize("member", read_members("3"), ids=lambda member: member.name)
def test_members_have_the_same_nodes(member: Any) -> None:
    """The pools of each simulated member are those of `roadstead up`."""
    path = REPOSITORY / "deploy/docker/pools" / f"{member.name}.yaml"
    assert yaml.safe_load(path.read_text()) == [dict(pool) for pool in member.pools]


@every_service
def test_a_service_is_confined(name: str) -> None:
    """No service has capabilities, a writable root, or a port beyond loopback; k3s alone runs containers."""
    service = SERVICES[name]
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    if name.startswith("k3s-"):
        assert service["privileged"] is True
        assert "ports" not in service
        return
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert "privileged" not in service


@every_service
def test_every_volume_is_declared(name: str) -> None:
    """Data lives in named volumes that the file declares, or in read-only folders of the repository."""
    for volume in SERVICES[name].get("volumes", []):
        source, _, options = volume.partition(":")
        declared = source in COMPOSE["volumes"]
        assert declared or ((REPOSITORY / source).is_dir() and options.endswith(":ro")), volume


@every_service
def test_what_a_service_needs_exists(name: str) -> None:
    """Dependencies and shared networks name services of this file; images have a container file."""
    service = SERVICES[name]
    neighbours = set(service.get("depends_on", ()))
    if "network_mode" in service:
        neighbours.add(service["network_mode"].removeprefix("service:"))
    assert neighbours <= set(SERVICES)
    assert {tuple(SERVICES[each]["profiles"]) for each in neighbours} <= {
        tuple(service["profiles"])
    }
    assert name not in OURS or (REPOSITORY / service["build"]["dockerfile"]).is_file()
