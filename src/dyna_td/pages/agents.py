"""The pages of the agents: a table of all in docs/agents.md, and a page for each, which only the site has."""

from dataclasses import fields

from dyna_td.evidence import labels
from dyna_td.evidence.claims import ComputedTest
from dyna_td.pages import claims_page
from dyna_td.pages.facts import Facts
from dyna_td.pages.marked_text import escaped, table
from dyna_td.records.sources import docstring
from dyna_td.runs import registry
from dyna_td.settings import DQNSettings, as_words


def agents(facts: Facts | None = None) -> str:
    """A line for each agent and learner, with a link to its code."""
    rows = [[f"[{name}](../{_source(name)})", escaped(labels.summary(name))] for name in registry.AGENTS]
    return table(["agent", "in short"], rows)


def page(facts: Facts, agent: str) -> str:
    """An agent's page: what it is, its command, its settings, differences from the paper, the claims on it."""
    entry = registry.AGENTS[agent]
    environment = entry.on or "GridWorld"
    command = f"python -m dyna_td train --env {environment} --agent {agent} --seeds 0-3 --steps 20000"
    in_code = "\n\n".join(filter(None, map(docstring, (entry.path.partition(":")[0], entry.path))))
    parts = [
        f"# {labels.name_of(agent)}",
        f"`{agent}`: {escaped(labels.summary(agent))}",
        "## Usage",
        f"```console\n{command} --output results/{agent}.csv\n```",
        f"## In `{_source(agent)}`",
        f"```text\n{in_code}\n```",
    ]
    if rows := _claims(facts, agent):
        parts += ["## Beside the paper", table(["the paper", "verdict", "here"], rows)]
    if rows := _deviations(facts, agent):
        parts += ["## Differences from the paper", table(["#", "what", "paper", "here"], rows)]
    parts += ["## Settings", "Those that uniform replay lacks or sets otherwise come first."]
    parts.append(table(["option", "default", "source", "meaning"], _settings(agent)))
    return "\n\n".join(parts) + "\n"


def _source(agent: str) -> str:
    return f"src/{registry.AGENTS[agent].path.partition(':')[0].replace('.', '/')}.py"


def _own(agent: str) -> list[str]:
    """The settings that uniform replay lacks or sets otherwise."""
    common = {setting.name: setting.default for setting in fields(DQNSettings)}
    of_agent = fields(registry.AGENTS[agent].settings)
    return [setting.name for setting in of_agent if common.get(setting.name) != setting.default]


def _settings(agent: str) -> list[list[str]]:
    declared, own = fields(registry.AGENTS[agent].settings), _own(agent)
    ordered = sorted(declared, key=lambda setting: setting.name not in own)
    return [
        [
            f"`{labels.option(each.name)}`",
            as_words(each.default),
            each.metadata["source"],
            escaped(each.metadata["meaning"]),
        ]
        for each in ordered
    ]


def _deviations(facts: Facts, agent: str) -> list[list[str]]:
    """The deviations on the agent, or on all with search control or of the supervised task as it is."""
    entry = registry.AGENTS[agent]
    kinds = {agent, *(["dyna"] if entry.dyna else []), entry.on}
    return [
        [
            f"[{row['number']}](deviations.md#deviation-{row['number']})",
            *(escaped(row[key]) for key in ("what", "paper", "here")),
        ]
        for row in facts.deviations
        if kinds & {*row.get("agents", ())}
    ]


def _claims(facts: Facts, agent: str) -> list[list[str]]:
    """A line for each claim that compares runs of the agent: the paper's statement, the verdict, our measurements."""
    rows = []
    for number, stated in facts.stated.items():
        own = [tested for tested in facts.judged[number].counted if _compares(tested.test, agent)]
        if own:
            text = f"{escaped(stated.text)} [(claim {number})](claims.md#claim-{number})"
            rows.append([text, facts.verdicts[number], escaped(claims_page.measured(own))])
    return rows


def _compares(test, agent: str) -> bool:
    return not isinstance(test, ComputedTest) and any(term.run.agent == agent for term in test.terms)
