"""Jobs on one machine share compiled programs until it reboots."""

import os
import time

import pytest

from dyna_td.pipeline import snakefile

OPTION = "--tf_xla_persistent_cache_directory="


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """The folder of programs, and the file with the id of this boot of the machine."""
    monkeypatch.delenv("TF_XLA_FLAGS", raising=False)
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    boot = tmp_path / "boot_id"
    boot.write_text("first\n")
    return tmp_path / "programs", boot


def test_each_start_of_a_machine_has_a_folder(machine):
    folder, boot = machine
    first = snakefile.xla_flags(folder, boot)
    assert first.startswith(f"{OPTION}{folder}/")
    assert snakefile.xla_flags(folder, boot) == first
    boot.write_text("second\n")
    assert snakefile.xla_flags(folder, boot) != first


def test_a_persons_flags_stay_and_those_of_another_machine_are_replaced(machine, monkeypatch):
    folder, boot = machine
    here, other, own = snakefile.xla_flags(folder, boot), "--tf_xla_clustering_debug", f"{OPTION}/my/own"
    for given, flags in ((f"{OPTION}{folder}/elsewhere", [here]), (own, [own])):
        monkeypatch.setenv("TF_XLA_FLAGS", given)
        assert snakefile.xla_flags(folder, boot).split() == flags
    monkeypatch.setenv("TF_XLA_FLAGS", other)
    first, added = snakefile.xla_flags(folder, boot).split()
    assert first == other and added.startswith(f"{OPTION}{folder}/") and added != here


def test_programs_of_more_than_a_week_ago_are_removed(tmp_path):
    for place, days in (("now", 1), ("then", 8)):
        program = tmp_path / place / "program.pb"
        program.parent.mkdir()
        program.touch()
        os.utime(program, (time.time() - days * 24 * 3600,) * 2)
    snakefile.remove_old_programs(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["now"]
    snakefile.remove_old_programs(tmp_path / "nothing")
