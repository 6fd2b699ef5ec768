"""Which cluster: filters in `plugins`, room in `fitting`, preferences in `ranking`, picks in `pick`."""
