"""The commands of `python -m dyna_td` that have options of their own; `cli` has the others."""
