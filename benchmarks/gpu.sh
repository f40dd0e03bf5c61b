#!/bin/sh
# The figures on one GPU: solves at several sizes and storages, products with finite-element matrices of
# many kinds, a distorted mesh, the host's cores beside the GPU. JSON lines on standard output.
# usage: benchmarks/gpu.sh BUILD_DIR [solve|spmv|distorted|others|spai|host|auto|alpha]... [statistics=FILE]
# auto: what --format auto takes against tune, on all elements and look-alikes; alpha: break-even of conversions on
# look-alikes. Both print a table last, and take the row statistics of the originals (benchmarks/look_alikes.py), without
# which look-alikes are left out.
set -u
build=${1:?build directory}
shift
statistics=
parts=
for word in "$@"; do
  case $word in
  statistics=*) statistics=${word#statistics=} ;;
  *) parts="$parts $word" ;;
  esac
done
[ -n "$parts" ] || parts="solve spmv distorted others host"
here=$(dirname "$0")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
solve() { "$build/benchmarks/bench_solve" --backend cuda --repeat 11 "$@"; }

solve_part() {
  solve --cells 256
  "$build/tools/cmg" bench spmv --generate q1-3d:256,noisy-3d:256 --backend cuda --formats all \
    --values fp64,fp32,fp16,fp8 --json "$scratch/spmv.json" >&2
  tr -d '\n' <"$scratch/spmv.json"
  echo
  for cells in 256 128 64 32; do
    solve --cells $cells --format compressed
    solve --cells $cells --format compressed --precision mixed
    solve --cells $cells --format compressed --precision mixed --fuse-restriction 1
  done
  solve --cells 256 --format compressed --precision mixed --templates 0
  for values in fp16 fp8; do
    solve --cells 256 --format compressed --precision mixed --templates 0 --values $values
  done
  for cells in 4096 1024 100; do
    solve --dim 2 --cells $cells
    solve --dim 2 --cells $cells --format compressed --precision mixed
    solve --dim 2 --cells $cells --format compressed --precision mixed --fuse-restriction 1
  done
}

formats=all
least=20
# name, then the options of cmg generate; one level: the matrix alone
matrix() {
  name=$1
  shift
  "$build/tools/cmg" generate "$scratch/$name.cmg" --levels 1 --no-coords "$@" >&2 &&
    "$build/tools/cmg" bench spmv "$scratch/$name.cmg" --backend cuda --formats $formats --values fp64 \
      --sample-ms $least --json "$scratch/$name.json" >&2 && tr -d '\n' <"$scratch/$name.json" && echo
  rm -f "$scratch/$name.cmg"
}

elements() {
  matrix q1-3d-160-distorted --element q1 --dim 3 --cells 160 --distort 0.4
  matrix q1-2d-2048 --element q1 --dim 2 --cells 2048 --distort 0.4
  matrix q2-3d-64 --element q2 --dim 3 --cells 64 --distort 0.4
  matrix q2-2d-1024 --element q2 --dim 2 --cells 1024 --distort 0.4
  matrix p1-3d-128 --element p1 --dim 3 --cells 128 --distort 0.4
  matrix p2-2d-1024 --element p2 --dim 2 --cells 1024 --distort 0.4
  matrix elasticity-q1-3d-64 --problem elasticity --element q1 --dim 3 --cells 64 --distort 0.4
  matrix elasticity-q2-2d-512 --problem elasticity --element q2 --dim 2 --cells 512 --distort 0.4
}

spmv_part() { elements; }

