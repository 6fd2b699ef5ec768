"""The only speaker of kubernetes-asyncio: client, discovery, apply, watch."""
