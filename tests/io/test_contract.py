"""What all readers and writers have in common, whatever the format.

`SAMPLES` has a small file of each text format with a place for an id.
"""

import json
import os
import re
from functools import partial

import numpy as np
import pytest

from recipes._common.nist import EVALUATIONS, read_models
from sms_diar.errors import (
    DataFormatError,
    InvalidParameterError,
    MissingFileError,
    SmsDiarError,
)
from sms_diar.io.audio.files import AudioFile
from sms_diar.io.embeddings.arrays import read_npy, read_npz
from sms_diar.io.embeddings.files import read_embeddings, write_embeddings
from sms_diar.io.kaldi import tables
from sms_diar.io.kaldi.ark import read_ark
from sms_diar.io.kaldi.plda import read_plda, write_plda
from sms_diar.io.kaldi.transform import read_transform, write_transform
from sms_diar.io.labels import read_labels, write_labels
from sms_diar.io.model import read_model, write_model
from sms_diar.io.transcripts.files import read_transcript, write_transcript
from sms_diar.io.trials import read_scores, read_trials
from sms_diar.io.turns.files import read_annotation, write_turns
from sms_diar.io.turns.rttm import read_rttm, write_rttm
from sms_diar.io.turns.uem import read_uem, read_vad_lab, write_vad_lab
from sms_diar.types import EmbeddingSet

