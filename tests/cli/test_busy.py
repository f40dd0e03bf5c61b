"""A solve beside a busy process takes about as long with all threads as with one. The factor is generous: what was wrong cost 40."""
import json
import os
import subprocess
import sys

import cli


class Busy(cli.Case):
    def seconds(self, h, *options):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "KMP_"))}
        subprocess.run([cli.TOOL, "solve", h, "--repeat", "9", "--json", self.path("j"), *options], check=True,
                       capture_output=True, timeout=120, env=dict(environment, OMP_NUM_THREADS="2"))
        with open(self.path("j")) as file:
            told = json.load(file)
        return sorted(told["solve_seconds_samples"])[4]

    def test_threads_give_way(self):
        h = self.path("h")
        self.good("generate", "--cells", "96", h)
        neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            for attempt in range(4):
                alone = self.seconds(h, "--threads", "1")
                shared = self.seconds(h)
                if shared < 5 * alone:
                    return
            self.fail(f"{shared:.4f} s with two threads, {alone:.4f} s with one")
        finally:
            neighbour.kill()
            neighbour.wait()


if __name__ == "__main__":
    cli.main()
