"""Kinds of work as data: what an object runs, how many pods of which requests, and in which state it is.

A definition is a Karta document with an extension (ADR 21). Nothing here speaks to a cluster or a store.
"""
