"""A reader's own matplotlibrc changes no picture of the project."""

import subprocess
import sys

import pytest

from dyna_td.pipeline.files import ROOT

# One line for each way in which a picture may change: text, saving, lines, colours, layout.
SPOILT = """
text.usetex: True
savefig.bbox: tight
savefig.transparent: True
savefig.facecolor: red
path.simplify: False
path.snap: False
axes.prop_cycle: cycler('color', ['r', 'g'])
axes.facecolor: black
axes.grid: True
lines.linewidth: 5
font.size: 20
mathtext.fontset: stix
image.cmap: gray
figure.autolayout: True
figure.dpi: 30
"""
CURVE = """
import sys
sys.path.insert(0, "figures")
import style
from matplotlib import pyplot as plt
figure, axes = plt.subplots()
axes.plot(range(5), label="$x^2$")
axes.legend()
figure.savefig(sys.argv[1], dpi=style.DOTS_PER_INCH, metadata={"Software": None})
"""
INSIDE = """
import sys
import numpy as np
from PIL import Image
from dyna_td.playing.explain import CELLS, Look, picture
from dyna_td.pipeline.policy import Policy
cells, some = np.eye(CELLS), np.array([[0.2, 0.3], [0.4, 0.5]])
about = {"environment": "GridWorld", "agent": "dyna_td", "steps": 10}
look = Look(step=10, value=cells, error=cells, chain=some, accepted=some, buffer=some, ideal=some, queue=some)
Image.fromarray(picture(Policy(about, {}), look)).save(sys.argv[1])
"""


@pytest.mark.parametrize("script", [CURVE, INSIDE], ids=["figure", "explanation"])
def test_a_readers_matplotlibrc_changes_no_picture(tmp_path, script):
    pictures = []
    for name, settings in (("plain", ""), ("spoilt", SPOILT)):
        (tmp_path / f"{name}.rc").write_text(settings)
        picture = tmp_path / f"{name}.png"
        environment = {"MATPLOTLIBRC": str(tmp_path / f"{name}.rc"), "PYTHONPATH": "src:.", "HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", script, str(picture)], cwd=ROOT, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        pictures.append(picture.read_bytes())
    assert pictures[0] == pictures[1]
