"""All simulators and agents of a local fleet in one process (`roadstead up --pack`).

The fleet runs it as `python -m roadstead.cli.pack FOLDER`, with its configuration in FOLDER/pack.json. An
agent starts once its join token or its credential exists.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, Final

import structlog
import uvloop

from agent.config import from_arguments
from agent.main import EXIT_REFUSED, Agent
from shared import log as logging
from shared.clock import SystemClock
from shared.kinds.crds import queue_crds
from shared.kubesim.cluster import SimCluster
from shared.kubesim.operators.definitions import operator_crds
from shared.kubesim.pki import write_private
from shared.kubesim.server.hub_admission import EVERY_NAMESPACE
from shared.kubesim.server.mirror_guard import HUB
from shared.parent import die_with_parent

_RESTART_AFTER_S = 1.0
_REFUSED_REST_S = 30.0  # after the hub has not let an agent in
_LOOK_EVERY_S = 0.1
_clock = SystemClock()
_GATE: Final = "ROADSTEAD_AGENT_"  # the environment sets what the members let a hub write
_log = structlog.get_logger(__name__)
Json = dict[str, Any]


async def run(folder: Path) -> None:
    """Serve until SIGTERM or SIGINT."""
    plan: Json = json.loads((folder / "pack.json").read_text())
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    clusters = [_cluster("hub", plan["hub"], hub=True)]
    clusters += [_cluster(member["name"], member) for member in plan["members"]]
    for cluster, part in zip(clusters, [plan["hub"], *plan["members"]], strict=True):
        await cluster.start()
        if own := part.get("hubs_own"):
            write_private(Path(own), cluster.kubeconfig_text(HUB.name).encode())
        write_private(Path(part["kubeconfig"]), cluster.kubeconfig_text().encode())
    agents = [asyncio.create_task(_keep(plan["server"], m)) for m in plan["members"]]
    await stop.wait()
    for agent in agents:
        agent.cancel()
    await asyncio.gather(*agents, return_exceptions=True)
    for cluster in clusters:
        await cluster.stop()


def _cluster(name: str, part: Json, *, hub: bool = False) -> SimCluster:
    return SimCluster(
        name,
        data_dir=Path(part["data"]),
        hub=hub,
        hub_namespaces=EVERY_NAMESPACE if hub else None,
        crds=() if hub else [*queue_crds(), *operator_crds()],
        pools=part.get("pools", ()),
        listen=("127.0.0.1", part["port"]),
        kueue=bool(part.get("queue_manager")),
    )


async def _keep(server: str, member: Json) -> None:
    """Run one member's agent; restart it a second after it ends, as a supervisor would."""
    credential, join_token = Path(member["credential"]), Path(member["join_token"])
    gate = {name: text for name, text in os.environ.items() if name.startswith(_GATE)}
    gate = {
        f"{_GATE}LOGS": "on",
        f"{_GATE}ACCEPTED_NAMESPACES": "default",
        **gate,
    }  # simulated pods have nothing to hide
    flags = {
        "--hub": server,
        "--credential": member["credential"],
        "--kubeconfig": member["kubeconfig"],
        "--join-token": member["join_token"],
    }
    settings, _ = from_arguments([part for pair in flags.items() for part in pair], gate)
    while True:
        while not _may_start(credential, join_token):
            await _clock.sleep(_LOOK_EVERY_S)
        try:
            code: int | str = await Agent(settings).run()
        except Exception as failure:  # noqa: BLE001 - one agent's fault is not the others'
            code = repr(failure)
        _log.warning("agent ended; restarting it", cluster=member["name"], code=code)
        await _clock.sleep(_REFUSED_REST_S if code == EXIT_REFUSED else _RESTART_AFTER_S)


def _may_start(credential: Path, join_token: Path) -> bool:
    return credential.exists() or join_token.exists()


def main() -> None:
    """Run until SIGTERM. The argument: the fleet's folder."""
    logging.configure("info", "text")
    die_with_parent()
    uvloop.run(run(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
