"""The recipe `telephone` on small trees that look like LDC's."""

import pytest

from recipes.telephone.layouts import LAYOUTS, read_calls, read_speaker_list
from sms_diar.errors import DataFormatError, MissingFileError
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.validate import validate_data_dir

# Of each corpus: tables, audio files, and the sides with speaker and gender.
TABLES = {
    "swb2p1": {
        "docs/callstat.tbl": "sw_10001.sph,1,2001,2002,x,M,F\n",
        "audio": ("disc1/data/sw_10001",),
    },
    "swb2p2": {
        "docs/callstat.tbl": "1,x,2003,2001,F,M\n2,x,2004,2003,M,F\n",
        # Two lines for each call; the second has the name of the file.
        "docs/callinfo.tbl": "1,\nsw_20001,x\n2,\nsw_20002,x\n",
        "audio": ("sw_20001", "sw_20002"),
    },
    "swb2p3": {
        "docs/callstat.tbl": "30001,x,x,2005,2006,F,F\n",
        "audio": ("sw_30001",),
    },
    "swbc1": {
        # The second call is known to be broken.
        "docs/swb_callstats.tbl": "40001,2001,2007,M,M\n40019,1,2,M,M\n",
        "audio": ("data/sw_40001",),
    },
    "swbc2": {
        "docs/swb_callstats.tbl": "41001,2008,2009,M,F\n",
        "audio": ("data/sw_41001",),
    },
    "mixer6": {
        "mx6_speech/docs/mx6_calls.csv": "call_id,b,c,d,sid_a,f,g,h,i,j,k,l,sid_b\n"
        "777,b,c,d,120001,f,g,h,i,j,k,l,120002\n",
        "mx6_speech/docs/mx6_subjs.csv": "sid,sex\n120001,F\n120002,M\n",
        "audio": ("mx6_speech/data/ulaw_sphere/20090713_155022_777",),
    },
}
SPEAKERS = {
    "swb2p1": {"sw_2001-swb2p1-sw_10001_A": "m", "sw_2002-swb2p1-sw_10001_B": "f"},
    "swb2p2": {
        "sw_2001-swb2p2-sw_20001_B": "m",
        "sw_2003-swb2p2-sw_20001_A": "f",
        "sw_2003-swb2p2-sw_20002_B": "f",
        "sw_2004-swb2p2-sw_20002_A": "m",
    },
    "swb2p3": {"sw_2005-swb2p3-sw_30001_A": "f", "sw_2006-swb2p3-sw_30001_B": "f"},
    "swbc1": {"sw_2001-swbc1-sw_40001_A": "m", "sw_2007-swbc1-sw_40001_B": "m"},
    "swbc2": {"sw_2008-swbc2-sw_41001_A": "m", "sw_2009-swbc2-sw_41001_B": "f"},
    "mixer6": {"120001-mixer6-777_A": "f", "120002-mixer6-777_B": "m"},
    "sre04": {"1001-sre04-taaa_A": "m", "1002-sre04-taaa_B": "f"},
    "sre05": {"1001-sre05-jbbb_B": "m", "1003-sre05-jccc_A": "f"},
    "sre06": {"1004-sre06-kddd_A": "f"},
}
LISTED = (
    "1001 m sre2004 taaa A\n1002 f sre2004 taaa B\n1001 m sre2005 jbbb B\n"
    "1003 f sre2005 jccc A\n1004 f sre2006 kddd A\n"
)
DISCS = {"LDC2006S44": "taaa", "LDC2011S01": "jbbb", "LDC2011S04": "jccc"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory, write_silence):
    root = tmp_path_factory.mktemp("ldc")
    for name, content in TABLES.items():
        folder = root / "speech" / f"{LAYOUTS[name].catalogue[0]}_{name}"
        for path in content["audio"]:
            write_silence(folder / f"{path}.sph")
        for path, text in content.items():
            if path != "audio":
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text)
    for disc, segment in DISCS.items():
        write_silence(root / disc / "data" / f"{segment}.sph")
    for disc in ("LDC2011S09", "LDC2011S10", "LDC2012S01"):
        (root / disc).mkdir()
    write_silence(root / "LDC2012S01" / "kddd.sph")
    (root / "speaker_list").write_text(LISTED)
    return root


@pytest.fixture(scope="module")
def outcome(run, tree, tmp_path_factory):
    return run(tmp_path_factory.mktemp("telephone") / "exp", f"ldc={tree}")


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_corpus_is_a_data_directory_of_sides(outcome, name):
    folder = outcome.folder / "lists" / name
    data = DataDir(folder)
    assert [p for p in validate_data_dir(folder) if p.severity == "error"] == []
    genders = {key: data.spk2gender[data.utt2spk[key]] for key in data.utt2spk}
    assert genders == SPEAKERS[name]
    for key, source in data.audio.items():
        assert f"-c {1 if key.endswith('_A') else 2} " in source.text
        assert data.durations[key] == 0.1  # 800 samples at 8 kHz


