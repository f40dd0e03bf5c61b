"""A hook of mkdocs: formulas, which arithmatex has marked, become MathML, which browsers set without a script."""
import html
import re

import latex2mathml.converter

MARKED = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.S)


def on_page_content(content, **_):
    return MARKED.sub(lambda found: latex2mathml.converter.convert(
        html.unescape(found[3]), display="block" if found[2] == "[" else "inline"), content)
