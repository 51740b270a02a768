"""Makes, draws and restores the published results, `reference/`, and its tables that no run makes."""
