"""How what a placement has placed stands in its clusters, as their agents report it."""
