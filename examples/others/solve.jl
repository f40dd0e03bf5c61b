# A SparseMatrixCSC from Julia, symmetric, so that its columns are its rows; the library finds the levels.
#
# Not tried: Julia was not at hand. Needs libcmg as a shared library (-DBUILD_SHARED_LIBS=ON) on the loader's path.
using SparseArrays, LinearAlgebra

const lib = "libcmg"

struct Csr
    rows::Int64
    cols::Int64
    indptr::Ptr{Int64}
    indices::Ptr{Int32}
    values::Ptr{Float64}
end

message(ctx) = unsafe_string(ccall((:cmg_context_message, lib), Cstring, (Ptr{Cvoid},), ctx))
check(ctx, status) = status == 0 || error(message(ctx))

function solve(A::SparseMatrixCSC{Float64}, b::Vector{Float64})
    ctx, h, s = Ref(C_NULL), Ref(C_NULL), Ref(C_NULL)
    vb, vx = Ref(C_NULL), Ref(C_NULL)
    x = zeros(length(b))
    indptr, indices = Int64.(A.colptr .- 1), Int32.(A.rowval .- 1)
    check(C_NULL, ccall((:cmg_context_create, lib), Cint, (Ptr{Cvoid}, Ref{Ptr{Cvoid}}), C_NULL, ctx))
    c = ctx[]
    GC.@preserve A b x indptr indices begin
        csr = Ref(Csr(size(A, 1), size(A, 2), pointer(indptr), pointer(indices), pointer(A.nzval)))
        check(c, ccall((:cmg_hierarchy_create, lib), Cint, (Ptr{Cvoid}, Cint, Ref{Ptr{Cvoid}}), c, 1, h))
        check(c, ccall((:cmg_hierarchy_set_csr, lib), Cint,
                       (Ptr{Cvoid}, Cint, Cint, Ptr{Cvoid}, Cint, Ref{Csr}), h[], 0, 0, C_NULL, 0, csr))
        check(c, ccall((:cmg_solver_create, lib), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Ref{Ptr{Cvoid}}), h[], C_NULL, s))
        for (v, a) in ((vb, b), (vx, x))
            check(c, ccall((:cmg_vector_wrap, lib), Cint, (Ptr{Cvoid}, Int64, Cint, Ptr{Float64}, Ref{Ptr{Cvoid}}),
                           c, length(a), 0, pointer(a), v))
        end
        check(c, ccall((:cmg_solver_solve, lib), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Cvoid}),
                       s[], vb[], vx[], C_NULL))
    end
    for ref in (vb, vx)
        ccall((:cmg_vector_destroy, lib), Cvoid, (Ref{Ptr{Cvoid}},), ref)
    end
    ccall((:cmg_solver_destroy, lib), Cvoid, (Ref{Ptr{Cvoid}},), s)
    ccall((:cmg_hierarchy_destroy, lib), Cvoid, (Ref{Ptr{Cvoid}},), h)
    ccall((:cmg_context_destroy, lib), Cvoid, (Ref{Ptr{Cvoid}},), ctx)
    return x
end

n = 200
D = spdiagm(-1 => -ones(n - 1), 0 => 2ones(n), 1 => -ones(n - 1))
A = kron(D, sparse(I, n, n)) + kron(sparse(I, n, n), D)
b = ones(n^2)
println(norm(b - A * solve(A, b)) / norm(b))
