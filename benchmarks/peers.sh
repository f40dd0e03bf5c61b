#!/bin/sh
# CascadeMG beside PETSc and hypre on the same matrices in one run, two threads or processes each.
# usage: benchmarks/peers.sh BUILD_DIR [CELLS] ; JSON lines on standard output
set -eu
build=${1:?build directory}
cells=${2:-128}
export OMP_NUM_THREADS=2
for format in auto sell; do
  for precision in fp64 mixed; do
    "$build/benchmarks/bench_solve" --cells "$cells" --threads 2 --precision $precision --format $format
  done
done
if [ -x "$build/benchmarks/bench_peers" ]; then
  OMP_NUM_THREADS=1 mpirun --allow-run-as-root --oversubscribe -n 2 "$build/benchmarks/bench_peers" --cells "$cells"
else
  echo "bench_peers was not built: PETSc is missing" >&2
fi
