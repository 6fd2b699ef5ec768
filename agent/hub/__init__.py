"""The connection to the hub: the agent's identity, and the endless sync."""
