"""Random streams, stacked networks, replay, values, models and the regression task; fixes a process's arithmetic."""

from dyna_td.learning import arithmetic

arithmetic.fix()
