"""Authentication: bearer credentials of people, join tokens and credentials of agents."""
