"""Every relative link of every Markdown page leads somewhere, headings that are linked to exist, and
the manifest of the preassembled sets is what their page says."""
import json
import os
import pathlib
import re
import sys

root = pathlib.Path(os.environ["CMG_SOURCE_DIR"])
faults = []
links = 0


def pages():
    """Pages of the repository, without what builds left in it."""
    for path in sorted(root.rglob("*.md")):
        parts = path.relative_to(root).parts
        if not any(p.startswith(("build", ".")) for p in parts[:-1]):
            yield path


def anchors(path):
    return {re.sub(r"[^\w\- ]", "", h).strip().lower().replace(" ", "-")
            for h in re.findall(r"^#+ (.*)$", path.read_text(), re.M)}


for page in pages():
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        links += 1
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists():
            faults.append(f"{page.relative_to(root)}: {target} does not exist")
        elif anchor and path.suffix == ".md" and anchor not in anchors(path):
            faults.append(f"{page.relative_to(root)}: {target}: no such heading")

sets = json.loads((root / "preassembled/manifest.json").read_text())["sets"]
table = (root / "preassembled/README.md").read_text()
for entry in sets:
    row = re.search(rf"^\| `{re.escape(entry['file'])}` \|([^|]*)\|([^|]*)\|([^|]*)\|", table, re.M)
    cells = " x ".join(str(c) for c in entry["cells"])
    told = [c.strip() for c in row.groups()] if row else None
    if told != [cells, str(entry["levels"]), str(entry["unknowns"])]:
        faults.append(f"preassembled/README.md: {entry['file']}: the page says {told}")

print("\n".join(faults))
print(f"{links} links, {len(sets)} sets, {len(faults)} faults")
sys.exit(1 if faults or links == 0 or not sets else 0)
