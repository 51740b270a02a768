"""The commands of `python -m dyna_td`: their options, and what each does."""
