"""The cycle asked about other pictures."""
