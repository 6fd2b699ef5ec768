"""Nomination of one head: flavors, partial admission, and the order of heads."""
