"""The commands of `python -m dyna_td`, with their options."""
