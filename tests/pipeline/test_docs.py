"""README and docs: short, every link leads somewhere, every command exists, and the example agent trains."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from dyna_td import cli
from dyna_td.pipeline.plans import STUDIES
from dyna_td.publishing import store

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "reference" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The anchors of a page: its headings, as GitHub and MkDocs name them, and explicit ids."""
    headings = re.findall(r"^#+ (.+)$", read(page), re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="(.+?)">', read(page)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_anchors_that_exist(page):
    links = re.findall(r"\]\(([^)]+)\)", read(page))
    broken = []
    for link in (link for link in links if not link.startswith("https://")):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_that_pages_name_exist(page, capsys):
    text = read(page)
    targets = set(re.findall(r"^([\w%-]+(?: [\w%-]+)*):(?!=)", read(ROOT / "Makefile"), re.MULTILINE))
    targets = {target for line in targets for target in line.split()} | {f"figure_{n}" for n in range(1, 15)} | {"mine"}
    commands = re.findall(r"(?:`|^)make ([a-z][^`\n#]*)", text, re.MULTILINE)
    named = {word for command in commands for word in command.split("&&")[0].split() if "=" not in word}
    assert named <= targets, named - targets
    for command in set(re.findall(r"python -m dyna_td (\w+)", text)):
        with pytest.raises(SystemExit) as ended:
            cli.main([command, "--help"])
        assert ended.value.code == 0, command
    for figure in re.findall(r"bin/snakemake (\w+)", text):
        assert figure in targets | {*STUDIES, "all_figures", "mine"}
    for script in re.findall(r"python ((?:figures|tests)/[\w/]+\.py)", text):
        assert (ROOT / script).exists(), script


def test_readme_is_short():
    assert len(read(ROOT / "README.md").splitlines()) <= 160
    assert (ROOT / "README.md").stat().st_size <= 12_000


def test_the_example_agent_trains_as_it_is_written(tmp_path):
    page = read(ROOT / "docs" / "extending.md")
    agent, settings, entry, *_ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    path = re.search(r"^`(src/dyna_td/agents/\w+\.py)`:$", page, re.MULTILINE)[1]
    for folder in ("src", "envs", "experiments"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / path).write_text(agent, encoding="utf-8")
    declared = tmp_path / "src" / "dyna_td" / "agents" / "settings.py"
    declared.write_text(f"{read(declared)}\n\n{settings}", encoding="utf-8")
    registry = tmp_path / "src" / "dyna_td" / "registry.py"
    before = read(registry)
    registry.write_text(before.replace("\nAGENTS = {\n", f"\nAGENTS = {{\n{entry}", 1), encoding="utf-8")
    assert read(registry) != before
    words = ["train", "--env", "CartPole-v1", "--agent", Path(path).stem, "--newest", "50", "--warm-up-steps", "100"]
    words += ["--planning-updates", "1", "--seeds", "0,1", "--steps", "200", "--evaluate-every", "100"]
    outcome = subprocess.run(
        [sys.executable, "-m", "dyna_td", *words, "--output", "recent.csv"],
        env=store.environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert outcome.returncode == 0, outcome.stderr
    records = pd.read_csv(tmp_path / "recent.csv")
    assert set(records["seed"]) == {0, 1} and set(records["step"]) == {0, 100, 200}
    assert not records.loc[records["metric"] == "diverged", "value"].any()
