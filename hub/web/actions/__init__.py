"""What people do on the page: which actions they are offered, what each would do, and the call that does it.

The page has no API of its own: a dialog shows a preview, read and answered by the services' own dry runs, and
holds one call of the REST API, which judges and carries it out like anybody else's.
"""
