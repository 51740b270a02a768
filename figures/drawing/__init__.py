"""What figures are drawn with: panels of curves, dots, maps and scenes, their style, and the whole picture."""
