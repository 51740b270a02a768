"""Policies act and nothing is learned: episodes, videos, a look inside search control, and measurements of policies."""
