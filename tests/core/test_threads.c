/* How many threads go on when the operating system takes some away; with a clock of its own. */
#include "core/threads.h"
#include "test.h"

/* Windows of 6 ms for `seconds`, `each` preemptions in every one; returns the threads then. */
static int pass(cmgi_sharing *s, int threads, double *now, double seconds, long each, long *count)
{
    for (double end = *now + seconds; *now < end; *now += 0.006) {
        *count += each;
        threads = cmgi_sharing_step(s, threads, *now, *count);
    }
    return threads;
}

TEST(keeps_its_threads_alone)
{
    cmgi_sharing s;
    double now = 100;
    long count = 7; /* what came before tells nothing */
    cmgi_sharing_start(&s, 16, false);
    CHECK(pass(&s, 16, &now, 10, 0, &count) == 16);
}

/* One preemption now and then is no neighbour. */
TEST(overlooks_a_single_preemption)
{
    cmgi_sharing s;
    double now = 100;
    long count = 0;
    int threads = 2;
    cmgi_sharing_start(&s, 2, false);
    for (int k = 0; k < 100; ++k) {
        threads = pass(&s, threads, &now, 0.05, 0, &count);
        threads = pass(&s, threads, &now, 0.005, 1, &count);
    }
    CHECK(threads == 2);
}

TEST(gives_way_and_comes_back)
{
    cmgi_sharing s;
    double now = 100;
    long count = 0;
    cmgi_sharing_start(&s, 2, false);
    int threads = pass(&s, 2, &now, 0.030, 1, &count);
    CHECK(threads == 1); /* within 30 ms */
    threads = pass(&s, threads, &now, 5, 1, &count);
    CHECK(threads == 1);
    threads = pass(&s, threads, &now, 0.2, 0, &count);
    CHECK(threads == 2);
}

/* With a neighbour that shows itself to the second thread alone, trying again gets rare. */
TEST(tries_again_ever_more_rarely)
{
    cmgi_sharing s;
    double now = 100;
    long count = 0;
    int threads = 2;
    int shared = 0;
    int windows = 0;
    cmgi_sharing_start(&s, 2, false);
    for (; now < 120; now += 0.006) {
        count += threads - 1;
        threads = cmgi_sharing_step(&s, threads, now, count);
        shared += now > 105 && threads > 1;
        windows += now > 105;
    }
    CHECK(shared > 0 && shared < windows / 50);
}

TEST(many_threads_go_step_by_step)
{
    cmgi_sharing s;
    double now = 100;
    long count = 0;
    cmgi_sharing_start(&s, 64, false);
    int threads = pass(&s, 64, &now, 0.04, 3, &count);
    CHECK(threads < 64 && threads > 32);
    threads = pass(&s, threads, &now, 2, 3, &count);
    CHECK(threads == 1);
    threads = pass(&s, threads, &now, 20, 0, &count);
    CHECK(threads == 64);
}

/* A piece of work without a look at the clock: the rate of preemptions counts. */
TEST(long_windows_count_by_their_rate)
{
    cmgi_sharing s;
    cmgi_sharing_start(&s, 2, false);
    CHECK(cmgi_sharing_step(&s, 2, 100, 0) == 2);
    CHECK(cmgi_sharing_step(&s, 2, 110, 30) == 2);
    CHECK(cmgi_sharing_step(&s, 2, 111, 130) == 1);
}

TEST(a_number_holds)
{
    cmgi_sharing s;
    double now = 100;
    long count = 0;
    cmgi_sharing_start(&s, 8, true);
    CHECK(pass(&s, 8, &now, 5, 9, &count) == 8);
}
