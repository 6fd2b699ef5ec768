"""`python -m roadstead.cli` is the `roadstead` command."""

from roadstead.cli.root import main

main()
