"""One HTTP request, decoded: who asks what, in which encoding, and which fields are known."""
