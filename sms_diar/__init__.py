"""Speaker diarization and clustering by stochastic mean shift.

What most callers need is here::

    sms_diar.diarize("call.wav")              who spoke when
    sms_diar.cluster("xvectors.ark", ...)     embeddings to speakers
    sms_diar.score("ref.rttm", "hyp.rttm")    how well
    sms_diar.report_page("hyp.rttm", ...)     a page to look at and listen to
    sms_diar.simulate("data/train", ...)      conversations with their reference

They take the paths and options of the commands of the same names, or values, and
return what the commands print. `read_turns`, `write_turns`, `read_rttm`, `write_rttm`,
`read_uem` and `read_embeddings` read and write; `Segment`, `Turn` and `EmbeddingSet`
are what they give. Within `scheduler` a Dask cluster does the work. Errors that input
can cause derive from `SmsDiarError`.

Behind them is a pipeline, and the folders are its stages in order::

    timeline -> io -> networks -> features -> embeddings -> preprocessing -> scoring
             -> synthetic, datasets -> clustering -> metrics -> report
             -> pipeline -> experiment -> studies -> cli

A module may import from stages to its left, never from stages to its right.
Start reading at :mod:`sms_diar.types`, the few values that travel along, and
:mod:`sms_diar.clustering.points._reference`, the algorithms as the paper writes them.
Importing the package itself is cheap; each name loads what it needs when it is first
used.
"""

from sms_diar._lazy import lazy_names as _lazy_names

__version__ = "0.1.0"

__all__ = [
    "EmbeddingSet",
    "Segment",
    "SmsDiarError",
    "Turn",
    "cluster",
    "diarize",
    "read_embeddings",
    "read_rttm",
    "read_turns",
    "read_uem",
    "report_page",
    "scheduler",
    "score",
    "simulate",
    "write_rttm",
    "write_turns",
]

TYPE_CHECKING = False  # as type checkers know it; importing typing takes long
if TYPE_CHECKING:
    from sms_diar._scheduler import scheduler
    from sms_diar.errors import SmsDiarError
    from sms_diar.io.annotation import read_turns
    from sms_diar.io.embeddings import read_embeddings
    from sms_diar.io.rttm import read_rttm, write_rttm
    from sms_diar.io.turn_formats import write_turns
    from sms_diar.io.uem import read_uem
    from sms_diar.pipeline.cluster.api import cluster
    from sms_diar.pipeline.diarize.api import diarize
    from sms_diar.pipeline.page.api import report_page
    from sms_diar.pipeline.score.api import score
    from sms_diar.pipeline.simulate.api import simulate
    from sms_diar.types import EmbeddingSet, Segment, Turn
else:
    __getattr__, __dir__ = _lazy_names(
        __name__,
        {
            "EmbeddingSet": "sms_diar.types",
            "Segment": "sms_diar.types",
            "SmsDiarError": "sms_diar.errors",
            "Turn": "sms_diar.types",
            "cluster": "sms_diar.pipeline.cluster.api",
            "diarize": "sms_diar.pipeline.diarize.api",
            "read_embeddings": "sms_diar.io.embeddings",
            "read_rttm": "sms_diar.io.rttm",
            "read_turns": "sms_diar.io.annotation",
            "read_uem": "sms_diar.io.uem",
            "report_page": "sms_diar.pipeline.page.api",
            "scheduler": "sms_diar._scheduler",
            "score": "sms_diar.pipeline.score.api",
            "simulate": "sms_diar.pipeline.simulate.api",
            "write_rttm": "sms_diar.io.rttm",
            "write_turns": "sms_diar.io.turn_formats",
        },
    )
