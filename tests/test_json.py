"""Quick JSON is the library's JSON."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sms_diar._json import json_line, json_text, read_json, write_json

plain_values = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
records = st.recursive(
    plain_values,
    lambda inner: (
        st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner)
    ),
    max_leaves=20,
)


@given(records)
def test_json_is_laid_out_as_the_library_does(record):
    expected = json.dumps(record, indent=2, ensure_ascii=False)
    assert json_text(record) == expected


def test_what_is_written_is_read_again(tmp_path):
    record = {"name": "Müller", "runs": [1, 2.5, None], "more": {}}
    write_json(tmp_path / "x.json", record)
    assert read_json(tmp_path / "x.json") == record
    text = (tmp_path / "x.json").read_text(encoding="utf-8")
    assert text == json.dumps(record, indent=2, ensure_ascii=False) + "\n"


@given(records)
def test_json_on_one_line_is_that_of_the_library(record):
    assert json_line(record) == json.dumps(record)
