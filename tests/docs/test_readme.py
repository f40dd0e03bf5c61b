"""The programs of the README do what it says: the second Python one writes a hierarchy, the C one, built as a consumer of
the build folder, solves it, and so does the command. The first needs the package: its own tests run it."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

source = pathlib.Path(os.environ["CMG_SOURCE_DIR"])
binary = pathlib.Path(os.environ["CMG_BINARY_DIR"])
readme = (source / "README.md").read_text()


def block(language, word):
    """The one program in a language that has the word."""
    found = [text for text in re.findall(rf"^```{language}\n(.*?)^```", readme, re.M | re.S) if word in text]
    assert len(found) == 1, f"{len(found)} blocks of {language} with {word} in the README"
    return found[0]


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    print(f"$ {' '.join(str(c) for c in command)}\n{done.stdout}{done.stderr}")
    if done.returncode != 0:
        sys.exit(f"ended with {done.returncode}")
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pathlib.Path("write.py").write_text(block("python", "h5py"))
    pathlib.Path("solve.c").write_text(block("c", "cmg.h"))
    pathlib.Path("CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(readme LANGUAGES C)\nfind_package(cmg REQUIRED)\n"
        "add_executable(solve solve.c)\ntarget_link_libraries(solve cmg::cmg)\n")
    run(sys.executable, "write.py")
    run("cmake", "-S", ".", "-B", "build", f"-Dcmg_DIR={binary}", f"-DCMAKE_C_COMPILER={os.environ['CMG_C_COMPILER']}")
    run("cmake", "--build", "build")
    said = run("build/solve")
    residual = float(re.search(r"relative residual (\S+)", said).group(1))
    assert residual <= 1e-8, residual
    run(os.environ["CMG_TOOL"], "info", "poisson.cmg")
    run(os.environ["CMG_TOOL"], "solve", "poisson.cmg", "--json", "solve.json")
    report = json.loads(pathlib.Path("solve.json").read_text())
    assert report["unknowns"] == 1023 and report["relative_residual"] <= 1e-8, report
