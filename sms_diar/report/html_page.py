"""Report page as a single HTML file that works offline.

Template, style and script are in ``page/``. The script draws on canvases without a
library: plotly and bokeh would add three to five megabytes, more than the rest of a
page, and set inline styles, which the content-security policy forbids; neither plays or
edits turns.

Names are untrusted. They are passed as JSON with ``<`` escaped, and the script inserts
them as text nodes only. The policy allows one script and one style by their digests,
sound and pictures of the page itself, and no connections.
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
    """Render a page as HTML.

    `beside` names audio files in the folder of the page by the index of their
    recording; the audio of other recordings is embedded.
    """
    links = beside or {}
    style, script = _part("page.css"), _part("page.js")
    blocks, recordings = [], []
    for index, recording in enumerate(page.recordings):
        source = None
        if index in links:
            source = {"href": links[index]}
        elif recording.audio is not None:
            source = {"id": f"audio-{index}", "type": recording.audio.type}
            blocks.append(_audio_block(source["id"], recording.audio.content))
        recordings.append(recording.to_dict(source))
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
    # Replace all slots in one pass, because inserted text may look like a slot.
    return _SLOT.sub(lambda match: slots[match[1]], _part("page.html"))


def policy(style: str, script: str, *, beside: bool = False) -> str:
    """Make the content-security policy of a page with this style and script."""
    media = "blob: 'self' file:" if beside else "blob:"
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; "
        f"style-src '{_digest(style)}'; img-src data: blob:; media-src {media}; "
        f"base-uri 'none'; form-action 'none'"
    )


def script_json(value: object) -> str:
    """Convert to JSON that is safe inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    # File names may contain lone surrogates, which UTF-8 cannot encode.
    return text.encode("utf-8", "replace").decode("utf-8")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _audio_block(name: str, content: bytes) -> str:
    text = base64.b64encode(content).decode("ascii")
    return f'<script type="text/plain" id="{name}">{text}</script>'


def _pairs(values: Mapping[str, object]) -> Sequence[tuple[str, str]]:
    return [(str(name), str(value)) for name, value in values.items()]


def _part(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
