/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the device /dev/linespeed takes and gives, and what the files of the module share.
 *
 * A write of one struct linespeed_request runs its passes and returns when they are over. A read then gives one
 * struct linespeed_answer and as many struct linespeed_pass as were asked for. Numbers are in the machine's own
 * byte order; no structure has padding.
 */
#ifndef LINESPEED_H
#define LINESPEED_H

#include <linux/types.h>

/* Told by both sides; a request of another version is refused. */
#define LINESPEED_VERSION 2

/* The thread is bound to a CPU. */
#define LINESPEED_BOUND 1
/* Interrupts are off within bursts. */
#define LINESPEED_INTERRUPTS_OFF 2

/* Largest end of a range: a number below it has at most 4096 divisions, which no interrupt waits for in vain. */
#define LINESPEED_BELOW_MAX (1 << 24)
#define LINESPEED_PASSES_MAX 32
/* How long a burst may last, ns. */
#define LINESPEED_BURST_MIN 20000
#define LINESPEED_BURST_MAX 2000000
/* Iterations of the dependent adds for one look at the clock. */
#define LINESPEED_CLOCK_MAX 8192
/* A load by timer interrupts: its period, how long each works, ns, and never more than half of the time. */
#define LINESPEED_LOAD_PERIOD_MIN 20000
#define LINESPEED_LOAD_PERIOD_MAX 1000000000
#define LINESPEED_LOAD_BUSY_MAX 500000

struct linespeed_request {
	__u32 version;
	__u32 flags;
	__u64 from;		/* the range of numbers */
	__u64 below;
	__u32 passes;
	__u32 cpu;		/* where it is bound to; 0 when it is not bound */
	__u32 burst_ns;
	__u32 clock_iterations;
	__u32 load_period_ns;	/* 0: no load */
	__u32 load_busy_ns;
	__u32 load_cpu;
	__u32 reserved;		/* 0 */
};

struct linespeed_answer {
	__u32 version;
	__u32 passes;
	__u32 routine_bytes;
	__u32 clock_bytes;
	__u32 clock_crc;	/* CRC-32 (IEEE) of the adds' bytes where they ran */
	__u32 clock_offset;	/* their place in a page of 4096 bytes */
	__u64 load_count;	/* interrupts of the load, and how long they worked, ns */
	__u64 load_ns;
	__u64 thread_ns;	/* CPU time of the thread that made the passes, from its begin to its end */
};

struct linespeed_pass {
	__u64 primes;
	__u64 ticks_inside;	/* of the counter, summed over the bursts */
	__u64 ticks_whole;	/* from the begin of the first burst to the end of the last */
	__u64 ns_whole;
	__u64 clock_before;	/* ticks of clock_iterations * 256 dependent adds, the fastest of three */
	__u64 clock_after;
	__u64 longest_off_ns;	/* the longest time that interrupts were off; 0 where they never were */
	__u32 clock_iterations;	/* those that were run, which may be fewer than were asked for */
	__u32 crc;		/* CRC-32 (IEEE) of the routine's bytes where they ran */
	__u32 page_offset;	/* their place in a page of 4096 bytes */
	__u32 bursts;
	__u32 cpu_from;
	__u32 cpu_to;
	__u32 cpu_changes;	/* seen between bursts */
	__u32 switches;		/* voluntary */
	__u32 preemptions;	/* involuntary switches */
	__u32 reserved;
};

#ifdef __KERNEL__
#include <linux/hrtimer.h>

/* A load by timer interrupts. */
struct linespeed_load {
	struct hrtimer timer;
	u64 period;
	u64 busy;
	u64 count;
	u64 worked;
};

/* Runs what a request asks for; the request has been checked. 0, or a negative error number. */
int linespeed_run(const struct linespeed_request *request, struct linespeed_answer *answer,
		  struct linespeed_pass *passes);

/* Starts a load on a CPU, which is online. */
int linespeed_load_start(struct linespeed_load *load, const struct linespeed_request *request);
/* Ends it; its timer does not fire any more. */
void linespeed_load_stop(struct linespeed_load *load);

/* The routine and the adds, in bytes.S: the very bytes that the program has. */
unsigned long linespeed_primes(unsigned long from, unsigned long below);
void linespeed_adds(unsigned long iterations);
extern const u8 linespeed_primes_start[], linespeed_primes_end[];
extern const u8 linespeed_adds_start[], linespeed_adds_end[];
#endif

#endif
