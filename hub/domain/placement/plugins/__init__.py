"""One rule of placement per file. None knows another; `placement.registry` lists them."""
