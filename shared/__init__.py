"""Common ground of hub and agent: quantities, kinds, messages, the Kubernetes seam. Small and boring."""
