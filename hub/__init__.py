"""The control plane: domain (pure), store (SQL), services (use cases), then api, web, controllers, bridge; main on top."""
