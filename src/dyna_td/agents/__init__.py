"""The agents: each class says how it differs from its base. Those of the studies controls and goal share two files."""
