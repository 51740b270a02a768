"""Hundreds of broken experiment files: each one plans runs or is refused in one sentence that names file and place."""

import copy
import json
from collections import Counter
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dyna_td.errors import UserError
from dyna_td.evidence.claims import load_claims
from dyna_td.pipeline import drawings, results
from dyna_td.pipeline.plans import load_plan

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
MUTATED = tuple(f"figure_{number}.yaml" for number in (1, 3, 5, 6, 7, 9, 13, 14))
COMPANION = "figure_10.yaml"  # shares runs with figure 1

ODD_NAMES = ["../x", "/etc/x", "a/../../x", "a\n", "a\nb", "", " ", ".", "..", "-rf", "é", "a" * 300, "None", "{run}"]
ODD_VALUES = [None, True, -1, 0, 1, 0.5, 10**6, 10**18, 10**30, -(10**400), 1e308, 5e-324, float("nan"), float("inf")]
ODD_VALUES += ["1e-3", "1.0e3", "learned", "GridWorld", "er", "late", "x" * 5000, [], {}, [1, 1.0], [[]], {"a": None}]
ODD_VALUES += [[32] * 9, [1.0e-3, 1.00000001e-3], [10000] * 8, ["a", None], *ODD_NAMES]
# What no dump of plain data writes: tags, aliases, dates that do not exist, control characters, open brackets.
ODD_TEXTS = [
    ".nan",
    "1e-3",
    "1.0e+400",
    "9" * 5000,
    "0x" + "f" * 5000,
    "2020-02-30",
    "2020-01-01",
    "2020-13-45T99:00:00",
]
ODD_TEXTS += [
    "!!python/object/apply:os.system ['true']",
    "!!binary aGk=",
    "!!set {a, b}",
    "!!float x",
    "!!float ''",
    "!!int ''",
    "!!bool perhaps",
    "!!timestamp today",
    "!!null 1",
    "!!omap a",
    "!!map a",
    "!!seq a",
    "!!str [a]",
    "!!set a",
    "!!pairs [a]",
    "*nobody",
    "&a [*a]",
]
ODD_TEXTS += [
    "&a {<<: *a}",
    "{<<: 5}",
    "{[a]: b}",
    "{? {a: b} : c}",
    "'",
    '"',
    "[",
    "{a: {",
    "\0",
    "\t",
    "\x85",
    "\u2028",
]
ODD_TEXTS += [
    '"\\ud800"',
    '"a\\nb"',
    "[" * 2000,
    "- -",
    "---",
    "...",
    "%YAML 9",
    "|",
    "1:30:00",
    "0b11",
    "~",
    "? a",
    "=",
    "\ufeff",
]


@pytest.fixture
def judge(tmp_path):
    """Writes a mutated file beside what it needs, and tells whether it was accepted; counts both."""
    for name in ("scales.yaml", COMPANION):
        (tmp_path / name).write_text((EXPERIMENTS / name).read_text())
    counts = Counter()

    def judge(name, text, place="", scale="paper"):
        kept = (EXPERIMENTS / name).read_text() if name == "scales.yaml" else None
        path = tmp_path / name
        named = str(path if kept is None else tmp_path)  # a scale's settings are refused where a figure meets them
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        try:
            sentence = refusal(tmp_path, scale)
        finally:
            path.unlink() if kept is None else path.write_text(kept)
        counts["refused" if sentence else "accepted"] += 1
        if sentence:
            assert sentence.isprintable() and sentence.endswith(".") and len(sentence) < 2000, sentence
            assert place in sentence and (named in sentence or sentence.startswith("unknown scale")), (place, sentence)

    judge.counts = counts
    return judge


def refusal(folder, scale):
    """The sentence with which the experiments of a folder are refused, or nothing if their runs can be made."""
    try:
        plan = load_plan(scale, folder)
        drawings.require_drawable(plan)
    except UserError as error:
        return str(error)
    for run in plan.runs.values():
        json.dumps(results.describe(run), allow_nan=False)
        for candidate in (run, *plan.selection_runs(run)):
            csv = results.run_csv(scale, candidate.name, folder / "results")
            assert csv.resolve().is_relative_to((folder / "results" / scale / "runs").resolve())
            assert max(map(len, csv.parts)) < 230
    return ""


def places_of(content, place=()):
    """Every key and index of plain data, as a path to it."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield (*place, key)
        yield from places_of(value, (*place, key))


def plain(name):
    """The contents of an experiment file, every alias written out."""
    return json.loads(json.dumps(yaml.safe_load((EXPERIMENTS / name).read_text())))


CONTENTS = {name: plain(name) for name in (*MUTATED, "scales.yaml", "claims.yaml")}
values = (
    st.sampled_from(ODD_VALUES) | st.integers() | st.floats() | st.text(max_size=20) | st.lists(st.floats(), max_size=3)
)
names = st.sampled_from([*ODD_NAMES, "er", "seeds", "closed_form", "settings", "b", 1, None]) | st.text(max_size=8)


@st.composite
def mutations(draw, files):
    """A file, its contents with one or two places changed, and the first of these places."""
    name = draw(st.sampled_from(files))
    content = copy.deepcopy(CONTENTS[name])
    places = [mutate(draw, content) for _ in range(draw(st.integers(1, 2)))]
    return name, content, places


def mutate(draw, content):
    """Changes one place of `content` and returns it."""
    place = draw(st.sampled_from(sorted(places_of(content), key=str)))
    parent = at(content, place[:-1])
    key = place[-1]
    how = draw(st.sampled_from(["delete", "rename", "copy", "replace", "wrap", "borrow"]))
    if how == "delete":
        del parent[key]
    elif how in ("rename", "copy") and isinstance(parent, dict):
        parent[draw(names)] = copy.deepcopy(parent[key])
        if how == "rename":
            parent.pop(key)
    elif how == "wrap":
        parent[key] = [parent[key]]
    elif how == "borrow":
        parent[key] = copy.deepcopy(at(content, draw(st.sampled_from(sorted(places_of(content), key=str)))))
    else:
        parent[key] = copy.deepcopy(draw(values))
    return place


def at(content, place):
    """What stands at a path in plain data."""
    for key in place:
        content = content[key]
    return content


def many(count):
    """How often a property is tried: the same mutations every time."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
    return settings(max_examples=count, derandomize=True, deadline=None, database=None, suppress_health_check=slow)


