"""Sources of speakers that need files."""

import pytest

from recipes.speakers.sources import digits_files
from sms_diar.errors import MissingFileError


def test_a_missing_corpus_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("SMS_DIAR_DATA", str(tmp_path))
    for folder in ("audiomnist8k", "arabic8k"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "ge2e_dvec_8k.npz").touch()
    missing = tmp_path / "libri-testother10-8k" / "ge2e_dvec_8k.npz"
    with pytest.raises(MissingFileError) as caught:
        digits_files("")
    assert str(caught.value) == (
        f"source = \"digits\": no {missing}; point the setting 'data' or SMS_DIAR_DATA "
        f'to the folder of the corpora, or take source = "simulated", which needs no '
        f"data"
    )
