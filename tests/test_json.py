"""Quick JSON is the library's JSON."""

import json
import os

from hypothesis import given
from hypothesis import strategies as st

from sms_diar._json import json_line, json_text, read_json, write_json
from sms_diar._text import UNSAFE_IN_LINES

visible = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Zl", "Zp")))
plain_values = st.none() | st.booleans() | st.integers() | st.floats() | visible
records = st.recursive(
    plain_values,
    lambda inner: (
        st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(visible, inner)
    ),
    max_leaves=20,
)


@given(records)
def test_json_is_laid_out_as_the_library_does(record):
    expected = json.dumps(record, indent=2, ensure_ascii=False)
    assert json_text(record) == expected


@given(st.text())
def test_text_that_steers_a_terminal_is_escaped_and_read_again(text):
    written = json_text({"name": text})
    assert not UNSAFE_IN_LINES.search(written)
    assert json.loads(written) == {"name": text}


def test_a_file_name_that_is_not_utf8_can_be_written(tmp_path):
    name = os.fsdecode(b"caf\xe9.wav")
    write_json(tmp_path / "x.json", {name: [name]})
    assert read_json(tmp_path / "x.json") == {"caf\ufffd.wav": ["caf\ufffd.wav"]}


def test_what_is_written_is_read_again(tmp_path):
    record = {"name": "Müller", "runs": [1, 2.5, None], "more": {}}
    write_json(tmp_path / "x.json", record)
    assert read_json(tmp_path / "x.json") == record
    text = (tmp_path / "x.json").read_text(encoding="utf-8")
    assert text == json.dumps(record, indent=2, ensure_ascii=False) + "\n"


@given(records)
def test_json_on_one_line_is_that_of_the_library(record):
    assert json_line(record) == json.dumps(record)
