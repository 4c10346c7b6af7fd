"""Settings of the documentation, which ``scripts/docs`` builds.

Documents that live beside the code are included where a page names them. Their links
are turned into links between pages (`PAGES`); those to files that have no page become
plain text.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import sms_diar

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))

from generated_pages import write_pages  # noqa: E402 it is beside this file

write_pages(DOCS / "generated")

project = "sms_diar"
author = "the authors of sms_diar"
project_copyright = "the authors of sms_diar; Apache-2.0"
version = release = sms_diar.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
]
exclude_patterns = ["**/README.md", "gallery", "generated/headline.md"]
copybutton_prompt_text = ">>> "  # copies the input, not the output
templates_path = ["_templates"]
highlight_language = "none"
default_role = "py:obj"
smartquotes = False  # "--" is the beginning of an option
nitpicky = False
suppress_warnings = ["config.cache"]  # the order of the gallery is a class

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say it in words
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = f"sms_diar {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "sms_diar"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages without neighbours need no list of them.
html_sidebars = {
    name: []
    for name in (
        *("index", "install", "glossary", "compare", "promises", "contributing"),
        *("changes", "generated/commands"),
    )
}


def enlarge_text(gallery_conf: dict[str, Any], fname: str) -> None:
    """Make text readable in thumbnails."""
    import matplotlib as mpl  # noqa: PLC0415 after the gallery has reset it

    mpl.rcParams.update({"font.size": 13, "figure.dpi": 110})


sphinx_gallery_conf = {
    "reset_modules": ("matplotlib", enlarge_text),
    "thumbnail_size": (880, 560),
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "ExampleTitleSortKey",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "write_computation_times": False,
    "show_memory": False,
    "download_all_examples": False,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "plot_gallery": "True",
}

# Examples must show the same on a machine that has the networks and on one that lacks
# them; matplotlib opens no window.
os.environ["MPLBACKEND"] = "agg"
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

# --- documents that live beside the code ---------------------------------------

PAGES = {
    "README.md": "/index.md",
    "CONTRIBUTING.md": "/contributing.md",
    "SECURITY.md": "/promises.md",
    "CHANGELOG.md": "/changes.md",
    "sms_diar/clustering/speakers/EVIDENCE.md": "/how/evidence.md",
    "sms_diar/metrics/diarization/CONVENTIONS.md": "/how/conventions.md",
    "sms_diar/pipeline/diarize/NEURAL.md": "/how/neural.md",
    "sms_diar/pipeline/identify/LINKING.md": "/how/linking.md",
    "sms_diar/networks/README.md": "/how/networks.md",
    "sms_diar/datasets/MODEL_CARD.md": "/how/model.md",
    "sms_diar/datasets/CONVERSATION.md": "/how/conversation.md",
    "benchmarks/RESULTS.md": "/results/speed.md",
    "benchmarks/RESULTS-features.md": "/results/speed-features.md",
    "benchmarks/RESULTS-scoring.md": "/results/speed-scoring.md",
    "benchmarks/compare/RESULTS.md": "/results/compare.md",
    "benchmarks/compare": "/results/compare-sessions.md",
    "recipes/README.md": "/use/recipes.md",
    **{
        f"recipes/{name}/RESULTS.md": f"/results/{name}.md"
        for name in ("conversations", "digits", "speakers", "synthetic")
    },
    **{
        f"recipes/{name}": f"/use/recipe-{name}.md"
        for name in (
            *("callhome", "conversations", "digits"),
            *("speakers", "sre", "synthetic", "telephone"),
        )
    },
}

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def rewrite_links(text: str, folder: Path) -> str:
    """Links of a document in `folder` as links of the pages."""

    def rewritten(link: re.Match[str]) -> str:
        picture, shown, target = link.groups()
        if "://" in target or target.startswith("#"):
            return link.group()
        place, _, anchor = target.partition("#")
        path = (folder / place).resolve().relative_to(ROOT).as_posix()
        if picture:
            return f"![{shown}](/../{path})"
        page = PAGES.get(path.removesuffix("/README.md"), PAGES.get(path))
        if page is None:
            return shown
        return f"[{shown}]({page}{'#' + anchor if anchor else ''})"

    return _LINK.sub(rewritten, text)


def include_read(
    app: Any, relative_path: Path, parent_docname: str, content: list[str]
) -> None:
    """Rewrite the links of what a page includes."""
    folder = (DOCS / relative_path).resolve().parent
    content[0] = rewrite_links(content[0], folder)


def setup(app: Any) -> None:
    """Connect the rewriting."""
    app.connect("include-read", include_read)
