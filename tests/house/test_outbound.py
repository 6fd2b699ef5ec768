"""The hub dials nobody: of what it imports, only the bridge and the store connect to anything."""

from pathlib import Path

from tests.house import outlines, sources

CLIENTS = {
    *("aiohttp", "httpx", "requests", "urllib3", "websockets", "smtplib", "ftplib", "paramiko"),
    *("urllib.request", "http.client", "xmlrpc.client", "kubernetes_asyncio"),
}
# These listen, and look at what was accepted.
LISTENS = {
    Path("hub/main.py"),
    Path("hub/listening.py"),
    Path("hub/api/handshakes.py"),
    Path("hub/api/connections.py"),
}


ASK = {
    # The provider by which people sign in, where an administrator has set one.
    Path("hub/services/access/sign_in/web.py"),
    # Other hub processes of the same store, at the addresses that those wrote into it.
    Path("hub/api/peers.py"),
}


def imported(path: Path) -> set[str]:
    """Full names of all that a module imports."""
    return outlines.outline_of(path).names()


def hub_files() -> list[Path]:
    return [path for path in sources.python_files() if path.parts[0] == "hub"]


def test_the_hub_has_no_client() -> None:
    """No address that somebody gave can be fetched: but for two places nothing is there to do it with."""
    for path in hub_files():
        if path in ASK:
            continue
        dialled = {name for name in imported(path) if name in CLIENTS or _root(name) in CLIENTS}
        assert not dialled, (path, dialled)


def test_only_the_bridge_speaks_to_a_cluster() -> None:
    """To the hub cluster of its kubeconfig; an administrator who uninstalls, to the one that is named."""
    speakers = {
        path for path in hub_files() if any("shared.kube." in f"{n}." for n in imported(path))
    }
    assert speakers
    assert {path.parts[1] for path in speakers} == {"admin", "bridge"}


def test_sockets_are_for_listening() -> None:
    """Nobody opens one beside the server; the store's driver has its own."""
    users = {path for path in hub_files() if "socket" in imported(path)}
    allowed = {*LISTENS, Path("hub/store/backends/postgres.py")}
    assert users <= allowed, users - allowed


def _root(name: str) -> str:
    return name.partition(".")[0]
