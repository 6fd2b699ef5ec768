"""What the store hands out and takes in: frozen, typed records in place of rows as dicts."""
