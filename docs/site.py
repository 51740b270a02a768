"""Makes links out of docs/, which work in the repository, work in the site too: pictures go with it."""

import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
_OUTSIDE = re.compile(r"(!?)\[([^\]]*)\]\(\.\./([^)#]+)\)")


def on_files(files, config):
    """Adds the pictures of reference/ that pages show or link to."""
    pages = [Path(file.abs_src_path).read_text(encoding="utf-8") for file in files.documentation_pages()]
    pictures = {path for page in pages for _, _, path in _OUTSIDE.findall(page) if path.endswith(".png")}
    for picture in sorted(pictures):
        files.append(File.generated(config, picture, abs_src_path=str(ROOT / picture)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Leads to pictures inside the site, and to other files in the repository, if `repo_url` says where that is."""

    def replace(match: re.Match) -> str:
        bang, text, path = match.groups()
        if path.endswith(".png"):
            return f"{bang}[{text}]({path})"
        return f"[{text}]({config.repo_url.rstrip('/')}/blob/main/{path})" if config.repo_url else f"{text} (`{path}`)"

    return _OUTSIDE.sub(replace, markdown)
