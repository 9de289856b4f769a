// SPDX-License-Identifier: GPL-2.0
/*
 * Timer interrupts of a known rate and length on one CPU: a cost that is known, for testing whether it is found.
 */
#include <linux/cpu.h>
#include <linux/ktime.h>
#include <linux/smp.h>
#include <linux/version.h>

#include "linespeed.h"

#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 4, 0)
#define MODE HRTIMER_MODE_REL_PINNED_HARD
#else
#define MODE HRTIMER_MODE_REL_PINNED
#endif

static enum hrtimer_restart fired(struct hrtimer *timer)
{
	struct linespeed_load *load = container_of(timer, struct linespeed_load, timer);
	u64 begin = ktime_get_ns();
	u64 now = begin;

	while (now - begin < load->busy) {
		cpu_relax();
		now = ktime_get_ns();
	}
	load->count++;
	load->worked += now - begin;
	/* Those that were missed are left out, and at least a half of the period is everybody's. */
	hrtimer_forward_now(timer, ns_to_ktime(load->period));
	if (ktime_to_ns(hrtimer_expires_remaining(timer)) < (s64)(load->period / 2))
		hrtimer_add_expires_ns(timer, load->period);
	return HRTIMER_RESTART;
}

static void start(void *data)
{
	struct linespeed_load *load = data;

	hrtimer_start(&load->timer, ns_to_ktime(load->period), MODE);
}

int linespeed_load_start(struct linespeed_load *load, const struct linespeed_request *request)
{
	load->period = request->load_period_ns;
	load->busy = request->load_busy_ns;
	load->count = 0;
	load->worked = 0;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&load->timer, fired, CLOCK_MONOTONIC, MODE);
#else
	hrtimer_init(&load->timer, CLOCK_MONOTONIC, MODE);
	load->timer.function = fired;
#endif
	return smp_call_function_single(request->load_cpu, start, load, 1);
}

void linespeed_load_stop(struct linespeed_load *load)
{
	hrtimer_cancel(&load->timer);
}
