"""Inputs and outputs of the store: frozen, typed records in place of rows as dicts."""
