"""Expressions in CEL: compiled once within bounds, evaluated in a bounded number of steps, never raising."""
