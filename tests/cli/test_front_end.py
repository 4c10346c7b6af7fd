"""Choices that the commands duplicate to keep ``--help`` fast."""

from pathlib import Path

import pytest

from sms_diar.cli.options.recordings import CmvnMethod, VadMethod, read_front_end
from sms_diar.errors import MissingFileError
from sms_diar.features import cmvn, vad


def test_names_are_those_of_the_front_end():
    assert tuple(VadMethod) == vad.METHODS
    assert tuple(CmvnMethod) == cmvn.METHODS


def test_a_front_end_is_read_by_the_name_of_a_configuration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_front_end(Path("mfcc_8k_full")).mfcc.high_hz == 4000.0
    with pytest.raises(MissingFileError, match="nosuch: no such file, and not one of"):
        read_front_end(Path("nosuch"))
