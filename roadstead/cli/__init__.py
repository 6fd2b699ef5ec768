"""The `roadstead` command: one file per noun; each imports what it needs when it runs."""
