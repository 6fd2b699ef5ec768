"""Lists the effects of removals in members beforehand."""
