"""Makes, draws and restores the published results, `reference/`."""
