"""`roadstead run`: a Job made from a command; pure parts here, the verb in `verb`."""