VISIBLE = "ab[]02;ownedJ"
INVISIBLE = {
    "title": "a\x1b]0;owned\x07",
    "clear": "a\x1b[2Jb",
    "nul": "a\0b",
    "delete": "a\x7fb",
    "c1": "a\x9bb",
    "override": "a\u202eb",
    "isolate": "a\u2066b",
}
SAMPLES = {
    "rttm-recording": ("x.rttm", "SPEAKER {} 1 0 1 <NA> <NA> ann <NA> <NA>\n"),
    "rttm-channel": ("x.rttm", "SPEAKER r {} 0 1 <NA> <NA> ann <NA> <NA>\n"),
    "rttm-speaker": ("x.rttm", "SPEAKER r 1 0 1 <NA> <NA> {} <NA> <NA>\n"),
    "stm-recording": ("x.stm", "{} 1 ann 0 1\n"),
    "stm-speaker": ("x.stm", "r 1 {} 0 1 words\n"),
    "ctm-recording": ("x.ctm", "{} 1 0 2 ann\n"),
    "ctm-speaker": ("x.ctm", "r 1 0 2 {}\n"),
    "csv-recording": ("x.csv", "recording,start,end,speaker\n{},0,1,ann\n"),
    "csv-speaker": ("x.csv", "recording,start,end,speaker\nr,0,1,{}\n"),
    "json-recording": (
        "x.json",
        '[{{"recording": "{}", "start": 0, "end": 1, "speaker": "ann"}}]',
    ),
    "json-speaker": ("x.json", '[{{"start": 0, "end": 1, "speaker": "{}"}}]'),
    "json-seglst": (
        "x.json",
        '[{{"session_id": "{}", "start_time": 0, "end_time": 1, "speaker": "a"}}]',
    ),
    "json-lhotse": (
        "x.jsonl",
        '{{"recording_id": "r", "start": 0, "duration": 1, "speaker": "{}"}}\n',
    ),
    "json-nemo": (
        "x.jsonl",
        '{{"audio_filepath": "r.wav", "offset": 0, "duration": 1, "label": "{}"}}\n',
    ),
    "json-pyannoteai": (
        "x.json",
        '{{"output": {{"diarization": [{{"start": 0, "end": 1, "speaker": "{}"}}]}}}}',
    ),
    "json-whisper": (
        "y.json",
        '{{"segments": [{{"start": 0, "end": 1, "text": "hi", "speaker": "{}"}}]}}',
    ),
    "json-whisper-words": (
        "y.json",
        '{{"words": [{{"start": 0, "end": 1, "word": "hi", "speaker": "{}"}}]}}',
    ),
    "srt": ("x.srt", "1\n00:00:00,000 --> 00:00:01,000\n[{}]\n"),
    "vtt": ("x.vtt", "WEBVTT\n\n00:00.000 --> 00:01.000\n<v {}>hello\n"),
    "audacity": ("x.txt", "0.0\t1.0\t{}\n"),
    "textgrid": (
        "x.TextGrid",
        'File type = "ooTextFile"\nObject class = "TextGrid"\n0\n1\n<exists>\n1\n'
        '"IntervalTier"\n"{}"\n0\n1\n1\n0\n1\n"hello"\n',
    ),
    "eaf": (
        "x.eaf",
        '<ANNOTATION_DOCUMENT><TIME_ORDER><TIME_SLOT TIME_SLOT_ID="a" TIME_VALUE="0"/>'
        '<TIME_SLOT TIME_SLOT_ID="b" TIME_VALUE="9"/></TIME_ORDER><TIER TIER_ID="{}">'
        '<ANNOTATION><ALIGNABLE_ANNOTATION TIME_SLOT_REF1="a" TIME_SLOT_REF2="b"/>'
        "</ANNOTATION></TIER></ANNOTATION_DOCUMENT>",
    ),
    "uem": ("x.uem", "{} 1 0 1\n"),
    "segments": ("segments", "{} r 0 1\n"),
    "utt2spk": ("utt2spk", "a {}\n"),
    "spk2utt": ("spk2utt", "{} a\n"),
    "reco2dur": ("reco2dur", "{} 1\n"),
    "wav.scp": ("wav.scp", "{} a.wav\n"),
    "trials": ("trials", "{} b\n"),
    "scores": ("scores", "{} b 1.5\n"),
    "scores-nist": ("s.tsv", "modelid\tsegmentid\tLLR\nm\t{}\t1\n"),
    "embeddings-ark": ("x.ark", "{} [ 1 2 ]\n"),
    "embeddings-scp": ("x.scp", "{} x.ark:2\n"),
    "embeddings-csv": ("y.csv", "id,0,1\n{},1,2\n"),
    "embeddings-jsonl": ("x.jsonl", '{{"id": "{}", "vector": [1, 2]}}\n'),
    "embeddings-challenge": ("c.csv", "ivectorid,values[2]\n{},1 2\n"),
    "labels-csv": ("z.csv", "id,speaker\na,{}\n"),
    "labels-json": ("z.json", '{{"labels": {{"a": "{}"}}}}'),
    "sre-models": ("m.key", "{}, m, tabcd:a, 1001\n"),
}
TABLES = ("segments", "utt2spk", "spk2utt", "reco2dur", "wav.scp")
READERS = {
    "json-whisper-words": read_transcript,
    "trials": lambda path: read_trials(path, ("a",), ("b",)),
    **dict.fromkeys(("scores", "scores-nist"), read_scores),
    "uem": read_uem,
    "sre-models": lambda path: read_models([path], EVALUATIONS[2008]),
    **{name: getattr(tables, f"read_{name.replace('.', '_')}") for name in TABLES},
    **dict.fromkeys((n for n in SAMPLES if "embeddings" in n), read_embeddings),
    **dict.fromkeys((n for n in SAMPLES if "labels" in n), read_labels),
}
BINARY_READERS = {
    "audio": AudioFile,
    "ark": lambda path: list(read_ark(path)),
    "npy": read_npy,
    "npz": read_npz,
    "plda": read_plda,
    "transform": read_transform,
    "model": partial(read_model, kind="toy"),
    "vad.lab": partial(read_vad_lab, recording="r"),
    "rttm": read_rttm,
}


def sample(folder, kind):
    """Path, reader and template of a format; an ark is beside it for the scp."""
    name, template = SAMPLES[kind]
    (folder / "x.ark").write_text("a [ 1 2 ]\n")
    return folder / name, READERS.get(kind, read_annotation), template


@pytest.mark.parametrize("letters", INVISIBLE.values(), ids=INVISIBLE)
@pytest.mark.parametrize("kind", SAMPLES)
def test_ids_that_would_steer_a_terminal_are_refused(tmp_path, kind, letters):
    path, read, template = sample(tmp_path, kind)
    in_json = kind.startswith(("json", "labels-json", "embeddings-jsonl"))
    written = json.dumps(letters)[1:-1] if in_json else letters
    path.write_text(template.format(written), encoding="utf-8")
    with pytest.raises(SmsDiarError) as caught:
        read(path)
    assert not {*str(caught.value)} & {*letters} - {*VISIBLE}
    if kind != "trials":  # ids of trials are looked up
        path.write_text(template.format("a"))
        read(path)


