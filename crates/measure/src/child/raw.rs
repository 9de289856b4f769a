//! System calls that touch nothing of this process but what the kernel is told to: no errno, no thread-local state. A child
//! that shares our memory may make these and nothing else.

/// The kernel's own answer: a negative error number when it failed.
///
/// # Safety
/// As the call itself; pointers among the arguments must be what it expects.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn call(number: libc::c_long, arguments: [usize; 4]) -> isize {
    let [a, b, c, d] = arguments;
    let answer: isize;
    // SAFETY: the kernel's convention: number in rax, arguments in rdi, rsi, rdx, r10; rcx and r11 are lost.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => answer,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    answer
}

/// The kernel's own answer: a negative error number when it failed.
///
/// # Safety
/// As the call itself; pointers among the arguments must be what it expects.
#[cfg(target_arch = "aarch64")]
pub(super) unsafe fn call(number: libc::c_long, arguments: [usize; 4]) -> isize {
    let [a, b, c, d] = arguments;
    let answer: isize;
    // SAFETY: the kernel's convention: number in x8, arguments in x0 to x3, the answer in x0.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => answer,
            in("x1") b,
            in("x2") c,
            in("x3") d,
            options(nostack),
        );
    }
    answer
}

/// A signal's disposition as the kernel has it, its handler first; on both instruction sets.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Disposition {
    /// `SIG_DFL`, `SIG_IGN` or a function.
    pub(super) handler: usize,
    flags: usize,
    restorer: usize,
    mask: u64,
}

/// The size of a signal set, which the kernel wants to know.
pub(super) const SIGNALS: usize = size_of::<u64>();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_the_kernels() {
        // SAFETY: neither takes an argument that matters, nor memory.
        let (me, refused) =
            unsafe { (call(libc::SYS_getpid, [0; 4]), call(libc::SYS_close, [usize::MAX, 0, 0, 0])) };
        assert_eq!(me, std::process::id() as isize);
        assert_eq!(refused, -(libc::EBADF as isize));
    }
}
