"""Results to things people look at.

::

    tables         rows of cells as plain text, Markdown, LaTeX, CSV
    figures        drawings, by matplotlib
    provenance     where a result came from
    score_tables   scores of turns as tables
    score_report   all that is told about scores of turns, as text and plain values
    error_rttm     where the errors are
    label_report   all that is told about scores of labels
"""