@pytest.mark.parametrize("kind", sorted({*SAMPLES} - {"trials"}))
def test_ids_of_any_alphabet_are_read(tmp_path, kind):
    path, read, template = sample(tmp_path, kind)
    path.write_text(template.format("Zoë李🎤"), encoding="utf-8")
    read(path)


@pytest.mark.parametrize("kind", SAMPLES)
def test_bytes_that_are_not_utf8_are_refused_with_their_line(tmp_path, kind):
    path, read, template = sample(tmp_path, kind)
    path.write_text(template.format("a\xe9b"), encoding="latin-1")
    with pytest.raises(DataFormatError) as caught:
        read(path)
    assert caught.value.path in (path, str(path))
    line = template.partition("{}")[0].count("\n") + 1
    # An ark is read as bytes, so its message has the byte instead.
    assert caught.value.line == (None if kind == "embeddings-ark" else line)


def attempt(read, path):
    """Content of a file, or the error of ours that it costs."""
    try:
        return read(path), None
    except SmsDiarError as error:
        return (), error


@pytest.mark.parametrize("kind", SAMPLES)
def test_an_empty_file_has_no_rows_or_is_called_empty(tmp_path, kind):
    path, read, _ = sample(tmp_path, kind)
    for text in ("", "\n \n"):
        path.write_text(text)
        content, error = attempt(read, path)
        assert len(getattr(content, "recordings", content)) == 0
        assert error is None or re.search("empty|blank|no |header|JSON", error.problem)


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_file_that_is_cut_anywhere_costs_an_error_of_ours_at_most(tmp_path, kind):
    path, read, template = sample(tmp_path, kind)
    data = template.format("a").encode()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        _, error = attempt(read, path)
        assert error is None or str(tmp_path) in str(error)


@pytest.mark.parametrize("kind", [*SAMPLES, *BINARY_READERS])
def test_what_is_no_file_is_named(tmp_path, kind):
    read = BINARY_READERS.get(kind) or READERS.get(kind, read_annotation)
    path = tmp_path / "gone"
    with pytest.raises(MissingFileError, match=r"gone: no such file"):
        read(path)


@pytest.mark.parametrize("kind", sorted({*READERS} - {"trials", "sre-models"}))
def test_a_reader_asks_for_a_path(kind):
    with pytest.raises(
        InvalidParameterError, match=r"^read_\w+: (path|source) must be"
    ):
        READERS[kind]({"a": "b"})


@pytest.mark.parametrize("kind", ["plda", "transform", "model", "vad.lab", "rttm"])
def test_a_reader_of_models_asks_for_a_path(kind):
    with pytest.raises(InvalidParameterError, match=r"^read_\w+: path must be"):
        BINARY_READERS[kind](np.eye(2))


WRITERS = {
    **{
        f"{name} of a table": getattr(tables, f"write_{name}")
        for name in ("segments", "utt2spk", "spk2utt", "reco2num_spk", "spk2gender")
    },
    "reco2dur": tables.write_reco2dur,
    "wav.scp": tables.write_wav_scp,
    "labels": write_labels,
    "segments": lambda out, path: write_labels(out, {"u": "s"}, segments=path),
    "embeddings": write_embeddings,
    "plda": write_plda,
    "transform": write_transform,
    "model": write_model,
    "turns": write_turns,
    "transcript": write_transcript,
    "rttm": write_rttm,
    "vad.lab": write_vad_lab,
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_writer_that_is_given_a_path_names_the_reader_to_call(tmp_path, kind):
    with pytest.raises(InvalidParameterError, match=r"the path 'x'; read it with read"):
        WRITERS[kind](tmp_path / "out.rttm", "x")
    assert list(tmp_path.iterdir()) == []


def test_embeddings_are_not_read_from_values():
    with pytest.raises(InvalidParameterError, match="got a value of type EmbeddingSet"):
        read_embeddings(EmbeddingSet(("u",), np.ones((1, 2))))


@pytest.mark.parametrize("kind", ["audio", "npz", "model", "rttm"])
def test_a_pipe_is_not_waited_for(tmp_path, kind):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SmsDiarError, match=r"is a pipe or device|is not a file"):
        BINARY_READERS[kind](tmp_path / "pipe")
