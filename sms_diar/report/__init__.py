"""Results to things people look at.

::

    tables         rows of cells as plain text, Markdown, LaTeX, CSV
    figures        drawings, by matplotlib
    provenance     where a result came from
    score_tables   scores of turns as tables
    score_report   the report on turns: text and plain values
    error_rttm     where the errors are
    label_report   the report on labels
    page_data      what a report page shows
    html_page      the page, of the template, style and script in page/
    timeline_svg   turns as a small picture for notebooks
    turn_views     what results with turns can be looked at as
"""
