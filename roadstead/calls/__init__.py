"""The calls of the SDK, one function each, by noun; a function itself sends nothing.

A function here returns the steps of a call (`roadstead.steps`); `table.Calls` makes them methods of both
clients.
"""
