"""Every table of measured figures is what benchmarks/tables.py makes of the result lines, and papers.py finds its lines."""
import os
import pathlib
import subprocess
import sys

root = pathlib.Path(os.environ["CMG_SOURCE_DIR"])
for script, cure in ((("benchmarks/tables.py", "--check"), "run benchmarks/tables.py"),
                     (("benchmarks/papers.py", "all"), "a line that it reads is gone")):
    done = subprocess.run([sys.executable, str(root / script[0]), *script[1:]], capture_output=True, text=True)
    print(done.stdout, done.stderr)
    if done.returncode != 0:
        sys.exit(f"{' '.join(script)} ended with {done.returncode}: {cure}")
