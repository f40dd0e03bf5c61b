#!/bin/bash
# Records the lines that benchmarks/papers.py reads: products and solves of the papers' matrices, one JSON object a line.
#
#   benchmarks/papers.sh BUILD cuda|cpu [seconds=N] [statistics=FILE] [PART...]
#
# PART: templates blocks zhang pcg counts intervals dehnavi ebe sizes wong hearts solves large, in this order; none begins after N seconds [600]. statistics: the row
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
processor=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)

# one line of products: bench PART FILE OPTION...
bench() {
  part=$1
  file=$2
  shift 2
  timeout 60 "$build/tools/cmg" bench spmv "$file" --backend "$backend" --sample-ms $least --samples 7 "$@" \
    --json "$scratch/b.json" >&2 && tr -d '\n' <"$scratch/b.json" | sed "s|^ *{|{\"paper\": \"$part\", \"commit\": \"$commit\", \"processor\": \"$processor\",|" && echo
}

# one line of a solve: solve PART CASE FILE OPTION...
solve() {
  part=$1
  case=$2
  file=$3
  shift 3
  timeout ${CMG_TIMEOUT:-60} "$build/tools/cmg" solve "$file" --backend "$backend" --repeat 3 "$@" --json "$scratch/s.json" >&2
  tr -d '\n' <"$scratch/s.json" | sed 's/"history": \[[^]]*\]/"history": []/' |
    sed "s|^ *{|{\"paper\": \"$part\", \"case\": \"$case\", \"asked\": \"$*\", \"commit\": \"$commit\", \"processor\": \"$processor\",|"
  echo
}

generate() { "$build/tools/cmg" generate "$@" --no-coords --no-output-mesh >&2; }

