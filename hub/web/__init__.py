"""The page people watch: read models made for it, server-rendered, live by server-sent events."""
