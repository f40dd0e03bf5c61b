#!/bin/sh
# hypre on a GPU: CG with PFMG and with BoomerAMG on the problems of bench_first; JSON lines on standard output.
# usage: benchmarks/peers_gpu.sh HYPRE_PREFIX BUILD_DIR [SHARE] ; BUILD_DIR is configured and built here, SHARE 4 = sizes
# over 4, for a trial. HYPRE_PREFIX: hypre's own `cmake --install`, configured with
#   -DHYPRE_ENABLE_CUDA=ON -DHYPRE_ENABLE_MPI=OFF -DHYPRE_ENABLE_UMPIRE=OFF -DHYPRE_ENABLE_DEVICE_MALLOC_ASYNC=ON
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=${1:?prefix of hypre}
build=${2:?build directory}
share=${3:-1}
cmake -S "$here/.." -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMG_HYPRE_PREFIX="$prefix" >&2
cmake --build "$build" --parallel --target bench_hypre >&2
run() { "$build/benchmarks/bench_hypre" "$@" || echo "bench_hypre $* failed" >&2; }
for cells in 64 128 256; do
  run --cells $((cells / share))
  run --cells $((cells / share)) --drop 1
  run --cells $((cells / share)) --distort 0.4
done
run --cells $((160 / share)) --p1 1
