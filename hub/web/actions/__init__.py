"""Actions on the page: the offered ones, the preview of each, and its API call.

The page has no separate API: a dialog shows a preview, read and answered by the services' own dry runs,
and holds one call of the REST API, which judges and executes it like any other.
"""
