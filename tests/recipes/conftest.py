"""Toy corpora, and the recipe that a folder of tests is about."""

import pytest
import soundfile

from sms_diar._random import named_generator
from sms_diar.experiment.recipe import find_recipe, run_recipe
from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.io.kaldi.tables import write_utt2spk
from sms_diar.synthetic import PldaWorld
from sms_diar.synthetic.voices import Voice, converse
from sms_diar.types import EmbeddingSet, Segment


@pytest.fixture(scope="module")
def run(request, pytestconfig):
    """Run the recipe after which the folder of the test module is named."""
    name = request.path.parent.name
    recipe = find_recipe(str(pytestconfig.rootpath / "recipes" / name))

    def run(folder, *assignments, **options):
        return run_recipe(recipe, folder, assignments=assignments, **options)

    return run


@pytest.fixture(scope="session")
def write_silence():
    """Write a SPHERE file of silence; the coding is that of its header."""

    def write(path, n_channels=2, n_samples=800, coding="ulaw"):
        width = 1 if coding.startswith("ulaw") else 2
        head = (
            f"NIST_1A\n   1024\nsample_count -i {n_samples}\n"
            f"sample_rate -i 8000\nchannel_count -i {n_channels}\n"
            f"sample_n_bytes -i {width}\nsample_coding -s{len(coding)} {coding}\n"
            f"sample_byte_format -s{width} {'1' if width == 1 else '01'}\nend_head\n"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            head.encode().ljust(1024) + bytes(width * n_channels * n_samples)
        )

    return write


@pytest.fixture(scope="session")
def write_voices():
    """Write a data directory: a recording of each name, cut into equal segments."""

    def write(folder, names, seconds, length):
        folder.mkdir(exist_ok=True, parents=True)
        tables = {"wav.scp": [], "segments": [], "utt2spk": []}
        for name in names:
            rng = named_generator(7, name)
            turn = (Segment(name, 0.0, seconds), Voice.draw(rng))
            path = folder / f"{name}.wav"
            soundfile.write(path, converse([turn], seconds, rng, rate=8000), 8000)
            tables["wav.scp"].append(f"{name} {path}")
            for i in range(round(seconds / length)):
                times = f"{length * i:.2f} {length * (i + 1):.2f}"
                tables["segments"].append(f"{name}-{i} {name} {times}")
                tables["utt2spk"].append(f"{name}-{i} {name}")
        for table, lines in tables.items():
            (folder / table).write_text("\n".join(lines) + "\n")
        return folder

    return write


@pytest.fixture(scope="session")
def vectors(tmp_path_factory):
    """A folder with embeddings of six speakers, vectors.ark, and their utt2spk."""
    folder = tmp_path_factory.mktemp("vectors")
    session = PldaWorld(dim=8, eer=0.05).draw_session(6, 1)
    ids = tuple(f"seg{i:04d}" for i in range(len(session.X)))
    write_embeddings(folder / "vectors.ark", EmbeddingSet(ids, session.X))
    names = {i: f"spk{n}" for i, n in zip(ids, session.speakers, strict=True)}
    write_utt2spk(folder / "utt2spk", names)
    return folder


@pytest.fixture(scope="session")
def without_times():
    """Leave times and stamps out of results, so that runs can be compared."""

    def strip(value):
        if isinstance(value, dict):
            return {
                key: strip(inner)
                for key, inner in value.items()
                if key not in ("stamp", "seconds", "growth")
            }
        return [strip(inner) for inner in value] if isinstance(value, list) else value

    return strip
