"""What XLA compiles: the loop of Algorithm 1 in a twin, in Gymnasium, supervised, on a frozen Q; stacks of seeds."""
