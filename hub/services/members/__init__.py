"""Agents' reports, judged and stored; and the effects of their silence."""
