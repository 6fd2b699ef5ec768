"""The engine on a scene: who waits, who has room where, round by round or in virtual time."""
