/*
 * Blocks of threads as fibers: see emulated_cuda.h.
 */
#include "emulated_cuda.h"
#include "emulated_state.h"
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <vector>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

namespace emulated
{

thread_local const uint3 *now;
thread_local places around;

/* ---------------------------------------------------------------- fibers */

static const size_t STACK = (size_t)256 << 10;

#if defined(__x86_64__)
struct fiber {
    void *sp = nullptr;
};
/* Keeps what a call has to keep, on the old stack, and goes on where the new one was left. */
extern "C" void emulated_switch(void **from, void *to);
asm(".text\n.globl emulated_switch\n.type emulated_switch,@function\nemulated_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size emulated_switch,.-emulated_switch\n");

static void prepare(fiber *f, char *stack, void (*entry)())
{
    void **sp =
        (void **)(stack + STACK) - 1; /* at the entry, as after a call: 8 under a multiple of 16 */
    sp[0] = nullptr;
    *--sp = (void *)entry;
    for (int k = 0; k < 6; ++k) {
        *--sp = nullptr;
    }
    f->sp = (void *)sp;
}
static void change(fiber *from, fiber *to)
{
    emulated_switch(&from->sp, to->sp);
}
#else
typedef ucontext_t fiber;
static void prepare(fiber *f, char *stack, void (*entry)())
{
    getcontext(f);
    f->uc_stack.ss_sp = stack;
    f->uc_stack.ss_size = STACK;
    f->uc_link = nullptr;
    makecontext(f, entry, 0);
}
static void change(fiber *from, fiber *to)
{
    swapcontext(from, to);
}
#endif

/* ---------------------------------------------------------------- threads of a block */

enum state { FRESH, READY, AT_BARRIER, AT_MEETING, DONE };

struct thread {
    uint3 here; /* first: `now` points to it */
    state what = FRESH;
    fiber context;
    char *stack = nullptr;
    unsigned mask = 0;
    operation op = SYNC;
    uint64_t value = 0;
    unsigned there = 0;
    uint64_t seen[32];
};

struct alignas(32) line {
    char bytes[32];
};

/* The block that a thread of the host runs. */
struct block {
    std::vector<thread> threads;
    std::vector<char *> stacks; /* not in use */
    size_t count = 0;
    size_t live = 0;
    size_t waiting = 0;
    size_t meeting = 0;
    fiber host;
    const std::function<void()> *kernel = nullptr;
    const char *name = "";
    std::vector<line> shared;
    ~block()
    {
        for (char *s : stacks) {
            munmap(s, STACK);
        }
    }
};
static thread_local block *current;

static thread *self()
{
    return (thread *)now;
}

static size_t number_of(const thread *t)
{
    return (size_t)(t - current->threads.data());
}

int lane()
{
    return (int)(number_of(self()) % 32);
}

void *dynamic_shared()
{
    return current->shared.data();
}

static void stop(const char *why)
{
    std::fprintf(stderr, "emulated device: %s\n  kernel %s\n", why, current->name);
    for (size_t k = 0; k < current->count; ++k) {
        const thread &t = current->threads[k];
        if (t.what == AT_BARRIER || t.what == AT_MEETING) {
            std::fprintf(stderr, "  thread %zu of block %u waits for %s, mask %08x\n", k,
                         around.block.x, t.what == AT_BARRIER ? "the block" : "its warp", t.mask);
        }
    }
    std::abort();
}

/* Lets the block go on when every thread that has not ended waits for it. */
static void look_at_barrier()
{
    if (current->waiting > 0 && current->waiting == current->live) {
        current->waiting = 0;
        for (size_t k = 0; k < current->count; ++k) {
            if (current->threads[k].what == AT_BARRIER) {
                current->threads[k].what = READY;
            }
        }
    }
}

/* Lets lanes of a warp go on when all of their mask that have not ended are there. */
static void look_at_meeting(size_t first, unsigned mask)
{
    thread *w = current->threads.data() + first;
    const size_t lanes = current->count - first < 32 ? current->count - first : 32;
    unsigned there = 0;
    for (size_t k = lanes; k-- > 0;) { /* the last one comes last: few looks in vain */
        if ((mask >> k & 1U) == 0 || w[k].what == DONE) {
            continue;
        }
        if (w[k].what != AT_MEETING || w[k].mask != mask) {
            return;
        }
        there |= 1U << k;
    }
    uint64_t values[32] = {};
    const thread *one = nullptr;
    for (size_t k = 0; k < lanes; ++k) {
        if ((there >> k & 1U) != 0) {
            values[k] = w[k].value;
            if (one != nullptr && one->op != w[k].op) {
                stop("lanes of one mask are in different operations");
            }
            one = &w[k];
        }
    }
    for (size_t k = 0; k < lanes; ++k) {
        if ((there >> k & 1U) != 0) {
            std::memcpy(w[k].seen, values, sizeof values);
            w[k].there = there;
            w[k].what = READY;
            --current->meeting;
        }
    }
}

static void to_host(thread *t)
{
    change(&t->context, &current->host);
    now = &t->here;
}

void block_barrier()
{
    thread *t = self();
    t->what = AT_BARRIER;
    ++current->waiting;
    look_at_barrier();
    to_host(t);
}

unsigned meet(unsigned mask, operation what, uint64_t value, uint64_t seen[32])
{
    thread *t = self();
    const size_t at = number_of(t);
    if ((mask >> at % 32 & 1U) == 0) {
        stop("a lane is not in its own mask");
    }
    t->mask = mask;
    t->op = what;
    t->value = value;
    t->what = AT_MEETING;
    ++current->meeting;
    look_at_meeting(at / 32 * 32, mask);
    to_host(t);
    std::memcpy(seen, t->seen, sizeof t->seen);
    return t->there;
}

static void body()
{
    (*current->kernel)();
    thread *t = self();
    t->what = DONE;
    --current->live;
    current->stacks.push_back(t->stack);
    look_at_barrier();
    const size_t first = number_of(t) / 32 * 32;
    for (size_t k = first; current->meeting > 0 && k < current->count && k < first + 32; ++k) {
        if (current->threads[k].what == AT_MEETING) {
            look_at_meeting(first, current->threads[k].mask);
        }
    }
    change(&t->context, &current->host); /* for ever */
}

static char *a_stack()
{
    if (current->stacks.empty()) {
        void *made =
            mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (made == MAP_FAILED) {
            stop("no memory for the stack of a thread");
        }
        return (char *)made;
    }
    char *s = current->stacks.back();
    current->stacks.pop_back();
    return s;
}

static void resume(thread *t)
{
    if (t->what == FRESH) {
        t->stack = a_stack();
        prepare(&t->context, t->stack, body);
    }
    t->what = READY;
    now = &t->here;
    change(&current->host, &t->context);
}

/* ---------------------------------------------------------------- the order of threads and blocks
 */

struct order {
    enum { UP, DOWN, SHUFFLED } way = UP;
    uint64_t seed = 0;
    order()
    {
        const char *text = std::getenv("CMG_EMULATED_ORDER");
        if (text != nullptr && std::strcmp(text, "down") == 0) {
            way = DOWN;
        } else if (text != nullptr && std::strcmp(text, "up") != 0) {
            way = SHUFFLED;
            seed = std::strtoull(text, nullptr, 10) * 2 + 1;
        }
    }
    /* the k-th of n: a step that has no divisor in common with n visits all of them */
    size_t at(size_t k, size_t n) const
    {
        if (way == UP) {
            return k;
        }
        if (way == DOWN) {
            return n - 1 - k;
        }
        size_t step = (size_t)(seed * 0x9e3779b97f4a7c15ULL >> 33) % n;
        for (step += step == 0;; ++step) {
            size_t a = step;
            size_t b = n;
            while (b != 0) {
                const size_t rest = a % b;
                a = b;
                b = rest;
            }
            if (a == 1) {
                return (size_t)(((__uint128_t)k * step + seed) % n);
            }
        }
    }
};

static const order &the_order()
{
    static const order o;
    return o;
}

static void run_one(const shape &s, uint3 at)
{
    block &b = *current;
    b.count = (size_t)s.block.x * s.block.y * s.block.z;
    b.live = b.count;
    b.waiting = 0;
    b.meeting = 0;
    around = {at, s.block, s.grid};
    if (b.threads.size() < b.count) {
        b.threads.resize(b.count);
    }
    std::memset((void *)b.shared.data(), 0xff, s.shared);
    for (size_t k = 0; k < b.count; ++k) {
        thread &t = b.threads[k];
        t.what = FRESH;
        t.here = s.block.y == 1 && s.block.z == 1
                     ? uint3{(unsigned)k, 0, 0}
                     : uint3{(unsigned)(k % s.block.x), (unsigned)(k / s.block.x % s.block.y),
                             (unsigned)(k / s.block.x / s.block.y)};
    }
    const order &o = the_order();
    while (b.live > 0) {
        bool moved = false;
        for (size_t k = 0; k < b.count; ++k) {
            thread &t = b.threads[o.way == order::UP ? k : o.at(k, b.count)];
            if (t.what == FRESH || t.what == READY) {
                resume(&t);
                moved = true;
            }
        }
        if (!moved) {
            stop("threads wait for others that never come");
        }
    }
}

void run_blocks(const shape &s, const std::function<void()> &kernel, const char *name)
{
    static thread_local block mine;
    current = &mine;
    mine.kernel = &kernel;
    mine.name = name;
    mine.shared.resize((s.shared + sizeof(line) - 1) / sizeof(line) + 1);
    const size_t blocks = (size_t)s.grid.x * s.grid.y * s.grid.z;
    for (size_t k = 0; k < blocks; ++k) {
        const size_t b = the_order().at(k, blocks);
        run_one(s, {(unsigned)(b % s.grid.x), (unsigned)(b / s.grid.x % s.grid.y),
                    (unsigned)(b / s.grid.x / s.grid.y)});
    }
}
} // namespace emulated
