#!/bin/bash
# Records the lines that benchmarks/papers.py reads: products and solves of the papers' matrices, one JSON object a line.
#
#   benchmarks/papers.sh BUILD cuda|cpu [seconds=N] [statistics=FILE] [PART...]
#
# PART: templates zhang dehnavi ebe wong solves, in this order; none begins after N seconds [600]. statistics: the row
# statistics of published matrices, as for look_alikes.py; dehnavi and wong need them. Lines go to standard output.
here=$(cd "$(dirname "$0")" && pwd)
build=$1
backend=$2
shift 2
seconds=600
statistics=
parts=
for word in "$@"; do
  case $word in
  seconds=*) seconds=${word#*=} ;;
  statistics=*) statistics=${word#*=} ;;
  *) parts="$parts $word" ;;
  esac
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
least=3
[ "$backend" = cuda ] || least=20
commit=$(cat "$here/../.commit" 2>/dev/null || git -C "$here" rev-parse HEAD)

# one line of products: bench PART FILE OPTION...
bench() {
  part=$1
  file=$2
  shift 2
  timeout 60 "$build/tools/cmg" bench spmv "$file" --backend "$backend" --sample-ms $least --samples 7 "$@" \
    --json "$scratch/b.json" >&2 && tr -d '\n' <"$scratch/b.json" | sed "s/^ *{/{\"paper\": \"$part\", \"commit\": \"$commit\",/" && echo
}

# one line of a solve: solve PART CASE FILE OPTION...
solve() {
  part=$1
  case=$2
  file=$3
  shift 3
  timeout 60 "$build/tools/cmg" solve "$file" --backend "$backend" --repeat 3 "$@" --json "$scratch/s.json" >&2
  tr -d '\n' <"$scratch/s.json" | sed 's/"history": \[[^]]*\]/"history": []/' |
    sed "s/^ *{/{\"paper\": \"$part\", \"case\": \"$case\", \"asked\": \"$*\", \"commit\": \"$commit\",/"
  echo
}

generate() { "$build/tools/cmg" generate "$@" --no-coords --no-output-mesh >&2; }

# element templates with random factors against assembled storage
templates_part() {
  n=96
  [ "$backend" = cuda ] || n=32
  generate "$scratch/elastic-q1-3d-$n.cmg" --problem elasticity --element q1 --dim 3 --cells $n --coefficient random \
    --elements --levels 1
  bench templates "$scratch/elastic-q1-3d-$n.cmg" --formats sell,sbell,compressed,cusparse-csr,cusparse-bsr,nbn,dbd,ebe \
    --values fp64
  bench templates "$scratch/elastic-q1-3d-$n.cmg" --formats sbell,nbn,ebe --values fp32
  rm -f "$scratch"/*.cmg
}

solves_part() {
  n=64
  [ "$backend" = cuda ] || n=24
  generate "$scratch/elastic.cmg" --problem elasticity --element q1 --dim 3 --cells $n --coefficient random --elements
  for precision in fp64 mixed; do
    for format in sbell compressed ebe; do
      solve templates "elastic-q1-3d-$n" "$scratch/elastic.cmg" --format $format --precision $precision
    done
  done
  rm -f "$scratch/elastic.cmg"
}

# Zhang and Zhang, Table 1: quad and hex at their sizes
zhang_part() {
  cells=400
  for name in quad hex; do
    dim=2
    [ $name = quad ] || dim=3 cells=54
    [ "$backend" = cuda ] || { [ $name = quad ] || cells=20; }
    "$build/tools/cmg" generate "$scratch/zhang-$name.cmg" --no-output-mesh --problem elasticity --element q1 --dim $dim --cells $cells --dirichlet neumann \
      --levels 1
    bench zhang "$scratch/zhang-$name.cmg" --values fp64,fp32 \
      --formats csr,ellpack,sell,bell,sbell$([ "$backend" = cuda ] && echo ,cusparse-csr,cusparse-sell,cusparse-bsr)
    bench zhang "$scratch/zhang-$name.cmg" --values fp64 --formats sell,sbell --sweep warp
  done
  generate "$scratch/quad.cmg" --problem elasticity --element q1 --dim 2 --cells 400 --dirichlet-labels left --levels 1
  for format in csr sbell; do
    for smoother in jacobi least-squares:degree=7; do
      for precision in fp64 mixed; do
        solve zhang quad "$scratch/quad.cmg" --cycle none --pre 1 --post 0 --krylov cg --rtol 1e-7 --max-it 4000 \
          --no-fallback --format $format --smoother $smoother --precision $precision
      done
    done
  done
  rm -f "$scratch"/*.cmg
}

look_alike() {
  [ -n "$statistics" ] || return 1
  if [ ! -d "$scratch/alike" ]; then
    grep -E "^(name|cant|consph|shipsec1|mac_econ_fwd500|s3dkt3m2|scircuit|rma10|cop20k_A|pdb1HYS|pwtk|mc2depi)	" \
      "$statistics" >"$scratch/some.tsv"
    python3 "$here/look_alikes.py" "$scratch/some.tsv" "$scratch/alike" 2>/dev/null
  fi
  [ -f "$scratch/alike/alike-$1.petsc" ]
}

# Table I, Figures 6 to 8
dehnavi_part() {
  for name in cant consph shipsec1 mac_econ_fwd500 s3dkt3m2; do
    look_alike $name && bench dehnavi "$scratch/alike/alike-$name.petsc" --values fp64 --sweep pad,prefetch,t \
      --formats csr,pcsr$([ "$backend" = cuda ] && echo ,cusparse-csr)
  done
}

# elements with matrices of their own: elasticity and heat conduction on quadrilaterals, elasticity on hexahedra
ebe_part() {
  n=1000 m=40
  [ "$backend" = cuda ] || n=300 m=12
  generate "$scratch/quads-elastic.cmg" --problem elasticity --element q1 --dim 2 --cells $n --distort 0.3 --elements \
    --levels 1
  generate "$scratch/quads-heat.cmg" --element q1 --dim 2 --cells $n --distort 0.3 --elements --levels 1
  generate "$scratch/hexes-elastic.cmg" --problem elasticity --element q1 --dim 3 --cells $m --distort 0.3 --elements \
    --levels 1
  for name in quads-elastic quads-heat hexes-elastic; do
    bench ebe "$scratch/$name.cmg" --values fp64 --formats csr,sell,sbell,nbn,dbd,ebe,ebesym
  done
  rm -f "$scratch"/*.cmg
}

# best parameters, and products from cold caches
wong_part() {
  for name in cant scircuit rma10 cop20k_A pwtk mac_econ_fwd500 mc2depi pdb1HYS; do
    look_alike $name || continue
    bench wong "$scratch/alike/alike-$name.petsc" --values fp64 --formats k1,k2 --sweep block,threshold,warp
    bench wong "$scratch/alike/alike-$name.petsc" --values fp64 --cold \
      --formats csr,hyb,k1,k2$([ "$backend" = cuda ] && echo ,cusparse-csr,cusparse-coo)
  done
}

for part in ${parts:-templates zhang dehnavi ebe wong solves}; do
  [ $SECONDS -lt "$seconds" ] && ${part}_part
done
exit 0
