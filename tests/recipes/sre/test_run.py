"""The recipe `sre` on a small tree that looks like LDC's, from SPHERE to table."""

import json
from itertools import pairwise

import numpy as np
import pytest
import soundfile

from recipes._common.nist import EVALUATIONS
from recipes.sre.cuts import SegmentLaw
from recipes.sre.steps import Tree, write_data
from sms_diar._progress import Silence
from sms_diar._random import named_generator
from sms_diar.datasets import default_model_path
from sms_diar.errors import MissingFileError
from sms_diar.features.vad import VadConfig
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.validate import validate_data_dir
from sms_diar.synthetic.voices import Voice, converse
from sms_diar.types import Segment

TRIAL_KEY, MODEL_KEY = EVALUATIONS[2008].trial_key, EVALUATIONS[2008].models
VAD = VadConfig(min_speech=0.3, min_pause=0.3)
RATE = 8000
SECONDS = 26.0
SPEAKERS = [f"{500 + i}" for i in range(6)]
C7, C6 = "N,N,N,N,N,Y,Y,N", "N,N,N,N,N,Y,N,N"

TINY = (
    "runs=2",
    "speakers=[3, 6]",
    'methods=["ms", "sms-paper"]',
    "k=7",
    "figures=false",
    "law.mean_count=12",
    "law.std_count=1",
    "law.mean_excess=0.9",
    "training.components=16",
    "training.rank=12",
    "training.ubm_iter=4",
    "training.tv_iter=3",
)
"""Twelve segments of some 1.6 s of each speaker, a model trained in a second."""


def phrases_of(name, part):
    """Phrases of 2 to 4 s, with pauses between them."""
    rng = named_generator(11, "phrases", name, part)
    phrases, at = [], 0.5
    while at < SECONDS - 4.5:
        end = at + rng.uniform(2.0, 4.0)
        phrases.append(Segment(part, at, end))
        at = end + rng.uniform(0.5, 1.0)
    return phrases


def side_of(name, part):
    """One side of a conversation."""
    voice = Voice.draw(named_generator(11, "voice", name))
    turns = [(phrase, voice) for phrase in phrases_of(name, part)]
    return converse(turns, SECONDS, named_generator(11, name, part), rate=RATE)


