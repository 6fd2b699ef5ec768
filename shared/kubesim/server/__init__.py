"""The HTTP face: the routes of the API server and what each answers."""
