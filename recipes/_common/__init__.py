"""Code that several recipes share.

* ``paper.py``: names of methods in the paper and in this package.
* ``settings.py``: settings that several recipes have.
* ``corpora.py``: corpora of read speech and the folder that holds them.
* ``nist.py``: answer keys, trials and costs of NIST's speaker recognition evaluations.
* ``sides.py``: sides of telephone conversations on disc, and their data directories.
* ``digests.py``: digests that detect changes of the input of a stage.
* ``extraction.py``: i-vectors, and the model that makes them.
* ``components.py``: dimensions of a back end, chosen by cross-validation.
* ``sessions.py``: sessions of drawn speakers, clustered by every method, and the
  corpora they are drawn from.
* ``statistics.py``: means over repetitions, and contests between two methods.
* ``speaker_report.py``, ``speaker_text.py``: stages and report of the paper's table of
  speakers.
* ``threads.py``: computation in one thread.
"""
