"""Brings the member level with what is desired: what is looked at when, and each step carried out."""
