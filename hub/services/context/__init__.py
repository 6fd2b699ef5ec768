"""What every use case is handed: the hub, its settings, its identity and timeline, and how rows look."""
