"""`python -m shared.kubesim`: one simulated cluster as a process."""

import argparse
import asyncio
import gc
import signal
import sys
from pathlib import Path
from typing import Any

from shared.extras import leave_without

gc.disable()  # modules leave no garbage
try:
    import uvloop
    import yaml

    from shared.collector import spare_the_collector
    from shared.kinds.crds import queue_crds
    from shared.kubesim.cluster import SimCluster
    from shared.kubesim.operators.definitions import operator_crds
    from shared.kubesim.pki import write_private
    from shared.kubesim.server.hub_admission import EVERY_NAMESPACE
    from shared.kubesim.server.mirror_guard import HUB
    from shared.parent import die_with_parent
except ModuleNotFoundError as missing:
    leave_without(missing, "python -m shared.kubesim", "sim")
gc.enable()


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    arguments = _arguments()
    if arguments.die_with_parent:
        die_with_parent()
    uvloop.run(_serve(arguments))


async def _serve(arguments: argparse.Namespace) -> None:
    host, _, port = arguments.listen.rpartition(":")
    cluster = SimCluster(
        arguments.name,
        data_dir=arguments.data,
        hub=arguments.hub,
        hub_namespaces=EVERY_NAMESPACE if arguments.hub else None,
        kubernetes=arguments.kubernetes,
        pools=_pools(arguments.pools),
        crds=() if arguments.hub else [*queue_crds(), *operator_crds()],
        listen=(host.strip("[]") or "127.0.0.1", int(port)),
        kueue=arguments.queue_manager,
    )
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    await cluster.start()
    spare_the_collector()
    if arguments.hubs_own:
        write_private(arguments.hubs_own, cluster.kubeconfig_text(HUB.name).encode())
    if arguments.kubeconfig:
        write_private(arguments.kubeconfig, cluster.kubeconfig_text().encode())
    sys.stdout.write(f"ready {cluster.url}\n")
    sys.stdout.flush()
    await stopped.wait()
    await cluster.stop()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m shared.kubesim", description=__doc__)
    parser.add_argument("--name", required=True, help="name of the cluster")
    parser.add_argument("--data", type=Path, help="folder to keep everything in (default: memory)")
    parser.add_argument("--listen", default="127.0.0.1:0", help="HOST:PORT, port 0 picks one")
    parser.add_argument("--kubeconfig", type=Path, help="where to write the admin kubeconfig")
    parser.add_argument("--hub", action="store_true", help="act as the hub cluster")
    parser.add_argument(
        "--hubs-own",
        type=Path,
        help="where to write the kubeconfig of the hub's account (with --hub)",
    )
    parser.add_argument("--kubernetes", default="1.36", help="act as an older one, as 1.30")
    parser.add_argument("--pools", type=Path, help="YAML list of node pools")
    parser.add_argument("--queue-manager", action="store_true", help="run a Kueue-like controller")
    parser.add_argument(
        "--die-with-parent", action="store_true", help="end when the starting process ends"
    )
    return parser.parse_args()


def _pools(path: Path | None) -> list[dict[str, Any]]:
    if path is None:
        return []
    document = yaml.safe_load(path.read_text()) or []
    pools = document.get("pools", []) if isinstance(document, dict) else document
    if not isinstance(pools, list):
        raise SystemExit(f"{path}: a list of node pools is expected")
    return pools


if __name__ == "__main__":
    main()
