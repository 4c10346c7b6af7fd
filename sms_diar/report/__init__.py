"""Results to things people look at.

::

    tables         rows of cells as plain text, Markdown, LaTeX, CSV
    figures        drawings, by matplotlib
    provenance     where a result came from
    score_tables   scores of turns as tables
    score_report   the report on turns: text and plain values
    error_rttm     where the errors are
    label_report   the report on labels
"""
