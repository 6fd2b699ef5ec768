"""HTTP for people, the CLI and agents: thin routers over services; one error table; no SQL."""
