"""Pages of queues and clusters: all of them, and each with who waits and who is in; live like the front."""
