"""Writes the kept inputs of the fuzzers: small whole files of every format.

Run it after a format has changed: ``python tests/fuzz/seeds.py``. Inputs that once
found a fault are kept beside them under the name of what they are; they stay.
"""

from __future__ import annotations

import importlib.util
import io
import json
import pickle
import struct
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import soundfile
from scipy.io import savemat

from sms_diar.embeddings import IvectorExtractor
from sms_diar.embeddings.kaldi import kaldi_models
from sms_diar.embeddings.mixture import GaussianMixture
from sms_diar.embeddings.total_variability import TotalVariability
from sms_diar.features.front_end import FrontEnd
from sms_diar.io.kaldi.ark import write_ark
from sms_diar.io.kaldi.ivector_models import write_extractor, write_mixture
from sms_diar.io.kaldi.plda import write_plda
from sms_diar.io.model import write_model
from sms_diar.io.transcripts.files import transcript_text
from sms_diar.io.turns.files import turns_text
from sms_diar.timeline.transcript import Phrase, words_of_text
from sms_diar.types import PldaModel, Segment, Turn

CORPUS = Path(__file__).resolve().parent / "corpus"
MARK = b"\n=====part:"
IDS = ("a", "b-0001", "c")
TURNS = {
    "turn-json": "json",
    "srt": "srt",
    "vtt": "vtt",
    "textgrid": "textgrid",
    "eaf": "eaf",
    "audacity": "audacity",
}
ROWS = np.array([[0.5, -1.0], [2.0, 3.25], [1e-3, 4.0]])


def npy(array: object) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(array))
    return stream.getvalue()


def npz(**arrays: object) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **{name: np.asarray(array) for name, array in arrays.items()})
    return stream.getvalue()


def parts(**arrays: object) -> bytes:
    pieces = (f"{name}.npy\n".encode() + npy(array) for name, array in arrays.items())
    return b"".join(MARK + piece for piece in pieces)


def written(write: object, suffix: str = "") -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{suffix}"
        write(path)  # type: ignore[operator]
        return path.read_bytes()


def turns(name: str) -> bytes:
    said = [
        Turn(Segment("r1", 0.0, 1.5), "ann"),
        Turn(Segment("r1", 1.25, 3.5), "bob"),
        Turn(Segment("r1", 4.0, 4.25), "ann"),
    ]
    return turns_text(said, TURNS[name]).encode()


def transcript(format: str) -> bytes:
    said = [
        Phrase("r1", 0.5, 2.0, "ann", words_of_text("Good <b>day</b>, =x", 0.5, 2.0)),
        Phrase("r1", 1.5, 4.0, None, words_of_text("{ a / b } 你好 &", 1.5, 4.0)),
        Phrase("r1", 6.0, 14.0, "bob", words_of_text("well, he said: " * 9, 6.0, 14.0)),
    ]
    return transcript_text(said, format).encode()


def sound(suffix: str, **options: object) -> bytes:
    samples = 0.1 * np.sin(np.arange(400) / 3.0)
    channels = np.stack([samples, -samples], axis=1)

    def write(path: Path) -> None:
        soundfile.write(path, channels, 8000, **options)

    return written(write, suffix)


def sphere(coding: str) -> bytes:
    width = 2 if coding == "pcm" else 1
    lines = (
        f"NIST_1A\n   1024\nsample_rate -i 8000\nchannel_count -i 2\n"
        f"sample_count -i 50\n"
        f"sample_n_bytes -i {width}\nsample_byte_format -s2 01\n"
        f"sample_coding -s{len(coding)} {coding}\nend_head\n"
    )
    return lines.encode().ljust(1024) + bytes(range(100)) * width


def shortened(kind: int, coding: str, *, version: int = 2) -> bytes:
    from tests.io.audio import shorten_writer as writer

    functions = (writer.DIFF0, writer.DIFF2, writer.QLPC, writer.ZERO)
    frames = []
    for function in functions:
        n_low = 6 if coding == "pcm" else 4
        block = [{"pcm": 0, "ulaw": 255, "alaw": 0xD5}[coding]] * 12
        if function != writer.ZERO:
            block = [int(100 + 90 * np.sin(i * function)) for i in range(12)]
        shaped = writer.Block(block, function, n_low, (40, -10))
        frames.append([shaped, shaped])
    frames[1][0].verbatim = b"RIFF"
    stream = writer.Stream(kind, frames, version, block_size=16, max_order=2)
    data = sphere(f"{coding},embedded-shorten-v{version}.00")[:1024]
    if coding == "pcm":
        data = data.replace(b"sample_n_bytes -i 1", b"sample_n_bytes -i 2")
    return data.replace(b"count -i 50", b"count -i 48") + stream.written()


