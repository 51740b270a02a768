"""Trained policies: their files, episodes, videos, and a look inside search control; no TensorFlow but for the last."""
