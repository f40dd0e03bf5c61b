#!/bin/sh
# Several GPUs of one host, each the device of a rank of one process: the same problem on 1, 2, 4, 8 of them (strong), and
# as much work for each as one has (weak), on a grid and on a distorted mesh. JSON lines of bench_ranks on standard output;
# numbers of GPUs that the host does not have are left out.
# usage: benchmarks/ranks.sh BUILD_DIR [CELLS] ; CELLS a side for one GPU, default 256
set -u
build=${1:?build directory}
cells=${2:-256}
devices=$(nvidia-smi --list-gpus 2>/dev/null | wc -l)
run() { "$build/benchmarks/bench_ranks" --backend cuda --precision mixed --format compressed --repeat 5 "$@"; }
for ranks in 1 2 4 8; do
  [ "$ranks" -le "$devices" ] || break
  # the side of a cube with `ranks` times the cells, a multiple of 32 so that five levels halve it
  weak=$(awk -v n="$cells" -v r="$ranks" 'BEGIN { print 32 * int(n * r ^ (1 / 3) / 32 + 0.5) }')
  for distort in 0 0.4; do
    run --ranks "$ranks" --cells "$cells" --distort "$distort"
    [ "$ranks" = 1 ] || run --ranks "$ranks" --cells "$weak" --distort "$distort"
  done
done
