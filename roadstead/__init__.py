"""What people install: the SDK (`from roadstead import Client`) and the `roadstead` command."""
