"""The control plane: domain (pure), store (SQL), services, api, web, controllers, bridge; main on top."""
