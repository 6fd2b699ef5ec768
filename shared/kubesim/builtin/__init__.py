"""The built-in kinds: defaults, validation and columns of each."""
