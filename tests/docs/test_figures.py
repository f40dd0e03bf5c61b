"""Every table of measured figures is what benchmarks/tables.py makes of the result lines, and papers.py has its tables."""
import os
import pathlib
import subprocess
import sys

benchmarks = pathlib.Path(os.environ["CMG_SOURCE_DIR"]) / "benchmarks"
for script in (("tables.py", "--check"),):
    done = subprocess.run([sys.executable, str(benchmarks / script[0]), *script[1:]], capture_output=True, text=True)
    print(done.stdout, done.stderr)
    if done.returncode != 0:
        sys.exit(f"{' '.join(script)} ended with {done.returncode}: run benchmarks/tables.py")
