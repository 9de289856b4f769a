// SPDX-License-Identifier: GPL-2.0
/*
 * The passes: a thread of the kernel that counts primes in bursts.
 *
 * All layers are cut into the same bursts, so that one factor changes from one to the next. A burst is as many numbers
 * as take half of the time that it may last, by what the burst before took; the first is tiny and none is more than
 * four times the one before. Between two bursts interrupts are on, the watchdogs are told that all is well, and others may
 * have the CPU.
 */
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/nmi.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "linespeed.h"

/* Numbers of the first burst: near 2^24 one takes up to 4,096 divisions, and nothing is known yet of how long those last. */
#define FIRST_BURST 1
/* A core that was asleep needs so long to be at its clock again, ns. */
#define WAKING 500000
/* Of so many looks at the clock the fastest counts: interrupts by a hypervisor only add. */
#define LOOKS 3

struct run {
	const struct linespeed_request *request;
	struct linespeed_pass *passes;
	struct completion done;
	bool stop;
	int error;
	u64 thread_ns;
};

/* The counter that user mode reads, ordered as there. */
static inline u64 ticks(void)
{
#ifdef CONFIG_X86_64
	u32 low, high;

	asm volatile("lfence; rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return (u64)high << 32 | low;
#elif defined(CONFIG_ARM64)
	u64 now;

	asm volatile("isb; mrs %0, cntvct_el0" : "=r" (now) : : "memory");
	return now;
#else
#error "linespeed's routine exists for x86-64 and aarch64 only"
#endif
}

/* CRC-32 as IEEE 802.3 has it. */
static u32 crc32_of(const u8 *start, const u8 *end)
{
	u32 crc = ~0u;
	int bit;

	for (; start < end; start++) {
		crc ^= *start;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static u64 time_adds(u32 iterations, u64 *ns)
{
	unsigned long flags;
	u64 from, took, began;

	local_irq_save(flags);
	began = ktime_get_ns();
	from = ticks();
	linespeed_adds(iterations);
	took = ticks() - from;
	*ns = ktime_get_ns() - began;
	local_irq_restore(flags);
	return took;
}

/* Keeps the core busy until it is at its clock. */
static void wake(void)
{
	u64 began = ktime_get_ns();

	while (ktime_get_ns() - began < WAKING)
		linespeed_adds(4);
}

/* Iterations for a look at the clock: those asked for, unless interrupts would be off too long. */
static u32 fitting(const struct linespeed_request *request)
{
	u32 iterations = 1;
	u64 ns;

	while (iterations < request->clock_iterations) {
		time_adds(iterations, &ns);
		if (ns > request->burst_ns / 4)
			break;
		iterations = min(iterations * 2, request->clock_iterations);
	}
	return iterations;
}

static u64 look_at_clock(u32 iterations)
{
	u64 least = U64_MAX;
	u64 ns;
	int look;

	for (look = 0; look < LOOKS; look++)
		least = min(least, time_adds(iterations, &ns));
	return least;
}

/* How many numbers the next burst has, after one of `size` took `took` ns. */
static u64 next_size(u64 size, u64 took, u64 burst)
{
	u64 fits = div64_u64(size * (burst / 2), max_t(u64, took, 1));

	return clamp_t(u64, fits, 1, size * 4);
}

static bool told_to_stop(struct run *run)
{
	return READ_ONCE(run->stop) || kthread_should_stop();
}

static int one_pass(struct run *run, struct linespeed_pass *pass)
{
	const struct linespeed_request *request = run->request;
	bool off = request->flags & LINESPEED_INTERRUPTS_OFF;
	unsigned long voluntary = current->nvcsw, involuntary = current->nivcsw;
	u64 at = request->from, size = FIRST_BURST, began_ns, began;
	unsigned int cpu, slow = 0;
	u32 iterations;

	memset(pass, 0, sizeof(*pass));
	wake();
	iterations = fitting(request);
	pass->clock_iterations = iterations;
	pass->clock_before = look_at_clock(iterations);
	cpu = raw_smp_processor_id();
	pass->cpu_from = cpu;
	began_ns = ktime_get_ns();
	began = ticks();
	while (at < request->below) {
		u64 to = min(at + size, request->below);
		unsigned long flags = 0;
		u64 from_ns, took, from, inside;

		if (off)
			local_irq_save(flags);
		from_ns = ktime_get_ns();
		from = ticks();
		pass->primes += linespeed_primes(at, to);
		inside = ticks() - from;
		took = ktime_get_ns() - from_ns;
		if (off) {
			local_irq_restore(flags);
			pass->longest_off_ns = max(pass->longest_off_ns, took);
		}
		pass->ticks_inside += inside;
		pass->ticks_whole = ticks() - began;
		pass->bursts++;
		/* A single number takes longer than interrupts may be off, and not by chance. */
		slow = size == 1 && took > request->burst_ns ? slow + 1 : 0;
		if (off && slow == 3)
			return -ETIME;
		at = to;
		size = next_size(size, took, request->burst_ns);
		touch_nmi_watchdog();
		cond_resched();
		if (raw_smp_processor_id() != cpu) {
			cpu = raw_smp_processor_id();
			pass->cpu_changes++;
		}
		if (told_to_stop(run))
			return -EINTR;
	}
	pass->ns_whole = ktime_get_ns() - began_ns;
	pass->cpu_to = raw_smp_processor_id();
	pass->switches = current->nvcsw - voluntary;
	pass->preemptions = current->nivcsw - involuntary;
	pass->clock_after = look_at_clock(iterations);
	pass->crc = crc32_of(linespeed_primes_start, linespeed_primes_end);
	pass->page_offset = (unsigned long)linespeed_primes_start & 0xfff;
	return 0;
}

static int work(void *data)
{
	struct run *run = data;
	u32 pass;

	for (pass = 0; pass < run->request->passes && !run->error; pass++)
		run->error = one_pass(run, &run->passes[pass]);
	complete(&run->done);
	/* Until the other side has seen it: the code must not go while this thread runs it. */
	set_current_state(TASK_INTERRUPTIBLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_INTERRUPTIBLE);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* Starts the thread, waits for its end, and ends it when a signal comes. */
static int run_thread(struct run *run)
{
	struct task_struct *thread;

	thread = kthread_create(work, run, "linespeed");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	/* Kept beyond its end, when all of its time has been counted. */
	get_task_struct(thread);
	if (run->request->flags & LINESPEED_BOUND) {
		/* Held, so that the CPU cannot go between the look and the start. */
		cpus_read_lock();
		if (!cpu_online(run->request->cpu)) {
			cpus_read_unlock();
			kthread_stop(thread);
			put_task_struct(thread);
			return -ENODEV;
		}
		kthread_bind(thread, run->request->cpu);
		wake_up_process(thread);
		cpus_read_unlock();
	} else {
		wake_up_process(thread);
	}
	if (wait_for_completion_interruptible(&run->done)) {
		WRITE_ONCE(run->stop, true);
		wait_for_completion(&run->done);
	}
	kthread_stop(thread);
	run->thread_ns = thread->se.sum_exec_runtime;
	put_task_struct(thread);
	return run->error;
}

int linespeed_run(const struct linespeed_request *request, struct linespeed_answer *answer,
		  struct linespeed_pass *passes)
{
	/* One request runs at a time, and timers are no good on a stack. */
	static struct linespeed_load load;
	struct run run = { .request = request, .passes = passes };
	int error = 0;

	init_completion(&run.done);
	memset(&load, 0, sizeof(load));
	if (request->load_period_ns)
		error = linespeed_load_start(&load, request);
	if (error)
		return error;
	error = run_thread(&run);
	if (request->load_period_ns)
		linespeed_load_stop(&load);
	answer->version = LINESPEED_VERSION;
	answer->passes = request->passes;
	answer->routine_bytes = linespeed_primes_end - linespeed_primes_start;
	answer->clock_bytes = linespeed_adds_end - linespeed_adds_start;
	answer->clock_crc = crc32_of(linespeed_adds_start, linespeed_adds_end);
	answer->clock_offset = (unsigned long)linespeed_adds_start & 0xfff;
	answer->load_count = load.count;
	answer->load_ns = load.worked;
	answer->thread_ns = run.thread_ns;
	return error;
}
