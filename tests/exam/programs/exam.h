// What every C and C++ program of the exam has in common: PROGRAM [SECONDS [SIZE [THREADS]]].
//
// It prints "ready" when its preparation is over, so that a watcher begins with the work, and at its end the time of one
// operation, by which the experiments compare two variants of it.
#ifndef EXAM_H
#define EXAM_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double exam_seconds = 3, exam_end, exam_wall, exam_cpu_began;
static int exam_threads = 1;
static volatile uint64_t sink;

static inline double clock_seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

// CPU time of this process and of its children that have ended.
static inline double cpu_seconds(void) {
    struct rusage own, children;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return own.ru_utime.tv_sec + own.ru_stime.tv_sec + children.ru_utime.tv_sec + children.ru_stime.tv_sec +
           (own.ru_utime.tv_usec + own.ru_stime.tv_usec + children.ru_utime.tv_usec + children.ru_stime.tv_usec) * 1e-6;
}

// The size in bytes (16K, 24M, 1G), or the usual one.
static inline size_t arguments(int argc, char **argv, size_t usual, int threads) {
    exam_threads = threads;
    if (argc > 1) exam_seconds = atof(argv[1]);
    if (argc > 3) exam_threads = atoi(argv[3]);
    if (argc <= 2) return usual;
    char *unit;
    size_t size = strtoull(argv[2], &unit, 10);
    return size << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0);
}

static inline void ready(void) {
    puts("ready");
    fflush(stdout);
    exam_cpu_began = cpu_seconds();
    exam_wall = clock_seconds(CLOCK_MONOTONIC);
    exam_end = exam_wall + exam_seconds;
}

static inline int running(void) { return clock_seconds(CLOCK_MONOTONIC) < exam_end; }

static inline int done(double operations) {
    double wall = clock_seconds(CLOCK_MONOTONIC) - exam_wall;
    printf("cpu_ns %.3f\nwall_ns %.3f\n", (cpu_seconds() - exam_cpu_began) / operations * 1e9, wall / operations * 1e9);
    return 0;
}

// Memory in pages of 4 KiB, or in huge pages where EXAM_HUGE is set: the difference is the cost of page walks.
static inline void *memory(size_t size) {
    size_t huge = 2 << 20, whole = (size + huge - 1) / huge * huge + huge;
    char *at = (char *)mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) abort();
    at = (char *)(((uintptr_t)at + huge - 1) / huge * huge);
    madvise(at, whole - huge, getenv("EXAM_HUGE") ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return at;
}

// The next of a series that no prefetcher guesses.
static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

// The place after `i` of a walk that visits each of `n` places once: n is a power of two.
static inline uint64_t next_place(uint64_t i, uint64_t n) { return (i * 0x5851f42d4c957f2dull + 0x14057b7ef767814full) & (n - 1); }

// The largest power of two that is not above n.
static inline uint64_t power_of_two(uint64_t n) { return 1ull << (63 - __builtin_clzll(n)); }

// `count` threads of `body`, each with its number; returns when all have ended.
static inline void run_threads(int count, void *(*body)(void *)) {
    pthread_t threads[256];
    for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

static inline int cpus(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }

#endif
