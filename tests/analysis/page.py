"""What there is in a page, as its reader finds it."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """What there is in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.count: dict[str, int] = {}
        self.tables: dict[str, list[list[str]]] = {}
        self._path: list[str] = []
        self._title = ""
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.count[tag] = self.count.get(tag, 0) + 1
        self.ids += [str(known["id"])] if "id" in known else []
        self.links += [str(known["href"])] if tag == "a" else []
        self.loads += [str(known[name]) for name in ("src", "data", "action") if name in known]
        self.loads += [str(known["href"])] if tag != "a" and "href" in known else []
        if tag not in {"meta", "br", "hr"}:
            self._path.append(tag)
        if tag in {"h2", "h3"}:
            self._title = ""
        if tag == "tr":
            self.tables.setdefault(self._title, []).append([])
        if tag in {"td", "th"}:
            self.tables[self._title][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._path.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data
        if "h3" in self._path:
            self._title += data
        if {"td", "th"} & set(self._path):
            self.tables[self._title][-1][-1] += data + " "
