"""A page as a parser reads it, what may stand in one, and words that try to put more there."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input"}
SELF_CLOSING = {"line", "circle", "rect", "path", "polygon", "polyline"}
TAGS = """
html head meta title style body header main nav code section article h1 h2 h3 h4 h5 h6 p a bdi span strong div
figure figcaption
em table caption thead tbody tr th td dl dt dd ul li details summary blockquote
q svg line circle rect path polygon polyline text
"""
ATTRIBUTES = """
lang charset name content http-equiv id class href aria-label aria-labelledby aria-hidden role dir scope colspan open
data-title x y x1 x2 y1 y2 cx cy r d dy width height points opacity overflow transform text-anchor viewbox
"""
# Elements that end a line of words.
ENDING = "title p blockquote li dt tr h1 h2 h3 h4 h5 h6 caption figcaption summary"
LINES = set(ENDING.split())
ALLOWED, ALLOWED_ATTRIBUTES = set(TAGS.split()), set(ATTRIBUTES.split())

HOSTILE = (
    "<script>document.title='pwned'</script></style></title><img src=http://tracker.example/x onerror=alert(1)> "
    "\"'><svg onload=alert(2)> {{ 7*7 }} &lt;b&gt; \u202eturned\u2066 \ud83d \x1b[31m \x00 <!-- ]]> </article></main>"
)


@dataclass
class Page(HTMLParser):
    """A page as a parser reads it: its tags, attributes, words, and whether they are closed in order."""

    text: str
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    content: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in SELF_CLOSING
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in LINES:
            self.words.append("\n")

    def handle_data(self, data: str) -> None:
        for tag in self.open:
            self.content.setdefault(tag, []).append(data)
        if "style" not in self.open:
            self.words.append(" ".join(data.split()))

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    @property
    def reading(self) -> str:
        """The words of the page, wherever its lines end."""
        return " ".join(" ".join(self.words).split())

    @property
    def lines(self) -> list[str]:
        """The words of each paragraph, heading, item of a list and row of a table."""
        return [line for part in " ".join(self.words).split("\n") if (line := " ".join(part.split()))]

    def having(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]
