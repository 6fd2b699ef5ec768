"""The member's API server: what is seen there, what is written there, and whether it answers."""
