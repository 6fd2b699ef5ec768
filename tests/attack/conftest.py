"""The member of the agent's tests."""

from tests.agent.conftest import member

__all__ = ["member"]
