"""``sms-diar cluster --method``: every method and its options."""

import json

import numpy as np
import pytest

from sms_diar.cli.options.methods import SWITCHES, method_table
from sms_diar.clustering.methods import METHODS as REGISTRY
from sms_diar.clustering.speakers.row_weight import row_weight_of
from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.io.kaldi.plda import write_plda
from sms_diar.io.kaldi.tables import write_segments
from sms_diar.scoring import plda_from_covariances
from sms_diar.types import EmbeddingSet, Segment

METHODS = list(REGISTRY)
WITH_K = ("sms-paper", "ms", "bms", "dsms")
TRUTH = np.tile(np.arange(3), 20)


@pytest.fixture
def folder(tmp_path):
    """Three alternating speakers in windows of 1.5 s every second, and a PLDA."""
    rng = np.random.default_rng(0)
    speakers = 3.0 * np.random.default_rng(7).standard_normal((3, 6))
    X = speakers[TRUTH] + 0.3 * rng.standard_normal((60, 6))
    ids = tuple(f"seg-{i:02d}" for i in range(60))
    write_embeddings(tmp_path / "x.ark", EmbeddingSet(ids, X))
    loose = X + 1.5 * rng.standard_normal((60, 6))
    write_embeddings(tmp_path / "loose.ark", EmbeddingSet(ids, loose))
    segments = {name: Segment("call", i, i + 1.5) for i, name in enumerate(ids)}
    write_segments(tmp_path / "segments", segments)
    model = plda_from_covariances(np.zeros(6), 0.09 * np.eye(6), 9.0 * np.eye(6))
    write_plda(tmp_path / "plda", model)
    return tmp_path


def summary(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def misused(result, message):
    """Check for a usage error with this message, which is printed in a box."""
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    # Boxes wrap long words such as paths, so whitespace is ignored.
    assert "".join(message.split()) in "".join(result.stderr.replace("│", "").split())


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_clear_speakers(folder, method, run_cli):
    # With 17, DSMS draws up to 24 neighbours, more than the 20 available.
    k = ("-k", 9) if method in WITH_K else ()
    result = run_cli(
        "cluster", folder / "x.ark", "--plda", folder / "plda", "--method", method, *k
    )
    assert result.returncode == 0, result.stderr
    names = [line.split()[1] for line in result.stdout.splitlines()]
    assert names == ["spk-01", "spk-02", "spk-03"] * 20


@pytest.mark.parametrize("method", [name for name in METHODS if name != "vbx"])
def test_every_method_but_vbx_needs_no_model(folder, method, run_cli):
    content = summary(
        run_cli("cluster", folder / "x.ark", "--method", method, "--json")
    )
    assert content["method"] == method
    assert len(content["labels"]) == 60


def test_vbx_says_that_it_needs_a_plda_model(folder, run_cli):
    result = run_cli("cluster", folder / "x.ark", "--method", "vbx")
    misused(result, "--method: vbx needs a PLDA model; add --plda")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("bounds", "low", "high"),
    [
        (("--num-speakers", 2), 2, 2),
        (("--min-speakers", 5), 5, 60),
        (("--max-speakers", 2), 1, 2),
    ],
)
def test_every_method_keeps_bounds(folder, method, bounds, low, high, run_cli):
    content = summary(
        run_cli(
            "cluster", folder / "loose.ark", "--plda", folder / "plda",
            "--method", method, "--json", *bounds,
        )
    )  # fmt: skip
    assert low <= len(set(content["labels"].values())) <= high


@pytest.mark.parametrize("method", METHODS)
def test_k_is_shown_where_there_is_one(folder, method, run_cli):
    given = ("cluster", folder / "x.ark", "--plda", folder / "plda")
    [session] = summary(run_cli(*given, "--method", method, "--json"))["sessions"]
    table = run_cli(*given, "--method", method, "-o", folder / "labels").stdout
    head, *_, last = (line.split() for line in table.splitlines())
    if method in WITH_K:
        # DSMS draws k of 10 to 24 and names the largest.
        assert session["k"] == (24 if method == "dsms" else 17)
        assert (head[-1], last[-1]) == ("k", str(session["k"]))
    else:
        assert session["k"] is None
        assert head == ["session", "segments", "speakers"]


@pytest.mark.parametrize("method", WITH_K)
def test_k_is_taken_by_methods_with_neighbours(folder, method, run_cli):
    result = run_cli("cluster", folder / "x.ark", "--method", method, "-k", 5, "--json")
    # DSMS: two fifths of 5 above it.
    assert summary(result)["sessions"][0]["k"] == (7 if method == "dsms" else 5)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in WITH_K])
def test_k_is_refused_by_the_others(folder, method, run_cli):
    result = run_cli("cluster", folder / "x.ark", "--method", method, "-k", 5)
    misused(
        result,
        f"-k: is not an option of {method}; it applies to sms-paper, ms, bms, dsms",
    )


def test_the_threshold_decides_where_ahc_stops(folder, run_cli):
    given = ("cluster", folder / "x.ark", "--plda", folder / "plda", "--json")
    high = run_cli(*given, "--method", "ahc", "--threshold", "1e9")
    low = run_cli(*given, "--method", "ahc", "--threshold", "-1e9")
    assert summary(high)["sessions"][0]["n_speakers"] == 60
    assert summary(low)["sessions"][0]["n_speakers"] == 1
    refused = run_cli(*given, "--threshold", "0")
    misused(refused, "--threshold: is not an option of sms; it applies to ahc")


def test_the_default_tells_what_it_found_out(folder, run_cli):
    given = ("cluster", folder / "x.ark", "--json")
    [session] = summary(run_cli(*given))["sessions"]
    assert session["row_weight"] == 1.0  # alternating rows do not overlap
    assert session["weight"] == 1.0  # without a model, equal to row_weight
    posterior = session["count_posterior"][str(session["n_speakers"])]
    assert session["log_joint"] == pytest.approx(np.log(posterior))
    [plain] = summary(run_cli(*given, "--method", "sms-paper"))["sessions"]
    assert [plain[name] for name in ("row_weight", "weight", "log_joint")] == [None] * 3


def test_times_tell_how_much_windows_overlap(folder, run_cli):
    result = run_cli(
        "cluster", folder / "x.ark", "--segments", folder / "segments", "--json"
    )
    [session] = summary(result)["sessions"]
    # 60 windows of 1.5 s cover 60.5 s.
    assert session["row_weight"] == pytest.approx(60.5 / 90.0)
    windows = [Segment("call", i, i + 1.5) for i in range(60)]
    assert session["row_weight"] == row_weight_of(windows)


def test_memory_is_told_where_it_is_known(folder, run_cli):
    def note(method):
        return run_cli("cluster", folder / "x.ark", "--method", method).stderr

    fitted = (
        "60 segments of 6 dimensions, cosine scores, whitening fitted on the session"
    )
    assert note("sms-paper") == f"sms-diar: {fitted}: about 0 MiB of memory\n"
    assert note("nme-sc") == f"sms-diar: {fitted}\n"
    learnt = "no model: space and noise learnt from the session: about 0 MiB"
    assert learnt in note("sms")


def test_the_page_about_embeddings_has_the_table_of_the_registry(root):
    page = root / "docs" / "use" / "embeddings.md"
    assert method_table() in page.read_text(encoding="utf-8")


def test_the_command_has_a_switch_for_some_options_only():
    offered = {name for method in REGISTRY.values() for name in method.options}
    assert set(SWITCHES) <= offered
    assert offered - set(SWITCHES) == {"merge_threshold", "max_steps"}
