"""Search control: the queue, the visited states, the chain and its rules (Algorithms 3 and 4)."""
