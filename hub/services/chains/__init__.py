"""Jobs with dependencies: bound when they are accepted, released when those have ended."""
