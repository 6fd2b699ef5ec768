"""Which node a pod runs on, and where new nodes come from."""