def write_sphere(path, samples, coding):
    """Write two channels, the coding being "ulaw" or "pcm"."""
    raw = path.with_suffix(".raw")
    subtype, order = ("ULAW", None) if coding == "ulaw" else ("PCM_16", "BIG")
    soundfile.write(raw, samples, RATE, subtype, endian=order, format="RAW")
    width = 1 if coding == "ulaw" else 2
    head = (
        f"NIST_1A\n   1024\nchannel_count -i 2\nsample_count -i {len(samples)}\n"
        f"sample_rate -i {RATE}\nsample_n_bytes -i {width}\n"
        f"sample_byte_format -s{width} {'1' if width == 1 else '10'}\n"
        f"sample_coding -s{len(coding)} {coding}\nend_head\n"
    )
    path.write_bytes(head.encode().ljust(1024) + raw.read_bytes())
    raw.unlink()


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Six men, each on channel a of one training and on b of one test file."""
    root = tmp_path_factory.mktemp("ldc")
    training = root / "LDC2011S05" / "data" / "train" / "data" / "short2"
    test = root / "LDC2011S08" / "data" / "test" / "data" / "short3"
    keys = root / "LDC2011S08" / "data" / "keys" / "NIST_SRE08_KEYS.v0.1"
    for folder in (training, test, keys / "model-keys", keys / "trial-keys"):
        folder.mkdir(parents=True)
    models, trials = ["model,gender,segment,speaker"], ["model,segment,channel,key"]
    for i, (speaker, other) in enumerate(pairwise([*SPEAKERS, SPEAKERS[0]])):
        for folder, name, channel in ((training, "t", 0), (test, "x", 1)):
            # The other channel is somebody whom the keys do not name.
            sides = [side_of("stranger", f"{name}{i}")] * 2
            sides[channel] = side_of(speaker, f"{name}{i}")
            coding = "ulaw" if (i + channel) % 2 else "pcm"
            write_sphere(folder / f"{name}aa{i}.sph", np.stack(sides, axis=1), coding)
        models.append(f"{1000 + i},m,taa{i}:a,{speaker}")
        trials.append(f"{1000 + i},xaa{i},b,target,{C7}")
        trials.append(f"{1000 + SPEAKERS.index(other)},xaa{i},b,nontarget,{C7}")
    models.append("2000,f,taa0:b,900")
    trials += [f"2000,xaa0,a,target,{C7}", f"1000,xaa1,a,nontarget,{C6}"]
    (keys / "model-keys" / MODEL_KEY).write_text("\n".join(models) + "\n")
    (keys / "trial-keys" / TRIAL_KEY).write_text("\n".join(trials) + "\n")
    return root


@pytest.fixture(scope="module")
def given(tree, write_voices, tmp_path_factory):
    """Settings of a run that trains its model on sixteen other voices."""
    names = [f"train{i:02d}" for i in range(16)]
    training = write_voices(tmp_path_factory.mktemp("training"), names, 21.0, 3.5)
    corpus = f"corpus=['{tree / 'LDC2011S05'}', '{tree / 'LDC2011S08'}']"
    return (*TINY, corpus, f"train=['{training}']")


@pytest.fixture(scope="module")
def outcome(run, given, tmp_path_factory):
    return run(tmp_path_factory.mktemp("sre") / "exp", *given)


def test_goes_from_sphere_files_to_the_table(outcome):
    results = outcome.results
    stages = "corpus ivectors prepare trial-ivectors trials sessions view report"
    assert outcome.ran == tuple(stages.split())
    assert results["prepare"]["corpus_speakers"] == 6
    figures = results["sessions"]["3"]
    assert figures["methods"]["sms-paper"]["k"]["mean"] > 0.8
    assert figures["session"]["eer"]["mean"] < 0.2
    assert figures["printed"]["sms-paper"]["k"]["mean"] == 0.91
    assert (outcome.folder / "ivectors" / "model.npz").exists()
    assert results["prepare"]["backend"].startswith("plda from ")


def test_trials_of_the_condition_are_scored(outcome):
    # Six target and six nontarget trials; the others are of another gender or
    # condition. The cost of 2008 is 10 * 0.01 * miss + 0.99 * false alarm, divided by
    # the smaller weight, 0.1.
    figures = outcome.results["trials"]
    assert (figures["trials"], figures["targets"], figures["models"]) == (12, 6, 6)
    assert figures["backend"] == "plda"
    lines = (outcome.folder / "trials" / "scores").read_text().splitlines()
    scores = {tuple(line.split()[:2]): float(line.split()[2]) for line in lines}
    hits = [scores[f"{1000 + i}", f"xaa{i}_B"] for i in range(6)]
    others = [scores[f"{1000 + (i + 1) % 6}", f"xaa{i}_B"] for i in range(6)]
    assert np.mean(hits) > np.mean(others)
    costs = [
        0.1 * np.mean(np.less(hits, t)) + 0.99 * np.mean(np.greater_equal(others, t))
        for t in (*hits, *others, np.inf)
    ]
    assert figures["min_dcf"] == [pytest.approx(min(costs) / 0.1)]
    assert "## Trials" in (outcome.folder / "report" / "report.md").read_text()


def write_keys(folder, year):
    """Write the keys of a year for the trials of the tree in condition 7, male."""
    folder.mkdir()
    layout = EVALUATIONS[year]
    names = [name.replace("*", "v1") for name in layout.files]
    files = {name: [] for name in names}
    trials, models, *tables = names
    for i in range(6):
        model, other, speaker = 1000 + i, 1000 + (i + 1) % 6, SPEAKERS[i]
        answers = [(model, "target"), (other, "nontarget")]
        if layout.n_conditions:
            flags = ["N"] * layout.n_conditions
            flags[layout.condition - 1] = "Y"
            path = f"/sp/test/xaa{i}.sph" if year == 2012 else f"xaa{i}"
            for enrolled, answer in answers:
                word = f"known_{answer}" if year == 2012 else answer
                rest = ",".join(["Y", *flags])
                files[trials].append(f"{enrolled},{path},b,{word},{rest}")
            gender = "" if year == 2012 else " m"
            files[models].append(f"{model}{gender} /sp/data/taa{i}.sph:A")
            value = "M,native" if year == 2012 else speaker
            files[tables[0]].append(f"{model},{value}")
            continue
        suffix = "" if year == 2016 else ".sph"
        kind = "segment" if year == 2016 else "segmentid"
        if i == 0:
            files[models].append(f"modelid\t{kind}\tside")
            head = f"modelid\t{kind}\tside\ttargettype\tgender\tdata_source\ttest_set"
            files[trials].append(head)
        files[models].append(f"{model}\ttaa{i}{suffix}\ta")
        for enrolled, answer in answers:
            columns = f"{answer}\tmale\tcmn2\teval"
            files[trials].append(f"{enrolled}\txaa{i}{suffix}\tb\t{columns}")
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("year", [year for year in EVALUATIONS if year != 2008])
def test_every_year_gives_the_same_trials_and_sides(run, tree, outcome, tmp_path, year):
    write_keys(tmp_path / "keys", year)
    model = outcome.folder / "ivectors" / "model.npz"
    given = (f"corpus=['{tree}']", f"keys={tmp_path / 'keys'}", f"model={model}")
    small = ("speakers=[3]", "runs=1", 'methods=["ms"]', "merge_thresholds=[]")
    results = run(tmp_path / "exp", f"year={year}", *given, *TINY, *small).results
    assert results["prepare"]["corpus_speakers"] == 6
    assert results["prepare"]["title"] == f"NIST SRE {year}"
    for name in ("trials", "targets", "models", "sides", "skipped", "eer"):
        assert results["trials"][name] == outcome.results["trials"][name]
    p_target = list(EVALUATIONS[year].cost.p_target)
    assert results["trials"]["p_target"] == p_target
    assert len(results["trials"]["min_dcf"]) == len(p_target)


def test_the_report_says_whether_its_rows_may_be_compared(
    run, outcome, tree, vectors, tmp_path
):
    assert outcome.results["prepare"]["kinship"] == "the same corpus"
    assert "6 speakers here, 198" in outcome.results["prepare"]["comparison"]
    # A copy of the demonstration model is recognised by its contents.
    copy = tmp_path / "mine.npz"
    copy.write_bytes(default_model_path().read_bytes())
    given = (*TINY, f"corpus=['{tree}']", "speakers=[3]")
    for name, model in (("plain", ()), ("copied", (f"model={copy}",))):
        record = run(tmp_path / name, *given, *model).results["prepare"]
        assert "the demonstration model" in record["extractor"]
        assert "do not compare" in record["comparison"]


def test_the_data_directory_is_valid_and_follows_the_law(outcome):
    path = outcome.folder / "corpus" / "data"
    data = DataDir(path)
    assert [p for p in validate_data_dir(path) if p.severity == "error"] == []
    assert set(data.spk2gender.items()) == {(name, "m") for name in SPEAKERS}
    assert len(data.audio) == 12
    source = data.audio["taa3_A"].text
    assert source.startswith("sph2pipe -f wav -p -c 1 /")
    assert source.endswith("/short2/taa3.sph |")
    assert data.audio["xaa3_B"].text.startswith("sph2pipe -f wav -p -c 2 /")
    durations = [segment.duration for segment in data.segments.values()]
    assert min(durations) >= 0.7
    assert np.mean(durations) == pytest.approx(1.6, abs=0.2)
    counts = [len(ids) for ids in data.spk2utt.values()]
    assert np.mean(counts) == pytest.approx(12.0, abs=1.5)
    record = json.loads((outcome.folder / "corpus" / "corpus.json").read_text())
    assert record["speakers"] == 6
    assert record["segments"] == len(durations)
    assert record["missing"] == record["problems"] == []
    assert record["crosstalk"] == {}


def test_faint_speech_of_the_other_side_is_removed(tree, tmp_path):
    copy = tmp_path / "ldc"
    for path in tree.rglob("*"):
        target = copy / path.relative_to(tree)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.name != "taa0.sph":
            target.symlink_to(path)
    sides = np.stack([side_of(name, "t0") for name in ("500", "stranger")], axis=1)
    is_late = np.arange(len(sides)) > len(sides) // 2
    sides[is_late, 0] *= 0.001  # the speaker is silent in the second half
    sides[~is_late, 1] *= 0.001
    leaking = sides + 0.2 * sides[:, ::-1]  # -14 dB
    folder = copy / "LDC2011S05" / "data" / "train" / "data" / "short2"
    write_sphere(folder / "taa0.sph", leaking, "pcm")
    tellings = {}
    for choice in ("keep", "remove"):
        tree_settings = Tree(
            2008, (str(copy),), "", 7, "m", (), "both", False, False, choice
        )
        folder = tmp_path / choice
        folder.mkdir()
        law = SegmentLaw(mean_count=12.0, std_count=1.0, mean_excess=0.9)
        write_data(folder, tree_settings, VAD, law, seed=1, progress=Silence())
        tellings[choice] = json.loads((folder / "corpus.json").read_text())
    kept, removed = tellings["keep"], tellings["remove"]
    assert list(kept["crosstalk"]) == list(removed["crosstalk"]) == ["taa0_A"]
    assert removed["hours_of_speech"] < kept["hours_of_speech"]
    for segment in DataDir(tmp_path / "remove" / "data").segments.values():
        if segment.recording == "taa0_A":
            assert any(
                min(segment.end, phrase.end) - max(segment.start, phrase.start)
                > 0.5 * segment.duration
                for phrase in phrases_of("500", "t0")
            )


def test_segments_lie_in_the_phrases_of_their_own_channel(outcome):
    # The other channel has other phrases; pauses are longer than what the detector
    # bridges, and its frames of 25 ms blur a boundary by less than 0.05 s.
    data = DataDir(outcome.folder / "corpus" / "data")
    for name, segment in data.segments.items():
        part = segment.recording[0] + segment.recording[3]
        phrases = phrases_of(data.utt2spk[name], part)
        assert any(
            phrase.start - 0.05 <= segment.start and segment.end <= phrase.end + 0.05
            for phrase in phrases
        ), name
    vectors = read_embeddings(outcome.folder / "ivectors" / "ivectors.ark")
    assert set(vectors.ids) == set(data.segments)


def test_a_broken_file_costs_only_its_own_speaker_if_allowed(
    run, tree, outcome, tmp_path
):
    # A copy of the tree in which the training file of the last speaker is gone and
    # the header of the test file calls its plain samples compressed.
    copy = tmp_path / "ldc"
    for path in tree.rglob("*"):
        target = copy / path.relative_to(tree)
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        elif path.name != "taa5.sph":
            target.symlink_to(path)
    packed = next(copy.rglob("xaa5.sph"))
    content = packed.read_bytes()
    packed.unlink()
    for coding in (b"-s4 ulaw", b"-s3 pcm"):
        longer = coding + b",embedded-shorten-v2.00"
        content = content.replace(coding, longer)
    packed.write_bytes(content)
    model = outcome.folder / "ivectors" / "model.npz"
    given = (f"corpus=['{copy}']", f"model={model}", *TINY)
    with pytest.raises(MissingFileError) as caught:
        run(tmp_path / "exp", *given)
    message = str(caught.value)
    assert "1 of 12 SPHERE files: taa5.sph" in message
    assert "1 of 12 sides cannot be read: xaa5_B" in message
    again = run(tmp_path / "exp", *given, "allow_missing=true", "speakers=[3]")
    assert again.results["prepare"]["corpus_speakers"] == 5
    # The others are cut as before: their draws do not depend on that one.
    before, after = (
        DataDir(folder / "corpus" / "data").segments
        for folder in (outcome.folder, tmp_path / "exp")
    )
    assert dict(after) == {k: v for k, v in before.items() if not k.startswith("505")}
