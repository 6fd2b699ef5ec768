"""Administration of a store, beside the hubs or while none runs: `roadstead admin`.

A composition root like `hub.main`: each verb opens the database that an address names, and answers in
records that the command line prints.
"""
