"""Members and their capacity as arrays: node layout, free capacity, scale-up, promises."""
