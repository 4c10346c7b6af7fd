"""Label tables as text, CSV and JSON."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.io.labels import read_labels, write_labels
from sms_diar.types import Segment

LABELS = {"b-1": "spk-01", "a-1": "spk-02"}
SEGMENTS = {
    "a-1": Segment("a", 0.0, 1.25),
    "b-1": Segment("b", 1.0, 2.0),
    "c-1": Segment("c", 0.0, 1.0),
}


def test_text_is_utt2spk(tmp_path):
    for name in ("utt2spk", "x.txt", "x.utt2spk"):
        write_labels(tmp_path / name, LABELS, segments=SEGMENTS)
        assert (tmp_path / name).read_text() == "a-1 spk-02\nb-1 spk-01\n"


def test_csv_has_times_where_they_are_known(tmp_path):
    path = tmp_path / "x.csv"
    write_labels(path, LABELS)
    assert path.read_text() == "id,speaker\na-1,spk-02\nb-1,spk-01\n"
    write_labels(path, LABELS, segments=SEGMENTS)
    assert path.read_text() == (
        "id,speaker,recording,start,end\na-1,spk-02,a,0.0,1.25\nb-1,spk-01,b,1.0,2.0\n"
    )
    assert read_labels(path) == LABELS


def test_json_has_segments_where_they_are_known(tmp_path):
    path = tmp_path / "x.json"
    write_labels(path, LABELS)
    assert json.loads(path.read_text()) == {"labels": LABELS}
    write_labels(path, LABELS, segments=SEGMENTS)
    content = json.loads(path.read_text())
    assert content["segments"] == {
        "a-1": {"recording": "a", "start": 0.0, "end": 1.25},
        "b-1": {"recording": "b", "start": 1.0, "end": 2.0},
    }
    assert read_labels(path) == LABELS


@pytest.mark.parametrize("format", ["utt2spk", "csv", "json"])
def test_the_format_is_found_where_the_suffix_does_not_tell(tmp_path, format):
    path = tmp_path / "labels.out"
    write_labels(path, LABELS, format=format)
    assert read_labels(path) == LABELS


def test_spreadsheets_may_reorder_columns_and_add_their_marks(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b'\xef\xbb\xbfspeaker,note,id\r\ns,"x, y",a\r\nt,,b\r\n')
    assert read_labels(path) == {"a": "s", "b": "t"}


names = st.text(
    st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=6
)


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".json"])
@given(labels=st.dictionaries(names, names, max_size=4))
def test_labels_round_trip(tmp_path_factory, suffix, labels):
    path = tmp_path_factory.mktemp("labels") / f"labels{suffix}"
    format = "utt2spk" if suffix == ".txt" else None
    write_labels(path, labels, format=format)
    # text is told from CSV and JSON by its beginning, so give it its own name
    path = path.rename(path.with_name("utt2spk")) if suffix == ".txt" else path
    assert read_labels(path) == labels


def test_json_and_csv_hold_names_with_spaces_and_text_refuses_them(tmp_path):
    labels = {'my call, "part 1"': "Ann Lee"}
    for name in ("x.csv", "x.json"):
        write_labels(tmp_path / name, labels)
        assert read_labels(tmp_path / name) == labels
    with pytest.raises(InvalidParameterError, match="write_utt2spk: speaker must be"):
        write_labels(tmp_path / "x.txt", labels)


@pytest.mark.parametrize(
    ("name", "labels", "options", "problem"),
    [
        ("x.xlsx", LABELS, {}, "format must be given for the suffix '.xlsx'"),
        ("x", LABELS, {"format": "xml"}, "format must be one of 'utt2spk'"),
        ("x", {"a": 0}, {}, "labels must map text to text, got 'a': 0"),
        ("x.csv", LABELS, {"segments": {"b-1": SEGMENTS["b-1"]}}, "but 'a-1' is"),
        ("x.csv", LABELS, {"confidence": {"b-1": 1.0}}, "is missing (1 of 2)"),
    ],
)
def test_bad_arguments_are_refused(tmp_path, name, labels, options, problem):
    with pytest.raises(InvalidParameterError, match=re.escape(problem)):
        write_labels(tmp_path / name, labels, **options)


@pytest.mark.parametrize(
    ("name", "content", "line", "problem"),
    [
        ("x.csv", b"", None, "the file is empty"),
        ("x.csv", b"id;speaker\na;s\n", 1, "got 'id;speaker'"),
        ("x.csv", b"id,speaker\na\n", 2, "2 fields as in the header, this row has 1"),
        ("x.csv", b"id,speaker\na,s\na,t\n", 3, "id 'a' is given twice"),
        ("x.csv", b"id,speaker\na,\n", 2, "id and speaker must not be empty"),
        ("x.csv", b"id,speaker\na,\xe9\n", 2, "byte 0xe9 in column 3"),
        ("x.json", b'{"labels":\n{"a": }}', 2, "Expecting value in column 7"),
        ("x.json", b'{"a": "s"}', None, 'with the key "labels"'),
        ("x.json", b'{"labels": {"a": "s", "a": "t"}}', None, "'a' is given twice"),
        ("x.json", b'{"labels": {"a": 1}}', None, "'a' must be text, got 1"),
        ("x.txt", b"a\n", 1, "2 fields, this one has 1"),
    ],
)
def test_broken_files_are_refused(refused, name, content, line, problem):
    refused(read_labels, content, problem, line=line, name=name)
