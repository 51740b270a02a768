"""Learning: random streams, stacked networks, replay, values, models and the regression task; imports no other room."""
