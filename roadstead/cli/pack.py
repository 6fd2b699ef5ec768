"""All simulators and agents of a local fleet in one process (`roadstead up --pack`)."""
