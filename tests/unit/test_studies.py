"""The tables of docs/beyond-the-paper.md."""

import numpy as np
import pandas as pd

from dyna_td.evidence.scores import Measured
from dyna_td.pages import studies
from dyna_td.pages.facts import Facts


def test_who_leads_is_measured_at_the_end_of_each_length(monkeypatch):
    def published(facts, run):
        steps = np.arange(0, run.steps + 1, run.evaluate_every)
        error = np.full(len(steps), 0.5)
        if run.agent == "power4":  # behind L2 until 12,500 updates, then level, ahead at the very end
            error = np.select([steps <= 12_500, steps > 190_000], [0.6, 0.4], error)
        noise = {seed: 0.01 * (seed - 9.5) * (run.agent == "plain_cubic") for seed in run.seeds}
        records = [pd.DataFrame({"seed": seed, "step": steps, "value": error + noise[seed]}) for seed in run.seeds]
        return Measured(run, pd.concat(records).assign(metric="test_rmse"), {}, "")

    monkeypatch.setattr(Facts, "read", published)
    rows = [line.split(" | ") for line in studies.regression(Facts()).splitlines()[2:]]
    assert len(rows) == 8 * 3
    assert rows[0][0] == "| &#124;T&#124; = 4000, sigma = 0.5, b = 32"
    assert [row[1] for row in rows[:3]] == ["12,500", "50,000", "200,000"]
    assert [row[6] for row in rows[:3]] == ["**+20.0%** ± 0.0 |", "+0.0% ± 0.0 |", "**-20.0%** ± 0.0 |"]
    assert rows[0][2:4] == ["0.5000", "+0.0% ± 0.0"] and rows[0][5] == "+0.0% ± 5.5"
    assert rows[-1][3:5] == ["-", "-"]  # with sigma = 0.1 the study has only losses
