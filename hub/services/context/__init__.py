"""The context of every use case: the hub, its settings, its identity and timeline, and rendering."""
