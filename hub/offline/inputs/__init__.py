"""What files say: manifests and settings, read into the records of a scene."""
