"""Every relative link of every Markdown page leads somewhere, and headings that are linked to exist."""
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

print("\n".join(faults))
print(f"{links} links, {len(faults)} faults")
sys.exit(1 if faults or links == 0 else 0)
