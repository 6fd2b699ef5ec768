"""States of a placement's objects in its clusters, as their agents report them."""
