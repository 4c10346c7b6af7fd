"""Tables, figures and pages that present results.

::

    tables         tables as plain text, Markdown, LaTeX, CSV
    figures        figures, drawn by matplotlib, and their styles
    provenance     version, seed and machine of a result
    score_tables   scores of turns as tables
    score_report   reports on turns and on labels: text, plain values, RTTM of errors
    page_data      content of a report page
    html_page      HTML of the page, from the template, style and script in page/
    turn_views     notebook, pandas, pyannote and matplotlib views of turns
"""
