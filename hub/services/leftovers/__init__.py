"""Objects in members that the hub does not know any more: listed, and left alone."""
