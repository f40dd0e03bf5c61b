"""The programs of docs/tutorials/*.md do what their page says: those in Python run, the one in C is built against the build
folder and run. A page whose modules are not here is left out, by name."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

source = pathlib.Path(os.environ["CMG_SOURCE_DIR"])
binary = pathlib.Path(os.environ["CMG_BINARY_DIR"])
environment = dict(os.environ, OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive")
MODULES = {"scikit-fem": ["numpy", "scipy", "skfem", "cffi", "cascademg"], "pyamg": ["numpy", "scipy", "pyamg", "cffi", "cascademg"],
           "petsc": ["numpy", "scipy"]}



def package(folder):
    """The package as a build with CMG_PYTHON left it, put together in `folder`; nothing where there is none."""
    built = binary / "bindings" / "python" / "cascademg"
    if (built / "libcascademg.so").exists():
        shutil.copytree(source / "bindings" / "python" / "cascademg", folder / "cascademg")
        shutil.copytree(built, folder / "cascademg", dirs_exist_ok=True)
        sys.path.insert(0, str(folder))
        environment["PYTHONPATH"] = str(folder)


def blocks(page, language):
    text = page.read_text(encoding="utf-8")
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S))


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment)
    print(f"$ {' '.join(str(c) for c in command)}\n{done.stdout}{done.stderr}", flush=True)
    if done.returncode != 0:
        sys.exit(f"ended with {done.returncode}")
    return done.stdout


def in_c(page):
    pathlib.Path("solve.c").write_text(blocks(page, "c"))
    pathlib.Path("CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(tutorial LANGUAGES C)\nset(CMAKE_C_STANDARD 11)\n"
        "find_package(cmg REQUIRED)\nadd_executable(solve solve.c)\ntarget_link_libraries(solve cmg::cmg)\n")
    run("cmake", "-S", ".", "-B", "build", f"-Dcmg_DIR={binary}", f"-DCMAKE_C_COMPILER={os.environ['CMG_C_COMPILER']}")
    run("cmake", "--build", "build")
    return run("build/solve")


made = tempfile.TemporaryDirectory()
package(pathlib.Path(made.name))
ran = 0
for page in sorted((source / "docs" / "tutorials").glob("*.md")):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if blocks(page, "c"):
            said = in_c(page)
        else:
            lost = [m for m in MODULES.get(page.stem, []) if importlib.util.find_spec(m) is None]
            if lost:
                print(f"{page.stem}: left out, without {', '.join(lost)}")
                continue
            pathlib.Path("program.py").write_text(blocks(page, "python"))
            said = run(sys.executable, "program.py")
        assert re.search(r"\d+ iterations|iterations, CascadeMG \d+", said), said
        ran += 1
        os.chdir("/")
print(f"{ran} tutorials ran")
sys.exit(0 if ran else 1)
