"""Revisions of the schema, oldest first; `hub.store.schema` brings a database to the newest."""
