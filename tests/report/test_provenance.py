"""Where a result came from."""

from sms_diar.report.provenance import describe, git_revision, stamp


def test_stamp_names_version_seed_and_machine():
    record = stamp(seed=7, settings={"a": 1})
    line = describe(record)
    assert "seed 7" in line
    assert record["machine"]["cpu"] in line


def test_outside_a_checkout_the_revision_is_unknown(tmp_path):
    assert git_revision(tmp_path) == "unknown"