def varint(value: int) -> bytes:
    out = bytearray()
    while True:
        out.append(value & 127 | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(out)


def message(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx() -> bytes:
    tensor = message(1, 2) + message(2, 1) + message(8, b"w")
    tensor += message(9, struct.pack("<ff", 1.0, 2.0))
    return message(1, 8) + message(7, message(5, tensor))


def extractor() -> IvectorExtractor:
    mixture = GaussianMixture(np.array([0.5, 0.5]), np.eye(2), np.ones((2, 2)))
    model = TotalVariability(np.ones((2, 2, 1)), mixture.means, mixture)
    return IvectorExtractor(model, front_end=FrontEnd().as_dict())


def nnet3_files() -> ModuleType:
    path = CORPUS.parents[1] / "networks" / "nnet3_files.py"
    spec = importlib.util.spec_from_file_location("nnet3_files", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["nnet3_files"] = module
    spec.loader.exec_module(module)
    return module


def transcripts() -> dict[str, dict[str, bytes]]:
    """Words in the shapes of the programs that write them."""
    word = '{"word": " Hi,", "start": 0.5, "end": 0.8, "probability": 0.9}'
    said = f'"start": 0.5, "end": 2.0, "text": " Hi, you.", "words": [{word}, '
    whisper = f'{{{said}{{"word": " you.", "start": 1, "end": 2}}]}}'
    aligned = f'{{{said}{{"word": "you.", "speaker": "B"}}], "speaker": "A"}}'
    supervision = (
        '{"id": "s", "recording_id": "r", "start": 0.5, "duration": 1.5, "channel": 0, '
        '"text": "Hi, you", "speaker": "A", "alignment": {"word": [["Hi,", 0.5, 0.3, '
        '0.9], ["you", 1.0, 0.5]]}}'
    )
    cut = f'{{"id": "c", "start": 1, "duration": 3, "supervisions": [{supervision}]}}'
    turn = '{"start": 0.5, "end": 2.0, "text": "Hi, you.", "speaker": "A"}'
    token = '{"text": " Hi", "offsets": {"from": 500, "to": 800}, "p": 0.9, "id": 7}'
    special = '{"text": "[_BEG_]", "offsets": {"from": 0, "to": 0}, "p": 0.1}'
    texts = {
        "whisper": {
            "openai": f'{{"text": " Hi, you.", "segments": [{whisper}]}}',
            "whisperx": f'{{"segments": [{aligned}], "word_segments": [{word}]}}',
            "verbose": f'{{"words": [{word}], "segments": [{turn}], "duration": 3.0}}',
            "values": '[[1, 0, 0.5, 2, " Hi", [7], 0, 1, 0, [[0.5, 1, " Hi", 1]], 0]]',
            "words": f"[{word}]",
        },
        "whisper_cpp": {
            "tokens": '{"transcription": [{"offsets": {"from": 500, "to": 2000}, '
            f'"text": " Hi", "speaker": "0", "tokens": [{special}, {token}]}}]}}',
        },
        "lhotse": {
            "supervisions": f"{supervision}\n{supervision}\n",
            "cuts": f"{cut}\n{cut}\n",
            "mixed": f'{{"id": "m", "tracks": [{{"cut": {cut}, "offset": 2.0}}]}}\n',
            "recordings": '{"id": "r", "sources": [], "sampling_rate": 8000}\n',
        },
        "nemo": {
            "plain": '{"audio_filepath": "a/r.wav", "offset": 0.5, "duration": 1.5, '
            '"text": "Hi, you", "label": "A"}\n{"audio_filepath": "r.wav", '
            '"duration": 2, "text": "-", "pred_text": "yes", "speaker": "B"}\n',
        },
        "pyannoteai": {
            "job": f'{{"jobId": "x", "output": {{"diarization": [{turn}], '
            f'"wordLevelTranscription": [{turn}], '
            f'"turnLevelTranscription": [{turn}]}}}}',
        },
        "seglst": {
            "plain": '[{"session_id": "r", "start_time": "0.5", "end_time": 2.0, '
            '"speaker": "A", "words": "Hi, you."}]',
        },
    }
    return {
        f"words-{format}": {name: text.encode() for name, text in kinds.items()}
        for format, kinds in texts.items()
    }


def seeds() -> dict[str, dict[str, bytes]]:
    """All of them, by reader and name."""
    found = extractor().to_model()
    words = np.array(json.dumps({**found.words, "backend": {"kind": "plda"}}))
    plda = PldaModel(np.zeros(2), np.eye(2), np.ones(2))
    text = {
        "segments": "a r1 0.0 1.5\nb r1 1.5 -1\nc r2 0 2e1\n",
        "utt2spk": "a ann\nb bob\nc ann\n",
        "spk2utt": "ann a c\nbob b\n",
        "reco2dur": "r1 12.5\nr2 8\n",
        "reco2num_spk": "r1 2\nr2 13\n",
        "spk2gender": "ann f\nbob m\n",
        "wav-scp": "r1 a.wav\nr2 sph2pipe -f wav -p -c 1 b.sph |\nr3 x.ark:12\n",
        "command": "sph2pipe -f wav -p -c 1 'b c.sph'",
        "uem": ";; c\nr1 1 0.0 10.5\nr2 A 1 2\n",
        "lab": "0.0 1.5 sp\n1.5 2.0 nsp\n",
        "ids": "a\nb\nc\n",
        "assignment": "a.b=[1, 'x', {c = 2}]",
        "settings": "[mfcc]\nrate = 8000\nn_fft = 256\nlength = 0.025\n[cmvn]\n"
        'method = "sliding"\nwindow = 3.0\n[deltas]\norder = 2\n[vad]\n'
        'method = "energy"\ncontext = 5\n',
        "description": 'file = "x.onnx"\ninput = "feats"\noutput = "embs"\n'
        "rate = 16000\n"
        'features = "fbank"\n',
        "sre-models-2008": "modelid,gender,side\n10001,f,tabcd:a\n10002,m,tefgh:b\n",
        "sre-trials-2008": "modelid,segment,side,target\n10001,txyzw,a,target\n",
        "sre-models-2019": "modelid\tsegmentid\tside\n1001\tabc.sph\ta\n",
        "sre-trials-2019": "modelid\tsegmentid\tside\ttargettype\tgender\n"
        "1001\tabc.sph\ta\ttarget\tmale\n",
        "calls": "40001,5001,5002,M,F,x\n40002,5003,5001,F,M,x\n",
        "speaker-list": "1001 m sre2004 taaa A\n1002 f sre2005 tbbb B\n",
        "transcript": "# en_4065\n19.33 21.18 B1: hello\n there\n20.5 22 A: yes\n",
        "stm": ";; x\nm1 1 ann 0.5 2.25 <o,f0> hello there\nm1 1 bob 2 3\n",
        "icsi": '<x><segment starttime="0.5" endtime="2" participant="me003"/>'
        '<w starttime="0.6" endtime="0.9">yes</w></x>',
        "labels-text": "a ann\nb bob\n",
        "labels-csv": 'id,speaker,start\na,ann,0\n"b,c",\'=x,1\n',
        "labels-json": '{"labels": {"a": "ann", "b": "bob"}, "segments": {"a": 1}}',
        "fusion": '{"sms_diar_fusion": 1, "offset": -1.5, "weights": [0.25]}',
        "beside": '{"extractor": "iv:12", "sha256": "00"}',
        "turn-csv": "recording,start,end,speaker,channel\nr1,0,1.5,ann,1\n"
        "r1,1,2,bob,2\n",
    }
    kept = {name: {"whole": content.encode()} for name, content in text.items()}
    kept["trials"] = {
        "plain": b"a b target\na c nontarget\n",
        "short": b"a b\n",
        "nist": b"modelid\tsegmentid\tside\ttargettype\tsex\na\tb.sph\ta\ttarget\tm\n"
        b"a\tc.sph\ta\tnontarget\tf\n",
        "key": b"model,segment,channel,key,c1\na,x/b.sph,a,target,Y\n"
        b"a,c,b,unknown_nontarget,N\n",
        "index": b"a m b a\na f c B\n",
    }
    kept["scores"] = {
        "plain": b"a b 1.5\na c -2e1\n",
        "nist": b"modelid\tsegmentid\tside\tLLR\na\tb.sph\ta\t1.5\n",
    }
    kept["alize"] = {
        "long": struct.pack("<QQdd", 1, 2, 0.5, -1.0),
        "short": struct.pack("<IIdd", 1, 2, 0.5, -1.0),
    }
    cells = np.array(IDS, dtype=object)
    kept["mat"] = {
        name: written(
            lambda p, packed=packed: savemat(
                p, {"ivs": ROWS.T, "ids": cells, "s": {"a": 1}}, do_compression=packed
            ),
            ".mat",
        )
        for name, packed in (("plain", False), ("packed", True))
    }
    kept["rttm"] = {
        "plain": b"SPEAKER r1 1 0.00 1.50 <NA> <NA> ann <NA> <NA>\n"
        b"SPEAKER r1 1 1.25 2.125 <NA> <NA> bob <NA> <NA>\n",
        "odd": b";; c\nSPKR-INFO r1 1 <NA> <NA> <NA> unknown ann <NA>\n"
        b"SPEAKER r1 1 1e0 .5 <NA> <NA> ann <NA>\n",
    }
    kept["ctm"] = {
        "plain": b"r1 1 0.1 2.2 ann 0.9\nr1 A 2.4 1.25 bob 1\nr2 1 0 3 ann\n",
        "words": b"r1 1 0.1 0.2 word 0.9\nr1 1 0.4 0.25 other 1\n",
        "words-and-speakers": b"r1 1 0.1 0.2 word 0.9 lex ann\n",
        "stm": b";; c\nr1 1 ann 0.1 2.2 <o,f0> words\n",
    }
    kept |= transcripts()
    arks = {
        "binary": written(lambda p: write_ark(p, IDS, ROWS)),
        "float": written(lambda p: write_ark(p, IDS, ROWS, dtype="float")),
        "text": written(lambda p: write_ark(p, IDS, ROWS, text=True)),
    }
    kept["ark"] = arks
    kept["scp"] = {"plain": b"a input.scp:0\nb x.ark:12[0:3]\nc cat x |\n"}
    kept["csv"] = {
        "head": b"id,x0,x1\na,0.5,-1\n'=b,2,3.25\n",
        "tabs": b"a\t1\t2\nb\t3\t4e-3\n",
    }
    kept["json-lines"] = {
        "plain": b'{"id": "a", "vector": [0.5, -1]}\n{"id": "b", "vector": [2, 3e1]}\n'
    }
    kept |= {name: {"plain": turns(name)} for name in TURNS}
    foreign = {
        "ctm": b";; c\nr1 1 * * <ALT_BEGIN>\nr1 1 0.1 0.2 um 0.9\nr1 1 * * <ALT>\n"
        b"r1 1 0.1 0.2 uh\nr1 1 * * <ALT_END>\nr1 speaker_0 3 0.25 so<space>on 0\n",
        "stm": b";; c\nr1 1 inter_segment_gap 0 1 <o,,>\nr1 1 ann 1 2 <o,f0> { a / "
        b"{ @ / b } } c\nr1 A 17 2 3 IGNORE_TIME_SEGMENT_IN_SCORING\n",
        "srt": b"1\n00:00:01,000 --> 00:00:02,000\nAnn: {\\an8}<i>hi</i>\n- Bob: no\n\n"
        b"2\n00:00:03.000 --> 00:00:04.000\n[Ann] 12:30\n[laughs]\n",
        "vtt": b"WEBVTT x\n\nNOTE\nx\n\n00:01.000 --> 00:04.000 align:start\n"
        b"<v.loud ann>so<00:00:02.000><c> well</c></v>\n<v bob>a &lt; b\n",
        "textgrid": b'File type = "ooTextFile"\n"TextGrid"\n0\n2\n<exists>\n3\n'
        b'"IntervalTier"\n"ann - words"\n0\n2\n2\n0\n1\n"hi"\n1\n2\n"<eps>"\n'
        b'"IntervalTier"\n"ann - phones"\n0\n2\n1\n0\n2\n"HH"\n'
        b'"IntervalTier"\n"bob"\n0\n2\n1\n0\n2\n"so we go"\n',
        "csv": b"start\tend\ttext\n0\t1500\thello you\n",
    }
    word_table = b"recording,start,duration,word,score\nr,0,0.5,'=a,0.5\nr,3,1,b,\n"
    for name in ("ctm", "stm", "srt", "vtt", "textgrid", "eaf", "csv"):
        kept[f"words-{name}"] = {"plain": transcript(name)}
        if name in foreign:
            kept[f"words-{name}"]["foreign"] = foreign[name]
    kept["words-csv"]["table"] = word_table
    kept["npy"] = {"plain": npy(ROWS), "fortran": npy(np.asfortranarray(ROWS))}
    kept["npz"] = {"plain": npz(ids=IDS, vectors=ROWS)}
    kept["npz-parts"] = {
        "plain": parts(ids=IDS, vectors=ROWS),
        "other": parts(
            utt=np.array([b"a", b"b"]), x=np.ones((2, 1), np.int8), spk=["s"]
        ),
    }
    kept["embeddings"] = {**arks, **kept["csv"], "npz": npz(ids=IDS, vectors=ROWS)}
    kept["plda"] = {
        "binary": written(lambda p: write_plda(p, plda)),
        "text": written(lambda p: write_plda(p, plda, binary=False)),
    }
    models = kaldi_models(extractor())
    projected = replace(models[0], weights=np.ones((2, 2)))
    kept["kaldi-mixture"] = {
        "diagonal": written(lambda p: write_mixture(p, models[2])),
        "full": written(lambda p: write_mixture(p, models[1])),
        "text": b"<FullGMM> \n<GCONSTS>  [ -3.03 ]\n<WEIGHTS>  [ 1 ]\n<MEANS_INVCOVARS>"
        b"  [\n  1 0.5 ]\n<INV_COVARS> [\n2 \n0.5 1 ]\n</FullGMM> ",
    }
    kept["kaldi-extractor"] = {
        "binary": written(lambda p: write_extractor(p, models[0])),
        "projected": written(lambda p: write_extractor(p, projected)),
        "text": b"<IvectorExtractor> <w>  [\n  0.5 -0.25 ]\n<w_vec>  [ ]\n<M> 1  [\n"
        b"  1.0 0.5 \n  2.0 -1.0 ]\n<SigmaInv> [\n2.0 \n0.5 1.0 ]\n"
        b"<IvectorOffset> 20.5 </IvectorExtractor> ",
    }
    kept["kaldi-options"] = {
        "mfcc": b"--sample-frequency=8000 # Hz\n--num-ceps=20\n--snip-edges=false\n"
        b"--window-type=hamming\n--high-freq=-300\n--use_energy\n",
        "vad": b"--vad-energy-threshold=5.5\n--vad-frames-context=2\n",
        "deltas": b"--delta-window=3 --delta-order=2",
    }
    nets = {make.__name__: make() for make in nnet3_files().NETS}
    kept["nnet3"] = {f"{name}-binary": net.binary for name, net in nets.items()}
    kept["nnet3"]["plain-text"] = nets["plain_tdnn"].text
    kept["nnet3"]["descriptors-text"] = nets["descriptors"].text
    kept["nnet3-config"] = {
        "output": b"# the embedding\noutput-node name=output input=tdnn6.affine\n",
        "graph": nets["descriptors"].graph.encode(),
    }
    kept["transform"] = {
        "matrix": b"\0BFM \4\1\0\0\0\4\2\0\0\0" + struct.pack("<ff", 1.0, 2.0),
        "text": b" [\n  1 2 3\n  4 5 6 ]\n",
        "mean": b"\0BDV \4\2\0\0\0" + struct.pack("<dd", 1.0, 2.0),
        "npz": npz(mean1=np.zeros(2), lda=np.eye(2), mean2=np.zeros(2)),
    }
    kept["transform-parts"] = {
        "plain": parts(mean1=np.zeros(2), lda=np.eye(2), mean2=np.zeros(2))
    }
    kept["model"] = {"plain": written(lambda p: write_model(p, found))}
    kept["model-parts"] = {
        "ivectors": parts(words=words, **found.arrays),
        "backend": parts(
            words=np.array('{"kind": "plda", "extractor": null, "notes": {}}'),
            **_backend(),
        ),
    }
    kept["data-dir"] = {
        "plain": b"".join(
            MARK + name + b"\n" + text[key].encode()
            for name, key in (
                (b"wav.scp", "wav-scp"), (b"segments", "segments"),
                (b"utt2spk", "utt2spk"), (b"spk2utt", "spk2utt"),
                (b"reco2dur", "reco2dur"),
            )
        )
    }  # fmt: skip
    kept["wav"] = {
        "pcm": sound(".wav"),
        "float": sound(".wav", subtype="FLOAT"),
        "ulaw": sound(".wav", subtype="ULAW"),
        "adpcm": sound(".wav", subtype="IMA_ADPCM"),
        **{name: sound(f".{name}") for name in ("aiff", "au", "w64")},
        "rf64": sound(".wav", format="RF64"),
    }
    kept["flac"] = {"plain": sound(".flac")}
    kept["ogg"] = {"plain": sound(".ogg")}
    kept["sphere"] = {coding: sphere(coding) for coding in ("pcm", "ulaw", "alaw")}
    kept["shorten"] = {
        "pcm": shortened(3, "pcm"),
        "old": shortened(5, "pcm", version=1),
        "ulaw": shortened(8, "ulaw"),
        "alaw": shortened(9, "alaw", version=3),
    }
    kept["onnx"] = {"plain": onnx()}
    program = pickle.dumps({"a": [1, 2.0, "x"], "b": (None, True)}, protocol=2)
    kept["torch-parts"] = {
        "plain": MARK + b"x/data.pkl\n" + program + MARK + b"x/data/0\n" + bytes(16)
    }
    kept["torch"] = {"plain": npz(a=ROWS)}
    kept["torch-checkpoint"] = {
        "plain": MARK
        + b"x/data.pkl\n"
        + _checkpoint()
        + MARK
        + b"x/data/0\n"
        + bytes(16)
    }
    return kept | _optional()


def _checkpoint() -> bytes:
    """A pickle of a tensor of shape (2, 2), beside an object, a number and a list."""

    def word(text: str) -> bytes:
        return b"X" + struct.pack("<I", len(text)) + text.encode()

    empty = b"ccollections\nOrderedDict\n)R"
    storage = b"(" + word("storage") + b"ctorch\nFloatStorage\n" + word("0")
    storage += word("cpu") + b"K\x04tQ"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage
    tensor += b"K\x00K\x02K\x02\x86K\x02K\x01\x86\x89" + empty + b"tR"
    items = {
        "loss": b"G" + struct.pack(">d", 0.5),
        "epochs": b"](K\x01K\x02e",
        "task": b"ctyping\nAny\n)\x81}" + word("name") + b"Nsb",
        "state_dict": empty + b"(" + word("a") + tensor + b"u",
    }
    pairs = b"".join(word(name) + value for name, value in items.items())
    return b"\x80\x02}(" + pairs + b"u."


def _backend() -> dict[str, np.ndarray]:
    from sms_diar.preprocessing import FoldedChain
    from sms_diar.scoring.backend import build_backend

    model = PldaModel(np.zeros(2), np.eye(2), np.ones(2))
    return dict(build_backend(FoldedChain(np.eye(2), np.zeros(2)), model).arrays())


def _optional() -> dict[str, dict[str, bytes]]:
    import h5py
    import pandas as pd

    frame = pd.DataFrame(ROWS, columns=["x0", "x1"])
    frame.insert(0, "id", IDS)

    def hdf5(path: Path) -> None:
        with h5py.File(path, "w") as file:
            file["mean1"], file["mean2"], file["lda"] = (
                np.zeros(2),
                np.zeros(2),
                np.eye(2),
            )

    def stat_server(path: Path) -> None:
        with h5py.File(path, "w") as file:
            file["modelset"] = file["segset"] = np.array(IDS, dtype="S")
            file["start"] = file["stop"] = np.zeros(3, np.int32)
            file["stat0"], file["stat1"] = np.ones((3, 1)), ROWS

    def scores(path: Path) -> None:
        with h5py.File(path, "w") as file:
            file["modelset"] = file["leftids"] = np.array(["m1", "m2"], dtype="S")
            file["segset"] = file["rightids"] = np.array(["a", "b"], dtype="S")
            file["trial_mask"] = np.array([[1, -1], [0, 1]], np.int8)
            file["score_mask"], file["scores"] = np.ones((2, 2), np.int8), np.eye(2)

    def matlab(path: Path) -> None:
        with h5py.File(path, "w", userblock_size=512) as file:
            file["ivs"] = ROWS
            texts = [np.array([[ord(name[0])]], np.uint16) for name in IDS]
            cells = [file.create_dataset(f"#refs#/{i}", data=t).ref
                     for i, t in enumerate(texts)]  # fmt: skip
            file["ids"] = np.array([cells], dtype=h5py.ref_dtype)
            file["ids"].attrs["MATLAB_class"] = np.bytes_("cell")

    return {
        "sidekit": {
            "stat-server": written(stat_server, ".h5"),
            "scores": written(scores, ".h5"),
        },
        "mat-h5": {
            "plain": b"MATLAB 7.3 MAT-file".ljust(512) + written(matlab, ".mat")[512:]
        },
        "parquet": {"plain": written(frame.to_parquet, ".parquet")},
        "transform-h5": {"plain": written(hdf5, ".h5")},
    }


def main() -> None:
    """Write them; what else is there stays."""
    for reader, files in seeds().items():
        folder = CORPUS / reader
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
