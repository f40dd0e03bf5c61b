/*
 * The memory of the emulated device: one range of addresses. CMG_EMULATED_GUARD=1 closes it to the
 * host, which on a device could not read it either; each array is followed by a zone that nobody
 * may write.
 */
#include "emulated_state.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace emulated
{

static const size_t ARENA = (size_t)64 << 30; /* addresses; memory is taken when it is written */
static const size_t MOST = (size_t)8 << 30;   /* what the device says it has */
static const size_t ALIGN = 512;
static const size_t ZONE = 512;

static std::recursive_mutex lock;
static char *arena;
static std::map<char *, size_t> used; /* bytes that were asked for */
static std::map<char *, size_t> gaps;
static size_t in_use;
static int opened;
static bool guarded;

static void on_fault(int number, siginfo_t *info, void *)
{
    const char *at = (const char *)info->si_addr;
    if (at >= arena && at < arena + ARENA) {
        static const char text[] = "emulated device: the host touches memory of the device\n";
        (void)!write(2, text, sizeof text - 1);
    }
    std::signal(number, SIG_DFL);
    std::raise(number);
}

static void make()
{
    arena = (char *)mmap(nullptr, ARENA, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) {
        std::fputs("emulated device: no addresses for its memory\n", stderr);
        std::abort();
    }
    gaps[arena] = ARENA;
    const char *text = std::getenv("CMG_EMULATED_GUARD");
    guarded = text != nullptr && std::strcmp(text, "0") != 0;
    if (guarded) {
        struct sigaction action = {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, nullptr);
        sigaction(SIGBUS, &action, nullptr);
    }
}

/* The addresses that were ever used, open or closed. */
static void protect(int how)
{
    const size_t bytes = (size_t)(gaps.rbegin()->first - arena + 4095) / 4096 * 4096;
    if (guarded && bytes > 0 && mprotect(arena, bytes, how) != 0) {
        std::fputs("emulated device: its memory cannot be closed to the host\n", stderr);
        std::abort();
    }
}

opening::opening()
{
    const std::lock_guard<std::recursive_mutex> hold(lock);
    if (arena == nullptr) {
        make();
    }
    if (opened++ == 0) {
        protect(PROT_READ | PROT_WRITE);
    }
}

opening::~opening()
{
    const std::lock_guard<std::recursive_mutex> hold(lock);
    if (--opened == 0) {
        protect(PROT_NONE);
    }
}

static size_t room_of(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN + ZONE;
}

void *take(size_t bytes)
{
    const opening open;
    const std::lock_guard<std::recursive_mutex> hold(lock);
    const size_t room = room_of(bytes);
    if (bytes > MOST || in_use + bytes > MOST) {
        return nullptr;
    }
    for (auto gap = gaps.begin(); gap != gaps.end(); ++gap) {
        if (gap->second >= room) {
            char *p = gap->first;
            const size_t left = gap->second - room;
            gaps.erase(gap);
            gaps[p + room] = left; /* perhaps empty: the last gap says how far memory was used */
            protect(PROT_READ | PROT_WRITE);
            used[p] = bytes;
            in_use += bytes;
            std::memset(p, 0xff, room);
            return p;
        }
    }
    return nullptr;
}

bool give(void *p)
{
    const opening open;
    const std::lock_guard<std::recursive_mutex> hold(lock);
    const auto found = used.find((char *)p);
    if (found == used.end()) {
        return false;
    }
    const size_t bytes = found->second;
    const size_t room = room_of(bytes);
    for (size_t k = bytes; k < room; ++k) {
        if ((unsigned char)found->first[k] != 0xff) {
            std::fprintf(stderr, "emulated device: byte %zu of an array of %zu was written\n", k,
                         bytes);
            std::abort();
        }
    }
    std::memset(found->first, 0xff, bytes); /* what is read after this is no number */
    used.erase(found);
    in_use -= bytes;
    auto at = gaps.emplace((char *)p, room).first;
    const auto next = std::next(at);
    if (next != gaps.end() && at->first + at->second == next->first) {
        at->second += next->second;
        gaps.erase(next);
    }
    if (at != gaps.begin()) {
        const auto before = std::prev(at);
        if (before->first + before->second == at->first) {
            before->second += at->second;
            gaps.erase(at);
        }
    }
    return true;
}

bool holds(const void *p)
{
    const std::lock_guard<std::recursive_mutex> hold(lock);
    auto after = used.upper_bound((char *)p);
    if (after == used.begin()) {
        return false;
    }
    --after;
    return (const char *)p < after->first + (after->second > 0 ? after->second : 1);
}

void told(size_t *free_bytes, size_t *total)
{
    const std::lock_guard<std::recursive_mutex> hold(lock);
    *free_bytes = MOST - in_use;
    *total = MOST;
}
} // namespace emulated
