"""What comes in, parsed and checked before any transaction."""