def test_the_report_counts_and_says_how_to_train(outcome):
    entry = outcome.results["corpora"]["swb2p2"]
    counts = [entry[name] for name in ("sides", "speakers", "men", "women")]
    assert counts == [4, 3, 2, 1]
    assert f"sms-diar ivectors train {outcome.folder}/lists/sre04 " in outcome.summary


def test_corpora_of_an_earlier_run_do_not_stay(run, tree, tmp_path):
    for corpora in ('["swbc1", "swbc2"]', '["swbc2"]'):
        run(tmp_path / "exp", f"ldc={tree}", f"corpora={corpora}")
    assert not (tmp_path / "exp" / "lists" / "swbc1").exists()
    assert (tmp_path / "exp" / "lists" / "swbc2" / "wav.scp").exists()


def test_all_that_is_missing_in_all_corpora_is_said_at_once(
    run, tmp_path, write_silence
):
    table = tmp_path / "LDC2001S13" / "docs" / "swb_callstats.tbl"
    table.parent.mkdir(parents=True)
    table.write_text("40001,1,2,M,M\n40002,3,4,F,F\n")
    audio = table.parent.parent / "data"
    write_silence(audio / "sw_40002.sph", coding="ulaw,embedded-shorten-v2.00")
    (tmp_path / "LDC2004S07").mkdir()
    given = (f"ldc={tmp_path}", 'corpora=["sre04", "swbc1", "swbc2"]')
    with pytest.raises(MissingFileError) as caught:
        run(tmp_path / "exp", *given)
    lines = str(caught.value).split("\n  - ")[1:]
    starts = (
        "SRE 2004: folder LDC2006S44, looked for in ",
        "SRE 2004: speaker_list of openslr.org/15; ",
        "Switchboard Cellular part 1: 1 of 2 SPHERE files: sw_40001.sph",
        "Switchboard Cellular part 1: 2 of 4 sides cannot be read: sw_40002_A, ",
        "Switchboard Cellular part 2: tables swb_callstats.tbl",
    )
    assert len(lines) == len(starts)
    for line, start in zip(lines, starts, strict=True):
        assert line.startswith(start)
    # With nothing at all, permission to continue does not help.
    with pytest.raises(MissingFileError):
        run(tmp_path / "exp", *given, "allow_missing=true")


def test_what_exists_is_used_if_allowed_and_contradictions_are_told(
    run, tree, tmp_path
):
    listed = tmp_path / "mine"
    listed.write_text(f"{LISTED}9999 f sre2005 jbbb B\n1 m sre2005 jzzz A\n")
    given = (f"ldc={tree}", f"speaker_list={listed}", 'corpora=["sre05"]')
    results = run(tmp_path / "exp", *given, "allow_missing=true").results
    contradiction, files = results["missing"]
    assert "jbbb_B have two" in contradiction
    assert files.endswith("1 of 3 SPHERE files: jzzz.sph")
    data = DataDir(tmp_path / "exp" / "lists" / "sre05")
    assert dict(data.utt2spk) == {
        "1001-sre05-jbbb_B": "1001",
        "1003-sre05-jccc_A": "1003",
    }


@pytest.mark.parametrize(
    ("text", "named"),
    [("40001,1,2,M\n", "5 fields, got 4"), ("40001,1,2,M,X\n", "gender .* 'X'")],
)
def test_a_broken_table_is_named(tmp_path, text, named):
    layout, path = LAYOUTS["swbc1"], tmp_path / "table"
    path.write_text(f"40000,1,2,M,F\n{text}")
    with pytest.raises(DataFormatError, match=named) as caught:
        list(read_calls({layout.table: path}, layout))
    assert (caught.value.path, caught.value.line) == (path, 2)


def test_tables_that_do_not_match_and_broken_lists_are_named(tmp_path):
    layout = LAYOUTS["swb2p2"]
    paths = {name: tmp_path / name for name in layout.files}
    paths[layout.table].write_text("1,x,3,1,F,M\n2,x,3,1,F,M\n")
    paths[layout.calls].write_text("1,\nsw_1,\n")
    with pytest.raises(DataFormatError, match=r"2 calls .* 1 second lines"):
        list(read_calls(paths, layout))
    path = tmp_path / "list"
    path.write_text("1001 m sre2004 taaa A\n1001 m sre2004 taaa\n")
    with pytest.raises(DataFormatError, match="A or B") as caught:
        list(read_speaker_list(path, "sre2004"))
    assert caught.value.line == 2
