"""The parts of pictures: panels of curves, dots, maps and scenes, their style, and the whole picture."""