# every look-alike, or those named, with the options given first, as one JSON line each
look_alikes() {
  options=$1
  shift
  [ -n "$statistics" ] || { echo "no statistics=FILE: look-alikes are left out" >&2; return; }
  [ -d "$scratch/alike" ] || python3 "$here/look_alikes.py" "$statistics" "$scratch/alike" 2>/dev/null || return
  [ $# -gt 0 ] || set -- $(cd "$scratch/alike" && ls | sed 's/^alike-//; s/[.]petsc$//')
  for name in "$@"; do
    "$build/tools/cmg" bench spmv "$scratch/alike/alike-$name.petsc" --backend cuda --values fp64 --sample-ms 5 --samples 7 \
      $options --json - 2>/dev/null | tr -d '\n'
    echo
  done
}

auto_part() {
  {
    formats=auto,tune
    least=5
    "$build/tools/cmg" bench spmv --generate q1-2d:1024,q1-3d:128,noisy-2d:1024,noisy-3d:128,q1-3d:256,noisy-3d:256 \
      --backend cuda --formats auto,tune --values fp64,fp32 --sample-ms 5 --json - 2>/dev/null | tr -d '\n'
    echo
    elements 2>/dev/null
    look_alikes "--formats auto,tune"
  } | tee "$scratch/auto.jsonl"
  python3 "$here/tables.py" --print auto "$scratch/auto.jsonl"
}

# the matrices of Table 4 of Wong, Kuhl and Darve 2015, as far as they have look-alikes
alpha_part() {
  look_alikes "--formats cusparse-csr,k1,k2 --conversion" scircuit mac_econ_fwd500 mc2depi cop20k_A cant rma10 shipsec1 \
    consph pdb1HYS webbase-1M pwtk | tee "$scratch/alpha.jsonl"
  python3 "$here/tables.py" --print alpha "$scratch/alpha.jsonl"
}

# one line of a solve of $file
solve_file() {
  case "$*" in *--smoother*) ;; *) set -- "$@" --smoother jacobi ;; esac # what the recorded lines were made with
  case "$*" in *--krylov*) ;; *) set -- "$@" --krylov cg ;; esac
  "$build/tools/cmg" solve "$file" --backend cuda --repeat 7 "$@" --json "$scratch/solve.json" >&2
  tr -d '\n' <"$scratch/solve.json" | sed 's/"history": \[[^]]*\]/"history": []/'
  echo
}

# a mesh without two equal cells: storages, then smoothers
distorted_part() {
  file=$scratch/distorted.cmg
  "$build/tools/cmg" generate "$file" --dim 3 --cells 256 --levels 5 --distort 0.4 --coefficient smooth --no-coords >&2
  solve_file
  solve_file --format compressed
  solve_file --format compressed --precision mixed
  for values in fp16 fp8; do
    solve_file --format compressed --precision mixed --values $values
    for smoother in spai spai:tau=0 chebyshev4:degree=2; do
      solve_file --format compressed --precision mixed --values $values --smoother $smoother
    done
  done
  solve_file --format compressed --precision mixed --values fp16 --krylov defect
  solve_file --format compressed --precision mixed --values fp16 --fuse-restriction
  rm -f "$file"
}

# what is not Q1 Poisson
others_part() {
  file=$scratch/other.cmg
  for options in "--element q2 --dim 3 --cells 64" "--element q2 --dim 3 --cells 64 --distort 0.4" \
    "--element q2 --dim 2 --cells 1024" "--problem elasticity --element q1 --dim 3 --cells 64 --dirichlet-labels left" \
    "--problem elasticity --element q2 --dim 2 --cells 512 --dirichlet-labels left"; do
    "$build/tools/cmg" generate "$file" $options --no-coords >&2
    solve_file --format sell
    for smoother in jacobi:omega=auto spai; do
      solve_file --format compressed --precision mixed --values fp16 --smoother $smoother
    done
  done
  rm -f "$file"
}

# set-up of SPAI, regular and distorted mesh (no two rows alike), on the device and on the host's cores
spai_part() {
  for distort in 0 0.4; do
    for smoother in spai:tau=0 spai; do
      "$build/benchmarks/bench_setup" --backend cuda --distort $distort --smoother $smoother --repeat 5
      "$build/benchmarks/bench_setup" --backend cpu --distort $distort --smoother $smoother --repeat 1 --solve 0
    done
  done
}

host_part() {
  for format in auto compressed; do
    for precision in fp64 mixed; do
      "$build/benchmarks/bench_solve" --backend cpu --cells 256 --format $format --precision $precision --repeat 3
    done
  done
}

for part in $parts; do
  ${part}_part
done
