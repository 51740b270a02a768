"""What can be trained: agents and environments by name, and a run of them."""
