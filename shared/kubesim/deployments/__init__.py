"""The controllers of Deployments, ReplicaSets and Services."""
