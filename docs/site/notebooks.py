"""Notebooks: runs docs/notebooks/*.py and writes each as a page with its output and as a file for Jupyter.

    notebooks.py FOLDER [NAME ...]      FOLDER/NAME.md, NAME.ipynb and the pictures; all of them by default

A notebook is a Python program in the percent form that Jupyter (by jupytext), VS Code, PyCharm and Spyder open: "# %%"
begins a cell of code, "# %% [markdown]" one of text. The cells run in order in one namespace; what a cell prints, and the
figures of matplotlib that are open at its end, stand below it. A cell that raises ends the run with status 1.
"""
import base64
import contextlib
import io
import json
import os
import re
import sys
import time
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOTEBOOKS = os.path.join(ROOT, "docs", "notebooks")


def names():
    return sorted(name[:-3] for name in os.listdir(NOTEBOOKS) if name.endswith(".py"))


def cells(text):
    """[(kind, source)] of a program, kind "markdown" or "code"; what stands before the first mark is left out."""
    found = []
    for part in re.split(r"^# %%", text, flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        if "[markdown]" in head:
            lines = [re.sub(r"^# ?", "", line) for line in body.strip("\n").split("\n")]
            found.append(("markdown", "\n".join(lines).strip("\n")))
        else:
            found.append(("code", body.strip("\n")))
    return found


def figures(pyplot):
    """PNG files of the figures that are open, which are closed."""
    found = []
    for number in pyplot.get_fignums():
        stream = io.BytesIO()
        pyplot.figure(number).savefig(stream, format="png", dpi=110, bbox_inches="tight")
        found.append(stream.getvalue())
    pyplot.close("all")
    return found


def run(name):
    """[(kind, source, printed, pictures)] of a notebook, and its seconds."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    path = os.path.join(NOTEBOOKS, name + ".py")
    with open(path, encoding="utf-8") as file:
        parts = cells(file.read())
    space, out, begin = {"__name__": "__main__", "__file__": path}, [], time.perf_counter()
    warnings.simplefilter("error", UserWarning)  # a solve that does not converge ends the notebook
    for kind, source in parts:
        printed = io.StringIO()
        if kind == "code":
            with contextlib.redirect_stdout(printed):
                exec(compile(source, f"{name}.py", "exec"), space)
        out.append((kind, source, printed.getvalue(), figures(pyplot) if kind == "code" else []))
    return out, time.perf_counter() - begin


def page(name, parts):
    """Markdown of a notebook that has run, and {file: picture}."""
    out, pictures = [], {}
    for kind, source, printed, images in parts:
        if kind == "markdown":
            out += [source, ""]
            continue
        out += ["```python", source, "```", ""]
        if printed.strip():
            out += ['<div class="output" markdown>', "", "```text", printed.rstrip(), "```", "", "</div>", ""]
        for image in images:
            file = f"{name}-{len(pictures) + 1}.png"
            pictures[file] = image
            out += [f"![Figure {len(pictures)}]({file})", ""]
    out += [f"[Open in Jupyter]({name}.ipynb){{ download }}", ""]
    return "\n".join(out), pictures


def jupyter(parts):
    """The notebook as Jupyter keeps it, output included."""
    def lines(text):
        return text.splitlines(keepends=True)
    made, count = [], 0
    for k, (kind, source, printed, images) in enumerate(parts):
        cell = {"cell_type": kind, "id": f"cell-{k}", "metadata": {}, "source": lines(source)}
        if kind == "code":
            count += 1
            outputs = [{"output_type": "stream", "name": "stdout", "text": lines(printed)}] if printed else []
            outputs += [{"output_type": "display_data", "metadata": {}, "data": {
                "image/png": base64.b64encode(image).decode(), "text/plain": ["<Figure>"]}} for image in images]
            cell.update(execution_count=count, outputs=outputs)
        made.append(cell)
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def main():
    folder, wanted = sys.argv[1], sys.argv[2:] or names()
    os.makedirs(folder, exist_ok=True)
    for name in wanted:
        parts, seconds = run(name)
        text, pictures = page(name, parts)
        for file, content in [(f"{name}.md", text.encode()), (f"{name}.ipynb", jupyter(parts).encode()), *pictures.items()]:
            with open(os.path.join(folder, file), "wb") as stream:
                stream.write(content)
        print(f"{name}: {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
