"""Messages that cross a process boundary, one module per interface and version."""
