"""SPHERE files written here, read back, and broken in every way."""

import numpy as np
import pytest

from sms_diar.io.audio.sphere import SphereFile


def header(size=1024, **fields):
    """A SPHERE header; a field of None is left out."""
    usual = {
        "sample_rate": 8000,
        "channel_count": 1,
        "sample_n_bytes": 2,
        "sample_byte_format": "01",
        "sample_coding": "pcm",
    }
    lines = ["NIST_1A", f"{size:7d}"]
    for name, value in {**usual, **fields}.items():
        if value is not None:
            kind = "i" if isinstance(value, int) else f"s{len(value)}"
            lines.append(f"{name} -{kind} {value}")
    return "\n".join([*lines, "end_head", ""]).encode().ljust(size)


def write(path, data=b"", **fields):
    path.write_bytes(header(**fields) + data)
    return path


def decoded(path):
    file = SphereFile(path)
    try:
        return file.read(0, file.n_samples)
    finally:
        file.close()


@pytest.mark.parametrize(("order", "dtype"), [("01", "<i2"), ("10", ">i2")])
def test_pcm_of_both_byte_orders_is_the_integer_over_32768(tmp_path, order, dtype):
    samples = np.array([0, 1, -1, 32767, -32768, 258], dtype=dtype)
    path = write(
        tmp_path / "a.sph", samples.tobytes(), sample_count=6, sample_byte_format=order
    )
    assert decoded(path)[:, 0].tolist() == (samples / 32768).tolist()


@pytest.mark.parametrize("name", ["ulaw", "mu-law", "mulaw", "ULAW", "alaw"])
def test_both_laws_agree_with_libsndfile_in_all_codes(tmp_path, name):
    import soundfile

    codes = bytes(range(256))
    law = "ALAW" if name == "alaw" else "ULAW"
    path = write(
        tmp_path / "a.sph",
        codes,
        sample_coding=name,
        sample_n_bytes=1,
        sample_count=256,
    )
    (tmp_path / "a.raw").write_bytes(codes)
    want, _ = soundfile.read(
        tmp_path / "a.raw", samplerate=8000, channels=1, subtype=law, format="RAW"
    )
    assert decoded(path)[:, 0].tolist() == want.tolist()


def test_channels_are_interleaved_and_any_stretch_can_be_read(tmp_path):
    samples = np.arange(20, dtype="<i2").reshape(10, 2)
    path = write(
        tmp_path / "a.sph", samples.tobytes(), channel_count=2, sample_count=10
    )
    file = SphereFile(path)
    assert (file.rate, file.n_channels, file.n_samples) == (8000, 2, 10)
    assert (file.read(3, 5) * 32768).tolist() == [[6, 7], [8, 9]]
    file.close()


def test_without_a_count_the_file_says_how_long_it_is(tmp_path):
    path = write(tmp_path / "a.sph", bytes(14))
    file = SphereFile(path)
    assert file.n_samples == 7
    file.close()


@pytest.mark.parametrize("coding", ["pcm,embedded-wavpack", "ulaw,embedded-shortpack"])
def test_other_compressions_name_the_tool_to_unpack_with(refused, coding):
    data = header(sample_coding=coding)
    refused(SphereFile, data, "sph2pipe -p -f wav a.sph a.wav", name="a.sph")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (header(sample_count=100) + bytes(14), "but the file ends after 7"),
        (header()[:40], "does not end with 'end_head' within its 1024 bytes"),
        (b"NIST_1A\n  ", "no valid size in its second line"),
        (header(sample_rate=None) + bytes(2), "sample_rate as a whole number"),
        (header(sample_rate="many") + bytes(2), "got 'many'"),
        (header(sample_rate=0) + bytes(2), "got '0'"),
        (header(sample_n_bytes=4) + bytes(8), "samples of 4 bytes, coding 'pcm'"),
    ],
)
def test_damaged_and_unknown_files_are_refused(refused, data, problem):
    refused(SphereFile, data, problem)
