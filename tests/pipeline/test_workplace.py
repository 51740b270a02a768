"""One maker a result at a time, and nothing left of one that was killed."""

import tempfile

import pytest

from dyna_td.errors import UserError
from dyna_td.pipeline.lock import workplace


def test_temporary_files_are_beside_the_result_and_go_with_its_maker(tmp_path):
    csv, elsewhere = tmp_path / "x.csv", tempfile.gettempdir()
    left = tmp_path / ".x.csv.work" / "left by a killed process"
    left.parent.mkdir()
    left.write_text("")
    with workplace(csv):
        assert not left.exists()
        with tempfile.NamedTemporaryFile(delete=False) as generated:
            assert generated.name.startswith(str(left.parent))
        with pytest.raises(UserError, match=r"another process is making .*x\.csv"), workplace(csv):
            pass
        with workplace(tmp_path / "y.csv"):
            pass
    assert not list(tmp_path.iterdir()) and tempfile.gettempdir() == elsewhere
