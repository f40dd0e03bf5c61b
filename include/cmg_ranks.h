/*
 * CascadeMG on several ranks: one context a rank, each with its rows of every level. libcmgranks,
 * which stands on libcmg.
 *
 * A rank is a thread (loopback, below), a process (MPI: cmg_mpi.h), or either with a GPU of its
 * own. The ranks make the same calls in the same order. cmg_ranks_use gives a context the transport
 * by which they speak to each other; a hierarchy then gets its matrices by cmg_hierarchy_set_rows,
 * and vectors hold the rank's own entries. Options and limits of a solver are the same on all
 * ranks, or CMG_ERR_ARG names the one that differs. Iteration counts are those of one rank, and
 * repeated runs are equal to the bit: sums are formed in the order of the ranks.
 *
 * A rank that fails ends the others: their calls return the status, and the message names the rank.
 * After that the group of ranks is good for nothing but to be taken down.
 */
#ifndef CMG_RANKS_H
#define CMG_RANKS_H

#include <cmg_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A message to or from another rank. */
typedef struct cmg_message {
    int peer;
    void *data; /**< of a message that is sent: only read */
    size_t bytes;
} cmg_message;

/**
 * How the ranks of a group speak to each other; all memory is the host's. A function that fails
 * leaves its reason in message(). Every wait ends after `seconds`, or when a rank has failed.
 *
 * Ranks that have a GPU each use it for the set-up alone where what a solve exchanges and sums goes
 * from device to device: threads of one process whose GPUs reach each other's memory store into it;
 * others use NCCL where it is found (libnccl.so.2, by the loader's rules). A solve is one CUDA
 * graph; with NCCL an iteration is, unless NCCL_GRAPH_MIXING_SUPPORT=0 is in the environment, for
 * programs that use NCCL for nothing else. CMG_LINK=peer, nccl or host in the environment, the same
 * for all ranks, leaves the others out.
 */
struct cmg_transport {
    size_t size; /**< of the struct */
    int rank;    /**< 0 .. ranks - 1 */
    int ranks;
    double seconds; /**< a rank that does not answer for so long is lost */
    void *user;     /**< handed to the functions */
    /** Begins an exchange: at most one message to and from each rank, never an empty one. The
     *  arrays and what they point to stay until `finish`, which is called before the next one. */
    cmg_status (*start)(void *user, const cmg_message *send, int sends, const cmg_message *receive,
                        int receives);
    /** Everything is received, and what was sent may be written to. */
    cmg_status (*finish)(void *user);
    /** The parts of all ranks, rank r's at all + offsets[r] up to offsets[r + 1] bytes; `mine` may
     *  be there already. Collective. */
    cmg_status (*gather)(void *user, const void *mine, void *all, const size_t *offsets);
    /** Tells the others that this rank gives up; does not wait. */
    void (*fail)(void *user, cmg_status status, const char *message);
    /** Why a function failed; never NULL. */
    const char *(*message)(void *user);
    /** Has a rank failed? Does not wait. */
    cmg_status (*check)(void *user);
    bool together; /**< the ranks are threads of one process */
};

/** Makes the context of these options one of several ranks. The transport, of which the context
 *  keeps a copy, is NULL for one that is alone. */
CMG_API void cmg_ranks_use(cmg_context_options *options, const cmg_transport *transport);

/** How halos and sums pass between the ranks of a context: "none", "host" with the reason where
 *  devices are there, "peer", or "nccl" with its version. */
CMG_API const char *cmg_context_link(const cmg_context *ctx);

/** What a link takes for its messages; zeros for one rank. */
typedef struct cmg_link_speed {
    double message_seconds;  /**< 256 bytes to a rank and from another */
    double bytes_per_second; /**< of large messages, each way */
    double sum_seconds;      /**< a sum over all ranks */
} cmg_link_speed;

/**
 * Measures the link. Collective.
 *
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_MEMORY, CMG_ERR_STATE
 */
CMG_API cmg_status cmg_context_link_speed(cmg_context *ctx, cmg_link_speed *speed);

