"""The control plane: domain (pure) < store (SQL) < services (use cases) < api, web, controllers, bridge < main."""
