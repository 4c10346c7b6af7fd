"""A report page as HTML: one file that opens offline and asks nobody for anything.

Template, style and script are the files of ``page/``. The script draws on canvases by
itself. Drawing libraries whose script comes in a wheel were considered: plotly and
bokeh bring three to five megabytes, more than all the rest of a page, and set styles
in markup, which the content-security policy forbids; neither plays or edits turns.

Names are untrusted: they reach the page as JSON in which ``<`` is escaped, and the
script only ever makes text nodes of them. The policy allows the one script and the one
style by their digests, sound and pictures from the page itself, and no connection.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files

from sms_diar.report.page_data import DOUBTFUL, Page

_FOLDER = files("sms_diar.report") / "page"
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def render(page: Page, beside: Mapping[int, str] | None = None) -> str:
    """Text of the page.

    Parameters
    ----------
    page : Page
        What it shows.
    beside : mapping from int to str, optional
        Names of audio files that lie beside the page, by the place of their
        recording; the audio of the others is embedded.
    """
    links = beside or {}
    style, script = _part("page.css"), _part("page.js")
    blocks, recordings = [], []
    for place, one in enumerate(page.recordings):
        where = None
        if place in links:
            where = {"href": links[place]}
        elif one.audio is not None:
            where = {"id": f"audio-{place}", "type": one.audio.type}
            blocks.append(_audio_block(where["id"], one.audio.content))
        recordings.append(one.to_dict(where))
    content = {
        "title": page.title,
        "doubtful": DOUBTFUL,
        "recordings": recordings,
        "settings": _pairs(page.settings),
        "versions": _pairs(page.versions),
    }
    slots = {
        "policy": policy(style, script, beside=bool(links)),
        "title": html.escape(page.title),
        "style": style,
        "script": script,
        "data": script_json(content),
        "audio": "\n".join(blocks),
    }
    # In one pass: what is filled in is not searched for slots again.
    return _SLOT.sub(lambda found: slots[found[1]], _part("page.html"))


def policy(style: str, script: str, *, beside: bool = False) -> str:
    """Content-security policy of a page with this style and this script."""
    media = "blob: 'self' file:" if beside else "blob:"
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; "
        f"style-src '{_digest(style)}'; img-src data: blob:; media-src {media}; "
        f"base-uri 'none'; form-action 'none'"
    )


def script_json(value: object) -> str:
    """JSON that can stand in a script element, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    # Half a surrogate pair, which file names may hold, is no text in UTF-8.
    return text.encode("utf-8", "replace").decode("utf-8")


def _digest(text: str) -> str:
    found = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(found).decode('ascii')}"


def _audio_block(name: str, content: bytes) -> str:
    text = base64.b64encode(content).decode("ascii")
    return f'<script type="text/plain" id="{name}">{text}</script>'


def _pairs(values: Mapping[str, object]) -> Sequence[tuple[str, str]]:
    return [(str(name), str(value)) for name, value in values.items()]


def _part(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
