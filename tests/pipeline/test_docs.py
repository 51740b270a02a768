"""README and docs: README is short, every link has a target, every command exists, and the example agent trains."""

import os
import re
import shutil
from dataclasses import fields, replace
from pathlib import Path

import pandas as pd
import pytest
from files import edit, python

from dyna_td import cli
from dyna_td.evidence import readings, scorecard
from dyna_td.learning import arithmetic
from dyna_td.pages import agents, facts, markdown, marked_text
from dyna_td.pages.facts import Facts
from dyna_td.plan.plans import STUDIES
from dyna_td.publishing import always_slower, walkers
from dyna_td.records import published
from dyna_td.records.files import ROOT
from dyna_td.records.policy import load_policy
from dyna_td.runs import registry

FACTS = Facts()
PAGES = ("README.md", "reference/README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def anchors(page):
    """The anchors of a page: its headings, as GitHub and MkDocs name them, and explicit ids."""
    headings = re.findall(r"^#+ (.+)$", read(page), re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="(.+?)">', read(page)))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_anchors_that_exist(page):
    broken = []
    for link in re.findall(r"\]\((?!https://)([^)]+)\)", read(page)):
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_pages_name_exist(page, capsys):
    text = read(page)
    targets = {"mine", *(f"figure_{n}" for n in range(1, 15))}
    for line in re.findall(r"^([\w%-]+(?: [\w%-]+)*):(?!=)", read("Makefile"), re.MULTILINE):
        targets |= set(line.split())
    commands = re.findall(r"(?:`|^)make ([a-z][^`\n#]*)", text, re.MULTILINE)
    named = {word for command in commands for word in command.split("&&")[0].split() if "=" not in word}
    assert named <= targets, named - targets
    for command in set(re.findall(r"python -m dyna_td (\w+)", text)):
        with pytest.raises(SystemExit) as ended:
            cli.main([command, "--help"])
        assert ended.value.code == 0, command
    assert set(re.findall(r"bin/snakemake (\w+)", text)) <= targets | {*STUDIES, "all_figures"}
    for script in re.findall(r"python ((?:figures|tests)/[\w/]+\.py)", text):
        assert (ROOT / script).exists(), script


def test_an_agent_has_a_page_with_its_settings_and_the_claims_on_it():
    text, settings = agents.page(FACTS, "dyna_td_long"), fields(registry.AGENTS["dyna_td_long"].settings)
    assert all(f"| `--{setting.name.replace('_', '-')}` |" in text for setting in settings)
    assert "(claims.md#claim-22)" in text and "(deviations.md#deviation-45)" in text and "claim-44" not in text
    known = {*registry.AGENTS, "dyna", registry.SUPERVISED_TASK}
    assert {agent for row in FACTS.deviations for agent in row.get("agents", ())} <= known


def words(*texts):
    """The number of words outside of tables and comments."""
    lines = (line for text in texts for line in text.splitlines())
    return sum(len(line.split()) for line in lines if not line.startswith(("|", "<")))


def test_readme_and_all_prose_without_tables_are_short():
    assert len(read("README.md").splitlines()) <= 160 and (ROOT / "README.md").stat().st_size <= 12_000
    captions = {"reference/README.md", "docs/figures.md"}  # of tables and of pictures
    assert words(*(read(each) for each in PAGES if each not in captions)) <= 15_400
    assert words(markdown.answer(FACTS), markdown.advice(FACTS)) <= 160


def test_the_example_agent_trains_as_it_is_written(tmp_path):
    page = read("docs/extending.md")
    agent, settings, entry, *_ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    path = re.search(r"^`(src/dyna_td/agents/\w+\.py)`:$", page, re.MULTILINE)[1]
    for folder in ("src", "envs", "experiments"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / path).write_text(agent, encoding="utf-8")
    declared = tmp_path / "src" / "dyna_td" / "agents" / "settings.py"
    declared.write_text(f"{read(declared)}\n\n{settings}", encoding="utf-8")
    edit(tmp_path / "src" / "dyna_td" / "runs" / "registry.py", "\nAGENTS = {\n", f"\nAGENTS = {{\n{entry}")
    words = ["train", "--env", "CartPole-v1", "--agent", Path(path).stem, "--newest", "50", "--warm-up-steps", "100"]
    words += ["--planning-updates", "1", "--seeds", "0,1", "--steps", "200", "--evaluate-every", "100"]
    words += ["--output", "recent.csv"]
    imports = {"PYTHONPATH": str(tmp_path / "src")}
    outcome = python("-m", "dyna_td", *words, env=os.environ | imports, cwd=tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    records = pd.read_csv(tmp_path / "recent.csv")
    assert set(records["seed"]) == {0, 1} and set(records["step"]) == {0, 100, 200}
    assert not records.loc[records["metric"] == "diverged", "value"].any()


def test_the_tables_of_played_policies_can_be_made_again():
    table = pd.read_csv(published.DIRECTORY / "walkers.csv").set_index(["environment", "curve", "seed"])
    run = FACTS.plan.figures["figure_6"].panels["a"].curves["er"]
    policy = load_policy(published.stored(run.name, "policy.npz"))
    found = walkers.walks(policy, 0, episodes=2)
    steps = table.loc["Hopper-v4", "er", 0]["steps"]
    assert found["saturated"] == 1.0 and found["steps"] == pytest.approx(steps, abs=1)
    slow = pd.read_csv(published.DIRECTORY / "always_slower.csv").set_index("exploration").loc[0.0]
    again, names = always_slower.always_slower(0.0, episodes=3), ["return", "crashed", "speed"]
    assert [again[name] for name in names] == pytest.approx(list(slow[names]), rel=1e-4)


def test_the_page_on_bytes_counts_the_portable_runs():
    details = list(filter(None, map(published.read_details, FACTS.plan.runs)))
    assert {each["arithmetic"] for each in details} == {arithmetic.PORTABLE}
    whole = sum("portable_seeds" not in each for each in details)
    words = f"The first seeds of all {len(details)} published runs repeat, all seeds of {whole}."
    figures = [
        figure.name.removeprefix("figure_")
        for figure in FACTS.plan.drawn.values()
        if figure.runs and not any("portable_seeds" in published.read_details(run.name) for run in figure.runs)
    ]
    assert f"{words} Whole are figures {', '.join(figures[:-1])} and {figures[-1]}." in " ".join(
        read("docs/same_bytes.md").split()
    )


def test_each_published_figure_has_its_tables_and_pictures():
    kinds = ("curves.csv", "scores.csv", "{}.png", "{}.pdf")
    paths = [published.DIRECTORY / name / kind.format(name) for name in FACTS.plan.drawn for kind in kinds]
    assert not [path for path in paths if not path.exists()]


@pytest.mark.thorough
def test_a_study_that_is_not_published_is_in_no_page(monkeypatch):
    own = replace(FACTS.plan, studies=FACTS.plan.studies | {"mine": FACTS.plan.studies["goal"]})
    monkeypatch.setattr(facts, "load_plan", lambda scale: own)
    assert Facts().plan == FACTS.plan


def test_published_verdicts_are_those_of_the_published_runs():
    tables = {"claims": scorecard.as_table(FACTS.judged.values()), "readings": readings.as_table(FACTS.readings)}
    for name, table in tables.items():
        assert read(f"reference/{name}.csv") == scorecard.as_csv(table), f"{name}.csv is old: make readme"


def test_every_generated_part_is_that_of_the_published_results(monkeypatch):
    def require_parts(path, parts):
        for name, text in parts.items():
            begin, end = marked_text.marks(name)
            assert f"{begin}\n{text}{end}" in path.read_text(encoding="utf-8"), f"{name} of {path} is old: make readme"

    monkeypatch.setattr(marked_text, "replace", require_parts)
    markdown.fill(FACTS)
