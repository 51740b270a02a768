"""The findings of `experiments/findings.yaml`: three texts by hand for each claim whose verdict needs them."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.pipeline.plans import DIRECTORY
from dyna_td.pipeline.yaml_files import read_checked


@dataclass(frozen=True)
class Finding:
    """Three texts in Markdown that explain one `verdict` on a claim, and no other."""

    verdict: str
    paper: str  # what the paper says
    measured: str  # our number with its interval, its cause, and what was checked
    advice: str  # what to do with it

    @property
    def parts(self) -> dict[str, str]:
        """The texts by their headings."""
        return {"The paper": self.paper, "We measured": self.measured, "In practice": self.advice}


def load_findings(claims: Collection[int], directory: Path = DIRECTORY) -> dict[int, Finding]:
    """The findings of `findings.yaml` in `directory`, by the number of their claim.

    Raises:
      UserError: for a file that breaks the schema, a claim that is not one of `claims`, or one that is explained twice.
    """
    path = Path(directory) / "findings.yaml"
    findings: dict[int, Finding] = {}
    for content in read_checked(path, "findings")["findings"]:
        number = content["claim"]
        if number not in claims:
            raise UserError(f"{path}: there is no claim {number}: take a number of claims.yaml.")
        if number in findings:
            raise UserError(f"{path}: claim {number} has two findings: make them one.")
        texts = (" ".join(content[key].split()) for key in ("paper", "measured", "advice"))
        findings[number] = Finding(content["verdict"], *texts)
    return findings
