"""Tables, figures and pages that present results.

::

    tables         tables as plain text, Markdown, LaTeX, CSV
    figures        turns and DET curves drawn by matplotlib, and colours
    provenance     version, seed and machine of a result
    score_tables   scores of turns as tables
    score_report   reports on turns and on labels: text, plain values, RTTM of errors
    html_page      content of a report page, and its HTML from the files in page/
    turn_views     notebook, pandas, pyannote and matplotlib views of turns
"""
