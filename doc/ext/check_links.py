"""Check that each internal link of the built manual leads to a page and an anchor.

Run: python doc/ext/check_links.py doc/build/html. It prints each broken link, and sends no request.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors and the links of a page."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = {'', 'top'}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.add(values.get('id'))
        self.links += filter(None, [values.get('href'), values.get('src')])


def broken(root):
    """Return the page and the target of each internal link that leads nowhere."""
    pages = {path: Page(path.read_text(encoding='utf-8')) for path in root.rglob('*.html')}
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else {'', unquote(parts.fragment)}
            if not target.exists() or unquote(parts.fragment) not in anchors:
                found.append((path.relative_to(root), link))
    return found


if __name__ == '__main__':
    links = broken(Path(sys.argv[1]).resolve())
    sys.exit('\n'.join(f'{page}: broken link {link}' for page, link in links) or 0)
