"""Signing in elsewhere: tokens of a provider of OpenID Connect, and of the hub cluster's service accounts."""
