"""Where a result comes from."""

from dyna_td.pipeline import provenance


def test_the_machine_names_its_versions_and_its_cpu():
    facts = provenance.machine()
    assert {"python", "tensorflow", "numpy", "gymnasium", "dyna_td"} <= set(facts["versions"])
    assert all(facts["versions"].values()) and facts["cpu"]
    assert isinstance(facts["git_dirty"], bool)
