"""The findings of `experiments/findings.yaml`: a paragraph by hand for each claim whose verdict needs one."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.pipeline.plans import DIRECTORY
from dyna_td.pipeline.yaml_files import read_checked


@dataclass(frozen=True)
class Finding:
    """A paragraph in Markdown that explains one `verdict` on a claim, and no other."""

    verdict: str
    text: str


def load_findings(claims: Collection[int], directory: Path = DIRECTORY) -> dict[int, Finding]:
    """The findings of `findings.yaml` in `directory`, by the number of their claim, which is one of `claims`."""
    path = Path(directory) / "findings.yaml"
    findings: dict[int, Finding] = {}
    for content in read_checked(path, "findings")["findings"]:
        number = content["claim"]
        if number not in claims:
            raise UserError(f"{path}: there is no claim {number}: take a number of claims.yaml.")
        if number in findings:
            raise UserError(f"{path}: claim {number} has two findings: make them one.")
        findings[number] = Finding(content["verdict"], " ".join(content["text"].split()))
    return findings
