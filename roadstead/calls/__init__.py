"""What can be asked of a hub, one function per call, by noun; none of them asks by itself.

A function here gives the steps of a call (`roadstead.steps`); `table.Calls` makes them methods of both
clients.
"""
