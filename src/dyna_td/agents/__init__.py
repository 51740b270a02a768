"""The agents, one file each; a class's docstring names its difference from its base class."""
