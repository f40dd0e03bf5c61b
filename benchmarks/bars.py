"""Horizontal bars in panels, as SVG; plain Python."""

from xml.sax.saxutils import escape

COLOURS = ["#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#999944", "#bbbbbb", "#332288",
           "#88ccee", "#44aa99", "#ddcc77"]
WIDTH, LABEL, BAR, GAP, COLUMNS = 460, 150, 13, 34, 2


def draw(path, title, panels):
    """panels: {panel: {bar: value}}; every panel has its own scale, from zero."""
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    height = GAP + BAR * len(names)
    rows = (len(panels) + COLUMNS - 1) // COLUMNS
    size = (WIDTH * COLUMNS, 30 + rows * height)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" '
           f'height="{size[1]}" font-family="sans-serif" font-size="11">',
           f'<rect width="{size[0]}" height="{size[1]}" fill="white"/>',
           f'<text x="10" y="20" font-size="14">{escape(title)}</text>']
    for k, (panel, values) in enumerate(panels.items()):
        left, top = WIDTH * (k % COLUMNS), 30 + height * (k // COLUMNS)
        longest = max(values.values())
        out.append(f'<text x="{left + LABEL}" y="{top + 16}" font-weight="bold">{escape(panel)}</text>')
        for i, name in enumerate(names):
            y = top + 22 + BAR * i
            value = values.get(name)
            text = "-" if value is None else f"{value:.3g}"
            length = 0 if value is None else (WIDTH - LABEL - 60) * value / longest
            bold = ' font-weight="bold"' if value is not None and value == min(values.values()) else ""
            out.append(f'<text x="{left + LABEL - 5}" y="{y + 9}" text-anchor="end">{escape(name)}</text>')
            out.append(f'<rect x="{left + LABEL}" y="{y + 1}" width="{length:.1f}" height="{BAR - 3}" '
                       f'fill="{COLOURS[i % len(COLOURS)]}"/>')
            out.append(f'<text x="{left + LABEL + length + 4:.1f}" y="{y + 9}"{bold}>{text}</text>')
    with open(path, "w") as file:
        file.write("\n".join([*out, "</svg>", ""]))
