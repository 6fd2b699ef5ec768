"""`roadstead admin`: what keeps a hub in order. Most verbs work on its database, beside hubs or without."""
