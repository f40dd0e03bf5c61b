#!/bin/sh
# CascadeMG beside PETSc and hypre on the same matrices in one run, two threads or processes each.
# usage: benchmarks/peers.sh BUILD_DIR [CELLS [DISTORT]] ; JSON lines on standard output
set -eu
build=${1:?build directory}
cells=${2:-128}
distort=${3:-0}
export OMP_NUM_THREADS=2
# pages that a guest has never touched cost seconds, which would fall to whoever comes first
python3 -c "b'1' * int(0.7 * 1024 * [int(l.split()[1]) for l in open('/proc/meminfo') if l.startswith('MemAvailable')][0])"
solve() { "$build/benchmarks/bench_solve" --cells "$cells" --distort "$distort" --threads 2 "$@"; }
for format in auto sell; do
  for precision in fp64 mixed; do
    solve --precision $precision --format $format
  done
done
if [ "$distort" != 0 ]; then
  for smoother in jacobi spai chebyshev4:degree=2; do
    for values in full fp16 fp8; do
      solve --precision mixed --format compressed --values $values --smoother $smoother
    done
  done
fi
if [ -x "$build/benchmarks/bench_peers" ]; then
  OMP_NUM_THREADS=1 mpirun --allow-run-as-root --oversubscribe -n 2 "$build/benchmarks/bench_peers" --cells "$cells" \
    --distort "$distort"
  OMP_NUM_THREADS=1 mpirun --allow-run-as-root --oversubscribe -n 2 "$build/benchmarks/bench_hypre" --cells "$cells" \
    --distort "$distort" --smg 1
else
  echo "bench_peers was not built: PETSc is missing" >&2
fi
