"""`roadstead run`: makes a Job from a command; pure parts here, the verb in `verb`."""
