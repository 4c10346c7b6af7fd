"""Tables, figures and pages that present results.

::

    tables         tables as plain text, Markdown, LaTeX, CSV
    figures        figures, drawn by matplotlib
    styles         colours, markers and axis labels of figures
    provenance     version, seed and machine of a result
    score_tables   scores of turns as tables
    score_report   report on turns: text, plain values, RTTM of errors
    label_report   report on labels
    page_data      content of a report page
    html_page      HTML of the page, from the template, style and script in page/
    turn_views     notebook, pandas, pyannote and matplotlib views of turns
"""
