"""Results of a simulation: decisions and figures as JSON, and a page with charts."""
