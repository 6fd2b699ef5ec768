"""What hub and agent must agree on: quantities, kinds, messages, the Kubernetes seam. Small and boring."""