def test_a_figure_with_changed_contents_plans_or_is_refused_by_file_and_place(judge):
    @many(300)
    @given(mutations(MUTATED), st.sampled_from(["paper", "quick", "smoke"]))
    def property_holds(mutation, scale):
        name, content, places = mutation
        place = ".".join(places[0][:2]) if len(places) == 1 and len(places[0]) > 2 else ""
        judge(name, yaml.safe_dump(content, sort_keys=False, allow_unicode=True), place, scale)

    property_holds()
    assert judge.counts["accepted"] > 20 and judge.counts["refused"] > 100 and judge.counts.total() >= 300


def test_scales_with_changed_contents_plan_or_are_refused(judge):
    @many(100)
    @given(mutations(("scales.yaml",)), st.sampled_from(["paper", "quick", "smoke"]))
    def property_holds(mutation, scale):
        name, content, _ = mutation
        judge(name, yaml.safe_dump(content, sort_keys=False, allow_unicode=True), scale=scale)

    property_holds()
    assert judge.counts["accepted"] > 5 and judge.counts["refused"] > 30


def test_claims_with_changed_contents_are_read_or_refused_by_file_and_place(tmp_path):
    plan = load_plan("paper")
    judged = Counter()

    @many(60)
    @given(mutations(("claims.yaml",)))
    def property_holds(mutation):
        (tmp_path / "claims.yaml").write_text(yaml.safe_dump(mutation[1], sort_keys=False, allow_unicode=True))
        try:
            load_claims(plan, tmp_path)
        except UserError as error:
            judged["refused"] += 1
            assert str(error).isprintable() and f"{tmp_path / 'claims.yaml'}: " in str(error)
        else:
            judged["accepted"] += 1

    property_holds()
    assert judged["accepted"] > 3 and judged["refused"] > 20


@st.composite
def texts(draw):
    """The text of an experiment file, with a mishap on one of its lines."""
    name = draw(st.sampled_from((*MUTATED, "scales.yaml")))
    lines = (EXPERIMENTS / name).read_text().splitlines(keepends=True)
    number = draw(st.integers(0, len(lines) - 1))
    line = lines[number]
    odd = draw(st.sampled_from(ODD_TEXTS) | st.text(st.characters(), max_size=5))
    key, colon, _ = line.partition(":")
    position = draw(st.integers(0, len(line)))
    lines[number] = draw(
        st.sampled_from(
            [
                line * 2,
                "",
                " " + line,
                line.lstrip(),
                line.rstrip("\n"),
                f"{key}{colon} {odd}\n",
                f"{odd}{colon} 1\n",
                line[:position] + odd + line[position:],
                line[:position],
            ]
        )
    )
    return name, "".join(lines) * draw(st.sampled_from([1, 1, 1, 2]))


def test_a_file_with_changed_text_plans_or_is_refused_by_name(judge):
    @many(200)
    @given(texts())
    def property_holds(mutated):
        judge(*mutated)

    property_holds()
    assert judge.counts["accepted"] > 20 and judge.counts["refused"] > 80


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, "more than 100,000 values"),
        ("title: &a [*a]", "at line 1: an alias of what it is part of"),
        ("title: &a {<<: *a}", "at line 1: an alias of what it is part of"),
        ("title: " + "[" * 5000, "nested too deeply"),
        ("title: x\nsteps: " + "9" * 5000, "at line 2: "),
        ("title: x\nsteps: 0x" + "f" * 5000, "at line 2: a whole number of more than 10,000 bits"),
        ("title: 2020-02-30", "at line 1: a value that is no timestamp (day is out of range for month)"),
        ("title: !!bool perhaps", "at line 1: a value that is no bool ('perhaps')"),
        ("title: !!timestamp today", "at line 1: a value that is no timestamp"),
        ("title: 2020-02-20\npanels: {a: {}}", 'title is "2020-02-20", expected text'),
        ("title: !!python/object/apply:os.system ['touch pwned']", "at line 1: could not determine a constructor"),
        ("title: a\0b", "special characters are not allowed"),
        ("title: 'a\n\n  b'\npanels: {a: {}}", 'title is "a\\nb", expected one line'),
        ("title: x\npanels: {a: {metric: x}, 1: {}}", "panels has an entry 1, expected text"),
        ('title: x\npanels: {"a\\n": {}}', "expected a name of at most 40 small letters"),
    ],
)
def test_what_yaml_itself_allows_to_go_wrong_is_one_sentence(judge, text, words):
    judge("figure_9.yaml", text, words)
    assert judge.counts == {"refused": 1}


def test_text_of_another_encoding_is_refused(tmp_path):
    (tmp_path / "scales.yaml").write_bytes("# Größe\n".encode("latin-1"))
    assert "is not text in UTF-8, see byte 4" in refusal(tmp_path, "paper")
