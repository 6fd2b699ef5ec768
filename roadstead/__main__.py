"""`python -m roadstead` is the `roadstead` command."""

from roadstead.cli.root import main

if __name__ == "__main__":
    main()
