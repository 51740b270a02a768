"""Adds the pages of agents and of Python to the site, and makes links out of docs/ work there: pictures go with it."""

import re
from pathlib import Path

from mkdocs.structure.files import File

from dyna_td.pages import agents, api
from dyna_td.pages.facts import Facts
from dyna_td.runs.registry import agents_on

ROOT = Path(__file__).parents[1]
FACTS = Facts()  # once for all times that `make docs` builds the site
_OUTSIDE = re.compile(r"(!?)\[([^\]]*)\]\(\.\./([^)#]+)\)")


def on_files(files, config):
    """Adds the generated pages, and the pictures of reference/ that pages show or link to."""
    generated = {f"agent-{name}.md": agents.page(FACTS, name) for name in agents_on("GridWorld")}
    generated["api.md"] = api.page()
    for name, text in generated.items():
        files.append(File.generated(config, name, content=text))
    pages = [
        Path(file.abs_src_path).read_text(encoding="utf-8") for file in files.documentation_pages() if file.abs_src_path
    ]
    pictures = {path for page in pages for _, _, path in _OUTSIDE.findall(page) if path.endswith(".png")}
    for picture in sorted(pictures):
        files.append(File.generated(config, picture, abs_src_path=str(ROOT / picture)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Leads to pictures inside the site, and to other files in the repository, if `repo_url` says where that is."""

    def replace(match: re.Match) -> str:
        bang, text, path = match.groups()
        if path.endswith(".png"):
            return f"[![{text}]({path})]({path})" if bang else f"[{text}]({path})"  # a click shows it in its own size
        return f"[{text}]({config.repo_url.rstrip('/')}/blob/main/{path})" if config.repo_url else f"{text} (`{path}`)"

    if page.file.src_uri == "agents.md":
        markdown = re.sub(r"\[(\w+)\]\(\.\./src[^)]*agents/[^)]*\)", r"[\1](agent-\1.md)", markdown)
    return _OUTSIDE.sub(replace, markdown)
