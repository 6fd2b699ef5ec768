"""docker-compose.yml runs the fleet that `roadstead up` runs."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from roadstead.cli.fleet import Fleet
from roadstead.cli.members import read_members
from tests.house.sources import REPOSITORY

COMPOSE: dict[str, Any] = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
MODULES = {"roadstead-hub": "hub", "roadstead-agent": "agent", "roadstead-sim": "shared.kubesim"}


def _flags(command: list[str]) -> set[str]:
    return {word.partition("=")[0] for word in command if word.startswith("--")}


@pytest.fixture
def embedded(tmp_path: Path) -> dict[str, list[str]]:
    """The commands of the children of `roadstead up --members 3`, by name."""
    fleet = Fleet(tmp_path, ("127.0.0.1", 0), read_members("3"))
    children = [fleet._simulator("sim-hub", None)]
    for member in fleet.members:
        children += [fleet._simulator(f"sim-{member.name}", member), fleet._agent(member)]
    return {child.name: list(child.command) for child in children}


def test_the_same_processes_run(embedded: dict[str, list[str]]) -> None:
    """Hub, hub cluster, three members and their agents run; besides, only the one-time enrolment."""
    assert set(SERVICES) == {"hub", "enrol", *embedded}


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


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_confined(name: str) -> None:
    """No service has capabilities, a writable root, or a port beyond loopback."""
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


@pytest.mark.parametrize("name", SERVICES)
def test_every_volume_is_declared(name: str) -> None:
    """Data lives in named volumes that the file declares, or in read-only folders of the repository."""
    for volume in SERVICES[name].get("volumes", []):
        source, _, options = volume.partition(":")
        declared = source in COMPOSE["volumes"]
        assert declared or ((REPOSITORY / source).is_dir() and options.endswith(":ro")), volume


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_service_needs_exists(name: str) -> None:
    """Dependencies and shared networks name services of this file; images have a container file."""
    service = SERVICES[name]
    neighbours = set(service.get("depends_on", {}))
    if "network_mode" in service:
        neighbours.add(service["network_mode"].removeprefix("service:"))
    assert neighbours <= set(SERVICES)
    assert (REPOSITORY / service["build"]["dockerfile"]).is_file()
