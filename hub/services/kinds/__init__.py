"""Kinds of work that administrators define: their documents, their versions, and reading by them."""
