"""An agent joins a hub of TLS with a private CA, and knows no more than the hub's address and its token."""

import asyncio

import pytest

from agent.main import Agent
from roadstead import Client
from shared.certificates import pin_of
from tests.api.process import running
from tests.certificates import CA, write
from tests.waiting import until

pytestmark = pytest.mark.anyio


async def test_address_and_join_token_are_enough(member, tmp_path):
    """The token has the pin of the hub's CA, by which the agent finds it, and keeps it."""
    ca = CA()
    cert, key = write(tmp_path / "tls", ca.sign(), ca=ca.pem)
    with running(tmp_path / "hub", f"--tls-cert={cert}", f"--tls-key={key}") as (_, address):
        admin = (tmp_path / "hub/admin.token").read_text().strip()
        with Client(address, admin, ca=str(tmp_path / "tls/ca.crt")) as hub:
            token = hub.add_cluster("east", {}).join_token
            assert token.endswith(f".{pin_of(ca.pair.certificate)}")
            settings = member.settings(hub_url=address)
            settings.join_token.write_text(token)
            running_agent = asyncio.create_task(Agent(settings).run())
            try:
                await asyncio.to_thread(
                    until, lambda: hub.cluster("east").ready, "east is ready", within_s=60
                )
            finally:
                running_agent.cancel()
                await asyncio.gather(running_agent, return_exceptions=True)
        assert (member.folder / "credential.json.hub-ca").read_bytes() == ca.pem
