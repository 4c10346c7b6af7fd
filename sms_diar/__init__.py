"""Speaker diarization and clustering by stochastic mean shift.

The main functions::

    sms_diar.diarize("call.wav")              speaker diarization
    sms_diar.cluster("xvectors.ark", ...)     clustering of embeddings
    sms_diar.transcribe("call.wav", model)    speech recognition
    sms_diar.transcript("call.wav", words)    who said each word
    sms_diar.score("ref.rttm", "hyp.rttm")    evaluation
    sms_diar.report_page("hyp.rttm", ...)     HTML page with audio player
    sms_diar.simulate("data/train", ...)      conversations with reference

They take the paths and options of the commands with the same names, or values, and
return what the commands print. `read_turns`, `write_turns`, `read_rttm`, `write_rttm`,
`read_uem`, `read_transcript`, `write_transcript` and `read_embeddings` read and write
files; `Segment`, `Turn`, `Word`, `Phrase`, `Transcript` and `EmbeddingSet` are their
data types. Inside a `scheduler` block the work is done by a
Dask cluster. Errors caused by input derive from `SmsDiarError`.

The implementation is a pipeline, and the folders are its stages in order::

    timeline -> io -> networks -> features -> embeddings -> preprocessing -> scoring
             -> synthetic, datasets -> clustering -> metrics -> report
             -> pipeline -> experiment -> cli

A module may import from stages to its left, never from stages to its right.
Start reading at :mod:`sms_diar.types`, the common data types, and
:mod:`sms_diar.clustering.points._reference`, the algorithms as in the paper. Importing
the package is cheap; each name loads its module on first use.
"""

from sms_diar._lazy import lazy_names as _lazy_names

__version__ = "0.1.0"

__all__ = [
    "EmbeddingSet",
    "Phrase",
    "Segment",
    "SmsDiarError",
    "Transcript",
    "Turn",
    "Word",
    "cluster",
    "diarize",
    "read_embeddings",
    "read_rttm",
    "read_transcript",
    "read_turns",
    "read_uem",
    "report_page",
    "scheduler",
    "score",
    "score_words",
    "simulate",
    "transcribe",
    "transcript",
    "write_rttm",
    "write_transcript",
    "write_turns",
]

TYPE_CHECKING = False  # recognised by type checkers; importing typing is slow
if TYPE_CHECKING:
    from sms_diar._scheduler import scheduler
    from sms_diar.errors import SmsDiarError
    from sms_diar.io.embeddings.files import read_embeddings
    from sms_diar.io.transcripts.files import read_transcript, write_transcript
    from sms_diar.io.turns.files import read_turns, write_turns
    from sms_diar.io.turns.rttm import read_rttm, write_rttm
    from sms_diar.io.turns.uem import read_uem
    from sms_diar.pipeline.cluster.api import cluster
    from sms_diar.pipeline.diarize.api import diarize
    from sms_diar.pipeline.page.api import report_page
    from sms_diar.pipeline.score.api import score, score_words
    from sms_diar.pipeline.simulate.api import simulate
    from sms_diar.pipeline.transcribe.api import transcribe
    from sms_diar.pipeline.transcript.api import transcript
    from sms_diar.timeline.transcript import Phrase, Transcript, Word
    from sms_diar.types import EmbeddingSet, Segment, Turn
else:
    __getattr__, __dir__ = _lazy_names(
        __name__,
        {
            "EmbeddingSet": "sms_diar.types",
            "Phrase": "sms_diar.timeline.transcript",
            "Segment": "sms_diar.types",
            "SmsDiarError": "sms_diar.errors",
            "Transcript": "sms_diar.timeline.transcript",
            "Turn": "sms_diar.types",
            "Word": "sms_diar.timeline.transcript",
            "cluster": "sms_diar.pipeline.cluster.api",
            "diarize": "sms_diar.pipeline.diarize.api",
            "read_embeddings": "sms_diar.io.embeddings.files",
            "read_rttm": "sms_diar.io.turns.rttm",
            "read_transcript": "sms_diar.io.transcripts.files",
            "read_turns": "sms_diar.io.turns.files",
            "read_uem": "sms_diar.io.turns.uem",
            "report_page": "sms_diar.pipeline.page.api",
            "scheduler": "sms_diar._scheduler",
            "score": "sms_diar.pipeline.score.api",
            "score_words": "sms_diar.pipeline.score.api",
            "simulate": "sms_diar.pipeline.simulate.api",
            "transcribe": "sms_diar.pipeline.transcribe.api",
            "transcript": "sms_diar.pipeline.transcript.api",
            "write_rttm": "sms_diar.io.turns.rttm",
            "write_transcript": "sms_diar.io.transcripts.files",
            "write_turns": "sms_diar.io.turns.files",
        },
    )
