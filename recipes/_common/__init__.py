"""Code that several recipes share.

* ``paper.py``: the paper's names of methods, and ours.
* ``settings.py``: settings that several recipes have, each declared once.
* ``corpora.py``: corpora of read speech, as recipes use them.
* ``digests.py``: digests that detect changes of the input of a stage.
* ``extraction.py``: i-vectors within a recipe, and with which model.
* ``components.py``: dimensions of a back end, by cross-validation over speakers.
* ``prepared.py``: a corpus of embeddings and its back end, ready for sessions.
* ``sessions.py``: one session of drawn speakers, clustered by every method.
* ``statistics.py``: means over repetitions, contests between two methods.
* ``speaker_stages.py``, ``speaker_report.py``, ``speaker_tables.py``,
  ``speaker_text.py``: the stages and the report of the paper's table of speakers.
* ``threads.py``: figures that do not depend on the number of threads.
"""
