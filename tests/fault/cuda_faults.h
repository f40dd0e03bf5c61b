/*
 * Faults of CUDA for tests. The linker puts an entry between the library and every function of
 * CUDA that it calls (cuda_calls.cmake); the entry asks here, and passes the call on or returns
 * what it is set to. The error that the runtime keeps for cudaGetLastError is imitated.
 */
#pragma once
#include <stdbool.h>

extern const char *const cuda_calls[]; /* names of the functions */
extern const int cuda_ncalls;

enum { CUDA_FAULT_ONCE, CUDA_FAULT_STICKS }; /* one call fails, or all from that one on */

/* Call number `n` (1 = the next one) of function `call`, or of any when call is -1, fails. */
void cuda_faults_arm(int call, long n, int mode, int error);
/* Ends it; true when the fault has come to pass. */
bool cuda_faults_disarm(void);
/* Calls of a function, or of all when call is -1, since arm. */
long cuda_faults_count(int call);
/* The error that nobody has taken, 0 = none. */
int cuda_faults_pending(void);
void cuda_faults_leave(int error); /* as if the program had left it */
/* What was made and not destroyed since arm: arrays, streams, events, pools, graphs. */
long cuda_faults_alive(void);

int cuda_faults_ask(int call);

/*
 * System V calling convention of x86-64: arguments of integer class are kept over the question. A
 * call that is to be done and to fail all the same (0x10000) has no arguments on the stack.
 */
#define CUDA_CALL(number, name)                                                                    \
    __asm__(".text\n.globl __wrap_" #name "\n.type __wrap_" #name ", @function\n"                  \
            "__wrap_" #name ":\n"                                                                  \
            "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\nsub $8, %rsp\n"       \
            "mov $" #number ", %edi\ncall cuda_faults_ask\n"                                       \
            "add $8, %rsp\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"             \
            "test %eax, %eax\njne 1f\njmp __real_" #name "@PLT\n"                                  \
            "1: test $0x10000, %eax\nje 2f\n"                                                      \
            "push %rax\ncall __real_" #name "@PLT\npop %rax\nand $0xffff, %eax\n"                  \
            "2: ret\n.size __wrap_" #name ", .-__wrap_" #name "\n");