# element templates with random factors against assembled storage
templates_part() {
  n=128
  [ "$backend" = cuda ] || n=32
  generate "$scratch/elastic-q1-3d-$n.cmg" --problem elasticity --element q1 --dim 3 --cells $n --coefficient random \
    --elements --levels 1
  bench templates "$scratch/elastic-q1-3d-$n.cmg" --formats sbell,ebe --values fp64,fp32
  rm -f "$scratch"/*.cmg
}

# assembled blocks beside the vendor's
blocks_part() {
  n=96
  [ "$backend" = cuda ] || n=24
  generate "$scratch/elastic-q1-3d-$n.cmg" --problem elasticity --element q1 --dim 3 --cells $n --distort 0.3 --levels 1
  vendor=$([ "$backend" = cuda ] && echo ,cusparse-csr,cusparse-sell,cusparse-bsr)
  bench blocks "$scratch/elastic-q1-3d-$n.cmg" --formats csr,sell,k1r,compressed,bell,sbell$vendor --values fp64
  bench blocks "$scratch/elastic-q1-3d-$n.cmg" --formats sbell,compressed --block-rows 3 --values fp32,fp16,fp8
  rm -f "$scratch"/*.cmg
}

# CG + V(1,1) on N^3 cells, elements and assembled storage, a line as each is done: solves_on N VARIANT...
solves_on() {
  n=$1
  shift
  timeout "${CMG_TIMEOUT:-60}" "$build/benchmarks/bench_elements" --backend "$backend" --cells "$n" --repeat 5 --plan 1 \
    --seconds "${CMG_TIMEOUT:-60}" --variants "$(IFS=';' && echo "$*")"
}

by_elements="format=ebe precision=mixed"
# no faster assembled storage than this
by_blocks="format=compressed block-rows=3 precision=mixed"
jacobi="smoother=jacobi:omega=auto"
chebyshev="smoother=chebyshev4:degree"

large_part() {
  n=128
  [ "$backend" = cuda ] || n=32
  solves_on $n "$by_elements $jacobi" "$by_blocks $jacobi" "$by_elements $chebyshev=3" "$by_blocks $chebyshev=3"
}

solves_part() {
  n=64
  [ "$backend" = cuda ] || n=24
  solves_on $n "$by_elements $jacobi" "$by_blocks $jacobi" "$by_elements $chebyshev=2" "$by_elements $chebyshev=3" \
    "$by_elements $chebyshev=4" "$by_blocks $chebyshev=2" "$by_blocks $chebyshev=3" "$by_blocks smoother=auto" \
    "format=ebe $jacobi" "format=sbell precision=mixed $jacobi" "$by_elements krylov=defect $chebyshev=3" \
    "$by_blocks krylov=defect $chebyshev=3"
}

# Zhang and Zhang, Table 1: quad and hex at their sizes, tri and tet of as many unknowns on a square and a cube
zhang_mesh() {
  case $1 in
  quad) mesh="--element q1 --dim 2 --cells 400" small=400 ;;
  tri) mesh="--element p1 --dim 2 --cells 728" small=128 ;;
  tet) mesh="--element p1 --dim 3 --cells 59" small=16 ;;
  *) mesh="--element q1 --dim 3 --cells 54" small=20 ;;
  esac
  [ "$backend" = cuda ] || mesh="$mesh --cells $small"
}

zhang_part() {
  for name in quad tri tet hex; do
    zhang_mesh $name
    generate "$scratch/zhang-$name.cmg" --problem elasticity $mesh --dirichlet neumann --levels 1
    bench zhang "$scratch/zhang-$name.cmg" --values fp64,fp32 \
      --formats csr,ellpack,sell,bell,sbell,compressed$([ "$backend" = cuda ] && echo ,cusparse-csr,cusparse-sell,cusparse-bsr)
    bench zhang "$scratch/zhang-$name.cmg" --values fp64 --formats sell,sbell --sweep warp
    rm -f "$scratch"/*.cmg
  done
}

# a solve of a polynomial preconditioner: polynomial MESH FORMAT SMOOTHER PRECISION [OPTION...]
polynomial() {
  name=$1 format=$2 smoother=$3 precision=$4
  shift 4
  solve zhang "$name" "$scratch/$name.cmg" --cycle none --pre 1 --post 0 --krylov cg --rtol 1e-7 --max-it 9000 --no-fallback \
    --format "$format" --smoother "$smoother" --precision "$precision" "$@"
}

# Tables 3 to 5, Figure 10: clamped on the left, to 1e-7
pcg_part() {
  for name in quad hex tet tri; do
    zhang_mesh $name
    generate "$scratch/$name.cmg" --problem elasticity $mesh --dirichlet-labels left --levels 1
    if [ $name = quad ]; then
      for order in 2 3 4 5 6; do
        for family in neumann least-squares chebyshev chebyshev:lower=lanczos; do
          polynomial quad csr "${family%%:*}:degree=$((order + 1))$(echo "$family" | grep -o ':.*')" fp64
        done
      done
    fi
    for format in csr sbell; do
      for smoother in jacobi least-squares:degree=7; do
        for precision in fp64 mixed; do
          polynomial $name $format $smoother $precision
        done
      done
    done
    solve zhang "$name-multigrid" "$scratch/$name.cmg"
    [ "$backend" = cuda ] || continue
    backend=cpu
    polynomial $name csr jacobi fp64 --repeat 1
    polynomial $name csr least-squares:degree=7 fp64 --repeat 1
    backend=cuda
    rm -f "$scratch"/*.cmg
  done
}

# Table 3 where Jacobi agrees: clamped below, bounds by rows; the counts are those of any machine
counts_part() {
  zhang_mesh quad
  generate "$scratch/pillar.cmg" --problem elasticity $mesh --dirichlet-labels bottom --levels 1
  polynomial pillar compressed jacobi fp64
  for degree in 3 4 5 6 7; do
    polynomial pillar compressed least-squares:degree=$degree:bound=gershgorin fp64
    polynomial pillar compressed neumann:degree=$degree:bound=gershgorin:omega=0.75 fp64
    polynomial pillar compressed chebyshev:degree=$degree:bound=gershgorin:lower=lanczos fp64
  done
  rm -f "$scratch/pillar.cmg"
}

# Chebyshev on that mesh and on a smaller one: the upper end by rows (3.1265), the lower 1, 3, 10, 100 and 1000 times the
# least eigenvalue of D^-1 A, 2.190e-5 and 1.3687e-6
intervals_part() {
  for cells in 100 400; do
    generate "$scratch/pillar-$cells.cmg" --problem elasticity --element q1 --dim 2 --cells $cells --dirichlet-labels bottom \
      --levels 1
    polynomial pillar-$cells compressed jacobi fp64 --repeat 1
    ratios="142800 47600 14280 1428 142.8"
    [ $cells = 100 ] || ratios="2284000 761400 228400 22840 2284"
    for ratio in $ratios; do
      for degree in 3 4 5 6 7; do
        polynomial pillar-$cells compressed chebyshev:degree=$degree:bound=gershgorin:ratio=$ratio fp64 --repeat 1
      done
    done
    rm -f "$scratch/pillar-$cells.cmg"
  done
}

look_alike() {
  [ -n "$statistics" ] || return 1
  if [ ! -d "$scratch/alike" ]; then
    grep -E "^(name|cant|consph|shipsec1|mac_econ_fwd500|s3dkt3m2|scircuit|rma10|cop20k_A|pdb1HYS|pwtk|mc2depi|webbase-1M)	" \
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
  n=1000 m=80
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

# meshes of Tables 1 to 3 at their sizes: memory, kernel times, speed
sizes_part() {
  [ "$backend" = cuda ] || return 0
  for name in cantilever-c1 cantilever-c3 plate-h1 plate-h3 lbeam-l1 cantilever-c5 plate-h5 lbeam-l5; do
    generate "$scratch/$name.cmg" --case $name --levels 1 --distort 0.2 --elements
    bench sizes "$scratch/$name.cmg" --values fp64 --formats sbell,nbn,dbd,ebe,ebesym --samples 3
    rm -f "$scratch/$name.cmg"
  done
}

# best parameters, products from cold caches, row-major beside column-major
wong_one() {
  bench wong "$1" --values fp64 --formats k1,k2 --sweep block,threshold,warp
  bench wong "$1" --values fp64 --formats csr --sweep t
  bench wong "$1" --values fp64 --formats csr,hyb,k1,k2$vendor
  bench wong "$1" --values fp64 --cold --formats csr,hyb,k1,k2$vendor
}

wong_part() {
  vendor=$([ "$backend" = cuda ] && echo ,cusparse-csr,cusparse-coo)
  for name in cant scircuit rma10 cop20k_A pwtk mac_econ_fwd500 mc2depi pdb1HYS consph shipsec1 webbase-1M; do
    look_alike $name && wong_one "$scratch/alike/alike-$name.petsc"
  done
}

# matrices of the heart's meshes: $CMG_HEARTS holds heart-*.msh of examples/heart/ellipsoid.py
hearts_part() {
  vendor=$([ "$backend" = cuda ] && echo ,cusparse-csr,cusparse-coo)
  for file in "${CMG_HEARTS:-.}"/heart-*.msh; do
    [ -f "$file" ] || continue
    name=$(basename "$file" .msh)
    generate "$scratch/$name.cmg" --mesh "$file" --element p1 --problem heat --dirichlet neumann --levels 1
    wong_one "$scratch/$name.cmg"
  done
}

for part in ${parts:-templates blocks zhang pcg counts intervals dehnavi ebe sizes wong hearts solves large}; do
  [ $SECONDS -lt "$seconds" ] && ${part}_part
done
exit 0
