"""The Dockerfile, which no test builds, names files that exist and makes the environment of the lock."""

import fnmatch
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
STEPS = [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in LINES) if re.match("[A-Z]+$", word)]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def arguments(word):
    return [rest for step, rest in STEPS if step == word]


def test_what_is_copied_exists_and_reaches_the_build():
    sources = [source for rest in arguments("COPY") for source in rest.split()[:-1]]
    patterns = (ROOT / ".dockerignore").read_text().split()
    assert patterns[0] == "*" and len(sources) == 11
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in patterns
        assert not any(fnmatch.fnmatch(source, pattern.removeprefix("**/")) for pattern in patterns[1:])


def test_everything_that_the_pipeline_needs_is_copied():
    copied = {source for rest in arguments("COPY") for source in rest.split()[:-1]}
    built = {PROJECT["project"]["readme"], *PROJECT["project"]["license-files"], "pyproject.toml"}
    assert built | {"Snakefile", "environment.yaml", "src", "envs", "figures", "experiments", "profiles"} <= copied


def test_the_lock_is_installed_before_the_project_and_nothing_else_is():
    installs = [rest for rest in arguments("RUN") if "pip install" in rest]
    assert installs[0] == "python -m pip install --requirement requirements.lock"
    assert len(installs) == 2 and "--no-deps --no-build-isolation --editable ." in installs[1]
    steps = [rest for _, rest in STEPS]
    assert steps.index("requirements.lock ./") < steps.index(installs[0]) < steps.index("src src")


def test_its_python_is_one_that_the_project_supports_and_its_user_is_not_root():
    version = re.fullmatch(r"python:(3\.\d+)-slim", arguments("FROM")[0])[1]
    low, high = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", PROJECT["project"]["requires-python"]).groups()
    assert int(low) <= int(version.split(".")[1]) < int(high)
    (user,) = arguments("USER")
    assert user not in ("root", "0") and any(f"useradd --uid 1000 {user}" in rest for rest in arguments("RUN"))


def test_the_snakefile_names_the_image_that_the_readme_and_the_dockerfile_build():
    name = f"dyna_td:{PROJECT['project']['version']}"
    assert 'container: f"docker-daemon:dyna_td:{__version__}"' in (ROOT / "Snakefile").read_text()
    for text in ("Dockerfile", "README.md"):
        assert f"docker build --tag {name} ." in (ROOT / text).read_text()


def test_the_plugin_for_clusters_is_pinned_as_the_readme_says():
    (plugin,) = PROJECT["project"]["optional-dependencies"]["cluster"]
    assert re.fullmatch(r"snakemake-executor-plugin-slurm==[\d.]+", plugin)
