"""`roadstead admin`: maintenance of a hub. Most verbs use its database, whether hubs run or not."""
