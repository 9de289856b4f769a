// SPDX-License-Identifier: GPL-2.0
/*
 * The device /dev/linespeed: takes requests, checks every number of them, and gives results as data.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/uaccess.h>

#include "linespeed.h"

/* What a read gives: the answer, then its passes. */
struct results {
	struct linespeed_answer answer;
	struct linespeed_pass passes[LINESPEED_PASSES_MAX];
};

/* One who has the device open at a time, and what came of the last request. */
static atomic_t opened = ATOMIC_INIT(0);
static DEFINE_MUTEX(lock);
static struct results results;
static size_t results_bytes;

static bool is_cpu(u32 cpu)
{
	return cpu < nr_cpu_ids && cpu_online(cpu);
}

/* 0 when all of it makes sense; otherwise the error. */
static int check(const struct linespeed_request *r)
{
	if (r->version != LINESPEED_VERSION || r->reserved)
		return -EINVAL;
	if (r->flags & ~(LINESPEED_BOUND | LINESPEED_INTERRUPTS_OFF))
		return -EINVAL;
	if (r->below > LINESPEED_BELOW_MAX || r->from > r->below)
		return -EINVAL;
	if (!r->passes || r->passes > LINESPEED_PASSES_MAX)
		return -EINVAL;
	if (r->burst_ns < LINESPEED_BURST_MIN || r->burst_ns > LINESPEED_BURST_MAX)
		return -EINVAL;
	if (!r->clock_iterations || r->clock_iterations > LINESPEED_CLOCK_MAX)
		return -EINVAL;
	if (!(r->flags & LINESPEED_BOUND) && r->cpu)
		return -EINVAL;
	if (!is_cpu(r->cpu) && r->flags & LINESPEED_BOUND)
		return -ENODEV;
	if (!r->load_period_ns)
		return r->load_busy_ns || r->load_cpu ? -EINVAL : 0;
	if (r->load_period_ns < LINESPEED_LOAD_PERIOD_MIN || r->load_period_ns > LINESPEED_LOAD_PERIOD_MAX)
		return -EINVAL;
	if (!r->load_busy_ns || r->load_busy_ns > min_t(u32, r->load_period_ns / 2, LINESPEED_LOAD_BUSY_MAX))
		return -EINVAL;
	return is_cpu(r->load_cpu) ? 0 : -ENODEV;
}

static int device_open(struct inode *inode, struct file *file)
{
	if (!capable(CAP_SYS_MODULE))
		return -EPERM;
	if (atomic_cmpxchg(&opened, 0, 1))
		return -EBUSY;
	return 0;
}

static int device_release(struct inode *inode, struct file *file)
{
	results_bytes = 0;
	atomic_set(&opened, 0);
	return 0;
}

static ssize_t device_write(struct file *file, const char __user *from, size_t bytes, loff_t *at)
{
	struct linespeed_request request;
	int error;

	if (mutex_lock_interruptible(&lock))
		return -EINTR;
	/* Whoever is refused reads nothing, rather than what came of a request before. */
	results_bytes = 0;
	error = -EINVAL;
	if (bytes != sizeof(request))
		goto out;
	error = -EFAULT;
	if (copy_from_user(&request, from, sizeof(request)))
		goto out;
	error = check(&request);
	if (error)
		goto out;
	memset(&results, 0, sizeof(results));
	error = linespeed_run(&request, &results.answer, results.passes);
	if (!error)
		results_bytes = offsetof(struct results, passes) + request.passes * sizeof(results.passes[0]);
out:
	mutex_unlock(&lock);
	return error ? error : (ssize_t)bytes;
}

static ssize_t device_read(struct file *file, char __user *to, size_t bytes, loff_t *at)
{
	ssize_t given;

	if (mutex_lock_interruptible(&lock))
		return -EINTR;
	given = simple_read_from_buffer(to, bytes, at, &results, results_bytes);
	mutex_unlock(&lock);
	return given;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.read = device_read,
	.write = device_write,
	.llseek = default_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "linespeed",
	.fops = &operations,
	.mode = 0600,
};

static int __init linespeed_init(void)
{
	BUILD_BUG_ON(sizeof(struct linespeed_request) != 56);
	BUILD_BUG_ON(sizeof(struct linespeed_answer) != 48);
	BUILD_BUG_ON(sizeof(struct linespeed_pass) != 96);
	return misc_register(&device);
}

static void __exit linespeed_exit(void)
{
	misc_deregister(&device);
}

module_init(linespeed_init);
module_exit(linespeed_exit);
MODULE_DESCRIPTION("linespeed: one routine in kernel mode, with and without interrupts");
MODULE_LICENSE("GPL");
