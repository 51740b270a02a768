"""Broken experiment files: each one plans runs, or is refused in one sentence that names file and place."""

import copy
import json
from collections import Counter

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dyna_td.errors import UserError
from dyna_td.pipeline import results
from dyna_td.pipeline.plans import DIRECTORY, load_plan

MUTATED = tuple(f"figure_{number}.yaml" for number in (1, 3, 5, 6, 7, 9, 13, 14))
COMPANION = "figure_10.yaml"  # shares runs with figure 1

ODD_NAMES = ["../x", "/etc/x", "a\nb", "", ".", "..", "é", "a" * 300, "None", "{run}"]
ODD_VALUES = [None, True, -1, 0, 0.5, 10**6, 10**18, 1e308, "1e-3", "learned", "GridWorld", "er", "late", "x" * 5000]
ODD_VALUES += [[], {}, [1, 1.0], {"a": None}, [32] * 9, [1.0e-3, 1.00000001e-3], ["a", None], *ODD_NAMES]
CONTENTS = {
    name: json.loads(json.dumps(yaml.safe_load((DIRECTORY / name).read_text()))) for name in (*MUTATED, "scales.yaml")
}


def places_of(content, place=()):
    """Every key and index of plain data, as a path to it."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield (*place, key)
        yield from places_of(value, (*place, key))


def at(content, place):
    for key in place:
        content = content[key]
    return content


@st.composite
def mutations(draw):
    """A file, its contents with one place changed, and that place."""
    name = draw(st.sampled_from(list(CONTENTS)))
    content = copy.deepcopy(CONTENTS[name])
    places = sorted(places_of(content), key=str)
    place = draw(st.sampled_from(places))
    parent, key = at(content, place[:-1]), place[-1]
    match draw(st.sampled_from(["delete", "rename", "replace", "wrap", "borrow"])):
        case "delete":
            del parent[key]
        case "rename" if isinstance(parent, dict):
            parent[draw(st.sampled_from([*ODD_NAMES, "er", "seeds", "closed_form", "b", 1]))] = parent.pop(key)
        case "wrap":
            parent[key] = [parent[key]]
        case "borrow":
            parent[key] = copy.deepcopy(at(content, draw(st.sampled_from(places))))
        case _:
            parent[key] = draw(st.sampled_from(ODD_VALUES) | st.floats() | st.text(max_size=20))
    return name, content, place


def refusal(folder, scale):
    """The sentence with which the experiments of a folder are refused, or nothing if their runs can be made."""
    try:
        plan = load_plan(scale, folder)
    except UserError as error:
        return str(error)
    for run in plan.runs.values():
        json.dumps(results.asked(run), allow_nan=False)
        csv = results.run_csv(scale, run.name, folder / "results")
        assert csv.resolve().is_relative_to((folder / "results" / scale / "runs").resolve())
        assert max(map(len, csv.parts)) < 230
    return ""


@pytest.mark.parametrize("count", [60, pytest.param(600, marks=pytest.mark.thorough)])
def test_a_file_with_changed_contents_plans_or_is_refused_by_file_and_place(tmp_path, count):
    counts = Counter()
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]

    @settings(max_examples=count, derandomize=True, deadline=None, database=None, suppress_health_check=slow)
    @given(mutations(), st.sampled_from(["paper", "quick", "smoke"]))
    def property_holds(mutation, scale):
        name, content, place = mutation
        folder = tmp_path / str(counts.total())
        folder.mkdir()
        for kept in ("scales.yaml", COMPANION, *(["figure_9.yaml"] if name == "scales.yaml" else [])):
            (folder / kept).write_text((DIRECTORY / kept).read_text())
        (folder / name).write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
        sentence = refusal(folder, scale)
        counts["refused" if sentence else "accepted"] += 1
        if sentence:
            assert sentence.isprintable() and sentence.endswith(".") and len(sentence) < 2000, sentence
            assert str(folder) in sentence or sentence.startswith("unknown scale")
            if name != "scales.yaml" and len(place) > 2:
                assert ".".join(place[:2]) in sentence, (place, sentence)

    property_holds()
    assert counts["accepted"] > count / 20 and counts["refused"] > count / 4


@pytest.mark.parametrize(
    "text", ["title: [x", "title: x\ntitle: y", "title: !!python/object:os.x y", "a: *b", "\0", "- x", ""]
)
def test_text_that_is_no_experiment_is_refused_by_name(tmp_path, text):
    (tmp_path / "scales.yaml").write_text((DIRECTORY / "scales.yaml").read_text())
    (tmp_path / "figure_9.yaml").write_text(text)
    sentence = refusal(tmp_path, "paper")
    assert "figure_9.yaml" in sentence and sentence.isprintable() and sentence.endswith(".")


def test_text_of_another_encoding_is_refused(tmp_path):
    (tmp_path / "scales.yaml").write_bytes("# Größe\n".encode("latin-1"))
    assert "scales.yaml is not valid YAML" in refusal(tmp_path, "paper")
