"""Loads to play: who arrives when, from a generator or a trace."""
