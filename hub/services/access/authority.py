"""The CA of the hub's certificate for agents: as pins in join tokens.

An agent that knows a pin asks for the certificates themselves, from whoever answers, and believes those
alone whose keys are pinned.
"""

from dataclasses import dataclass

from shared.wire.join_token import add_pins


@dataclass(frozen=True, slots=True)
class Authority:
    """Certificates as PEM, and the pins of their keys; without any, agents trust what their machine does."""

    pem: str = ""
    pins: tuple[str, ...] = ()

    def pinned(self, join_token: str) -> str:
        """The join token with the pins."""
        return add_pins(join_token, self.pins)
