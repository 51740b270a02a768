"""Draws how PrioritizedER's lead changes with one dial of GridWorld, on two scales, for `make readme`."""

from pathlib import Path

import pandas as pd
from drawing.forest import Forest, full_and_hollow, hollow_at_zero, in_rows
from drawing.panels import seeds_words
from drawing.rendering import draw_figure, save
from drawing.style import style_of

from dyna_td.pages import studies
from dyna_td.pages.facts import Facts

WORDS = (
    "The lead: PrioritizedER minus ER. Change: each world minus the paper's GridWorld. "
    "The gap: the best return minus ER's. "
    "Full dots: the 95% interval excludes zero, Student's in (a), by resampling seeds in (b)."
)


def draw(facts: Facts, output: Path) -> None:
    """Draws a PNG and a PDF: the change in return, and as a share of the gap between ER and the best return."""
    look = style_of("prioritized_er")
    leads, shares = studies.changes_of_the_lead(facts), studies.changes_of_the_share(facts)
    worlds = studies.panels_of(facts, "when")
    names = in_rows(worlds[key].title for key in leads)
    forests = [
        Forest(
            letter,
            title,
            names,
            [hollow_at_zero(height, bar, look) for height, bar in zip(names, bars.values(), strict=True)],
            unit,
            line=0.0,
            ticks=5,
            legend=full_and_hollow("the interval excludes zero", "it does not"),
            notes=(WORDS,),
            facts=(seeds_words(pd.Series([worlds[key].seeds for key in leads])),),
        )
        for letter, title, unit, bars in (
            ("a", "change of the lead", "change in return; right is larger", leads),
            ("b", "change of its share of the gap", "change in share; right is larger", shares),
        )
    ]
    save(draw_figure(forests, facts.plan.scale), output)