/** What a rank does; a status other than CMG_OK ends all ranks. */
typedef cmg_status (*cmg_rank_fn)(void *user, const cmg_transport *transport);

/**
 * Loopback: `work` for every rank, each in a thread of this process. For tests on any machine, and
 * for one process with several GPUs.
 *
 * @param[in]  ranks    1 .. 1024
 * @param[in]  seconds  as in cmg_transport, 0 = 300
 * @param[out] why      the first failure as one sentence, or NULL
 * @return the status of the rank that failed first, CMG_OK, CMG_ERR_ARG, CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_loopback_run(int ranks, double seconds, cmg_rank_fn work, void *user,
                                    char why[CMG_MESSAGE]);

/** This rank's rows of a matrix, with the columns of the whole matrix. */
typedef struct cmg_rows {
    cmg_size first;          /**< number of the first row; ranks follow each other without gaps */
    cmg_size rows;           /**< may be 0 */
    const cmg_size *indptr;  /**< rows + 1 offsets, indptr[0] = 0, monotone */
    const cmg_size *indices; /**< columns, none twice in a row */
    const double *values;
} cmg_rows;

/**
 * Gives a level this rank's rows of A, P or R; copied, from host memory or the backend's. R is P^T
 * where it is not given; A below level 0 may be absent where P is there: A is then R A P. The rows
 * of level l are divided among the ranks in the same way in A_l, P_l and R_(l-1).
 *
 * @return CMG_OK, CMG_ERR_STATE (the context has no transport), CMG_ERR_ARG, CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_hierarchy_set_rows(cmg_hierarchy *h, int level, cmg_role role,
                                          const cmg_rows *rows);
/**
 * This rank's rows of a hierarchy that it holds as a whole, with its right-hand sides and
 * solutions; rows are divided evenly, or by the vectors of kind "partition" of the levels.
 *
 * @param[in] whole  of another context, without a transport
 * @return CMG_OK, CMG_ERR_STATE, CMG_ERR_ARG, CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_hierarchy_take_rows(cmg_context *ctx, const cmg_hierarchy *whole,
                                           cmg_hierarchy **h);
/**
 * Renumbers a whole hierarchy so that `ranks` contiguous blocks of rows have few neighbours, by
 * METIS, and keeps where they begin as vectors of kind "partition", which the container holds.
 *
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_MEMORY, CMG_ERR_UNSUPPORTED (no METIS in this build)
 */
CMG_API cmg_status cmg_hierarchy_partition(cmg_hierarchy *h, int ranks);
/**
 * Reads this rank's rows of a container (HDF5), with its parts of the right-hand sides and
 * solutions; rows are divided as its partitions for so many ranks say, else evenly. Collective, for
 * which every rank sees the file; none reads more than its rows.
 *
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_STATE (no transport), CMG_ERR_IO, CMG_ERR_FILE,
 *         CMG_ERR_MEMORY, CMG_ERR_UNSUPPORTED (no HDF5 in this build)
 */
CMG_API cmg_status cmg_hierarchy_read_rows(cmg_context *ctx, const char *path, cmg_hierarchy **h);
/**
 * Writes the rows of all ranks, with right-hand sides, solutions, coordinates, near null spaces
 * and the mesh of a generated grid, as a container: its datasets are those that one rank writes of
 * the whole. Rank 0 writes, and holds no more of the others' rows than some chunks. Collective.
 *
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_STATE (no transport, or no rows), CMG_ERR_IO,
 *         CMG_ERR_MEMORY, CMG_ERR_UNSUPPORTED (no HDF5 in this build, 2^31 rows)
 */
CMG_API cmg_status cmg_hierarchy_write_rows(const cmg_hierarchy *h, const char *path);
/** First row and number of rows of this rank on a level; a hierarchy of one rank has all rows. */
CMG_API cmg_status cmg_hierarchy_own_rows(const cmg_hierarchy *h, int level, cmg_size *first,
                                          cmg_size *rows);

#ifdef __cplusplus
}
#endif
#endif
