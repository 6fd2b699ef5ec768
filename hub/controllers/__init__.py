"""Loops: each loads, calls a service, and says what happened. One `Loop` holds the only endless loop."""
