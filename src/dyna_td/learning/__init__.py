"""Random streams, stacked networks, replay, action values, models and the regression task."""
