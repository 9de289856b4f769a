/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The routine and the dependent adds, as the program has them: primes.bin and adds.bin are its own bytes. They are
 * laid as there: the routine at the begin of a page, the adds at the begin of 64 bytes. Kernels may put a few bytes
 * of their own before a function that is called, so there are 64 bytes of nops.
 *
 * The returns are plain ones, whatever the kernel makes of its own: other bytes would be another routine.
 */
#include <linux/linkage.h>
#include "returns.h"
#ifdef CONFIG_X86
#include <asm/nospec-branch.h>
#define PLAIN_RETURN ANNOTATE_RETPOLINE_SAFE
#define TRAP 0xcc
#define NOPS 64
#else
#define PLAIN_RETURN
#define TRAP 0
#define NOPS 16
#endif

	.section .linespeed.text, "ax", %progbits
	.balign 4096
page:
	.rept NOPS
	nop
	.endr
	.balign 64
	.globl linespeed_adds
	.type linespeed_adds, %function
	.globl linespeed_adds_start
linespeed_adds_start:
linespeed_adds:
	.incbin "adds.bin", 0, ADDS_RETURN
	PLAIN_RETURN
	.incbin "adds.bin", ADDS_RETURN
	.size linespeed_adds, . - linespeed_adds
	.globl linespeed_adds_end
linespeed_adds_end:

	.skip 4096 - 64 - (. - page), TRAP
	.rept NOPS
	nop
	.endr
	.balign 4096
	.globl linespeed_primes
	.type linespeed_primes, %function
	.globl linespeed_primes_start
linespeed_primes_start:
linespeed_primes:
	.incbin "primes.bin", 0, PRIMES_RETURN_1
	PLAIN_RETURN
	.incbin "primes.bin", PRIMES_RETURN_1, PRIMES_RETURN_2 - PRIMES_RETURN_1
	PLAIN_RETURN
	.incbin "primes.bin", PRIMES_RETURN_2
	.size linespeed_primes, . - linespeed_primes
	.globl linespeed_primes_end
linespeed_primes_end:
	.skip 4096 - (. - linespeed_primes_start), TRAP

	.section .note.GNU-stack, "", %progbits
