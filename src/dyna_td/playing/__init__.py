"""Policies act: episodes, videos, measurements; and `explain`, which trains one again to look inside search control."""
