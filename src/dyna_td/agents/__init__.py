"""The agents, one file each; a file's class says which agent it is and what it does differently."""
