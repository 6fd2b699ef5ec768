"""How a change reaches clusters: some at a time, each with what overrides make of it. Pure."""
