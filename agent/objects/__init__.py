"""One Kubernetes object: what can be read from it, and what is written for it."""
