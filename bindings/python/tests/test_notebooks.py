"""Every notebook of docs/notebooks runs, in less than a minute on two cores, and its page has output and pictures."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
NAMES = sorted(path.stem for path in (ROOT / "docs" / "notebooks").glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_notebook(name, tmp_path):
    pytest.importorskip("matplotlib")
    for module in re.findall(r"^(?:import|from) (skfem|pyamg)\b", (ROOT / "docs" / "notebooks" / f"{name}.py").read_text(), re.M):
        pytest.importorskip(module)
    done = subprocess.run([sys.executable, str(ROOT / "docs" / "site" / "notebooks.py"), str(tmp_path), name], capture_output=True,
                          text=True, env=dict(os.environ, OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive"), timeout=300)
    assert done.returncode == 0, done.stderr
    seconds = float(re.search(rf"{name}: ([\d.]+) s", done.stdout)[1])
    assert seconds < 60, f"{seconds} s"
    page = (tmp_path / f"{name}.md").read_text()
    pictures = re.findall(r"!\[Figure \d+\]\((\S+)\)", page)
    assert page.startswith("# ") and "```text" in page and pictures
    assert all((tmp_path / picture).stat().st_size > 5000 for picture in pictures)
    cells = json.loads((tmp_path / f"{name}.ipynb").read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    shown = [output["output_type"] for cell in code for output in cell["outputs"]]
    assert shown.count("display_data") == len(pictures) and "stream" in shown


def test_a_notebook_that_fails_is_reported(tmp_path):
    import importlib.util
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "docs" / "site" / "notebooks.py")
    notebooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notebooks)
    assert notebooks.cells("head\n# %% [markdown]\n# # One\n#\n# two\n# %%\nx = 1\n\nprint(x)\n") == [
        ("markdown", "# One\n\ntwo"), ("code", "x = 1\n\nprint(x)")]
    pytest.importorskip("matplotlib")
    (tmp_path / "wrong.py").write_text("# %%\nprint(1)\n# %%\nassert 1 == 2, 'no'\n")
    notebooks.NOTEBOOKS = str(tmp_path)
    with pytest.raises(AssertionError, match="no"):
        notebooks.run("wrong")
