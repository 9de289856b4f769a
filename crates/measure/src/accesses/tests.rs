use super::ahead::Ahead;
use super::caches::Caches;
use super::code::{Code, Set, Waits};
use super::instruction::{Place, Registers};
use super::judge::judge;
use super::sighting::Touch;
use super::*;
use crate::counters::{REGISTERS, Sample};
use proptest::prelude::*;
use record::live::MemoryLevel;

const RAX: u8 = 0;
const RCX: u8 = 1;
const RBX: u8 = 3;
const RBP: u8 = 5;
const R8: u8 = 8;

/// Where all code of these tests begins.
const START: u64 = 0x40_1000;

fn hex(text: &str) -> Vec<u8> {
    text.split_ascii_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// What stands at the given byte of this code of x86-64.
fn site(code: &str, at: u64) -> Site {
    Site::of(Code::new(Set::X86, START, &hex(code)), START + at)
}

/// The same of AArch64, at the given instruction.
fn arm(words: &[u32], at: u64) -> Site {
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Site::of(Code::new(Set::Arm, START, &code), START + 4 * at)
}

/// At which byte of the code the load stands that a place waits for, and whether its address is still there.
fn awaited(site: &Site) -> Option<(u64, bool)> {
    site.load.map(|load| (load.at - START, load.intact))
}

/// A sample at the given byte, with these registers.
fn sample(at: u64, registers: &[(u8, u64)]) -> Sample {
    let mut all = [0; REGISTERS];
    registers.iter().for_each(|(number, value)| all[usize::from(*number)] = *value);
    let (ip, stack) = (START + at, Vec::new());
    Sample { pid: 1, tid: 1, cpu: 0, time: 0, ip, in_kernel: false, registers: all, stack }
}

/// What a sample sees of memory of which these values are known.
fn seen(code: &str, sample: &Sample, values: &[(u64, u64)]) -> Seen {
    let mut site = site(code, sample.ip - START);
    let page = |address: u64| (address >= 0x1_0000).then_some(Mapped::Own);
    let value = |address: u64, _: u8| values.iter().find(|(at, _)| *at == address).map(|(_, value)| *value);
    see(sample, &mut site, Instant::now(), page, value, &mut |_| None)
}

/// As gcc -O2 makes of `for (…) x = x->next;`: mov (%rbx),%rbx; sub $1,%eax; jne.
const CHASE: &str = "b8 40 42 0f 00 0f 1f 00 48 8b 1b 83 e8 01 75 f8 48 85 db 75 eb";
/// As gcc -O2 makes of `p = a[p * 8]; sink = p;`, unrolled twice: shl $6,%rcx; mov (%r8,%rcx),%rcx; mov %rcx,sink(%rip), both again;
/// sub $1,%eax; jne.
const UNROLLED: &str = "48 c1 e1 06 49 8b 0c 08 48 89 0d 00 30 00 00 48 c1 e1 06 49 8b 0c 08 48 89 0d 00 30 00 00 83 e8 01 75 dd c3";
/// The same list without optimization: mov -0x18(%rbp),%rax; mov (%rax),%rax; mov %rax,-0x18(%rbp); subl $1,-4(%rbp); jne.
const UNOPTIMIZED: &str = "48 8b 45 e8 48 8b 00 48 89 45 e8 83 6d fc 01 75 ef c3";
/// A search tree: cmp %rdx,(%rax); je out; jb right; mov 8(%rax),%rax; test; jne; out: ret; right: mov 16(%rax),%rax; test; jne.
const TREE: &str = "48 39 10 74 0d 72 0c 48 8b 40 08 48 85 c0 75 f0 90 90 c3 48 8b 40 10 48 85 c0 75 e4 c3";
/// A sum of doubles, one by one: addsd (%rax),%xmm0; add $8,%rax; cmp %rdx,%rax; jne.
const SUM: &str = "0f 57 c0 f2 0f 58 00 48 83 c0 08 48 39 d0 75 f3 c3";

#[test]
fn a_sample_belongs_to_the_load_whose_value_it_waits_for() {
    // The instruction behind the load, and the load itself, which waits for that of the round before.
    assert_eq!((awaited(&site(CHASE, 11)), awaited(&site(CHASE, 8))), (Some((8, false)), Some((8, false))));
    // What consumes the value: the store, and the shift of the next round.
    for (at, load) in [(8, 4), (15, 4), (23, 19), (0, 19)] {
        assert_eq!(awaited(&site(UNROLLED, at)), Some((load, false)), "{at}");
    }
    assert_eq!(awaited(&site(UNOPTIMIZED, 7)), Some((4, false)));
    // The branch waits for what was compared with memory, through the flags.
    for at in [3, 5] {
        assert_eq!(awaited(&site(TREE, at)), Some((0, true)), "{at}");
    }
    // A load whose base another load has set.
    assert_eq!(awaited(&site(TREE, 0)).map(|(at, _)| at), Some(7));
    // mov (%rdi,%rax,8),%rcx; add %rcx,%rdx: the index is there still.
    assert_eq!(awaited(&site("48 8b 0c c7 48 01 ca c3", 4)), Some((0, true)));
}

#[test]
fn an_address_that_nothing_else_shows_is_computed_again_from_the_stack() {
    const FRAME: u64 = 0x7ffc_0000_0100;
    let frame = [(RBP, FRAME), (4, FRAME - 0x40), (RAX, 0x7f00_0000_9000)];
    // As gcc -O0 makes of `node = table->buckets[index];`: mov -0x18(%rbp),%rax; mov (%rax),%rax; mov -0x20(%rbp),%rdx; shl $3,%rdx;
    // add %rdx,%rax; mov (%rax),%rax; mov %rax,-8(%rbp); ret.
    let bucket = "48 8b 45 e8 48 8b 00 48 8b 55 e0 48 c1 e2 03 48 01 d0 48 8b 00 48 89 45 f8 c3";
    let values = [(FRAME - 0x18, 0x6000_0000), (0x6000_0000, 0x7f00_0000_0000), (FRAME - 0x20, 5)];
    let of_bucket = seen(bucket, &sample(21, &frame), &values);
    assert_eq!(
        (of_bucket.touches[0].map(|touch| touch.address), of_bucket.hidden),
        (Some(0x7f00_0000_0028), false)
    );
    // Of `*get(&x)`: mov -0x18(%rbp),%rax; mov %rax,%rdi; call get; mov (%rax),%rax; mov %rax,-8(%rbp); ret; get: push %rbp;
    // mov %rsp,%rbp; mov %rdi,-8(%rbp); mov -8(%rbp),%rax; pop %rbp; ret.
    let call = "48 8b 45 e8 48 89 c7 e8 08 00 00 00 48 8b 00 48 89 45 f8 c3 55 48 89 e5 48 89 7d f8 48 8b 45 f8 5d c3";
    let of_call = seen(call, &sample(15, &frame), &[(FRAME - 0x18, 0x7f00_0000_0400)]);
    assert_eq!(
        (of_call.touches[0].map(|touch| touch.address), of_call.hidden),
        (Some(0x7f00_0000_0400), false)
    );
    // Not behind a change of the stack pointer, whose old value nothing shows: mov %rsp,%rbp; sub $0x30,%rsp; mov (%rax),%rax; mov.
    assert_eq!(site("48 89 e5 48 83 ec 30 48 8b 00 48 89 45 f8 c3", 10).load.unwrap().replay, None);
    // Nor around a branch's target, which may be reached on another way: xor %eax,%eax; mov (%rax),%rax; dec %ecx; jne to the load.
    assert_eq!(site("48 31 c0 48 8b 00 ff c9 75 f9 c3", 6).load.unwrap().replay, None);
}

#[test]
fn what_is_no_wait_for_a_load_is_its_own_class() {
    // div %rcx; mov %rax,%rbx. mulsd %xmm1,%xmm0; addsd %xmm0,%xmm2. lock xadd %rax,(%rdi); add $1,%rax.
    assert_eq!(site("48 f7 f1 48 89 c3 c3", 3).waits, Waits::Long);
    assert_eq!(site("f2 0f 59 c1 f2 0f 58 d0 c3", 4).waits, Waits::Float);
    let atomic = site("f0 48 0f c1 07 48 83 c0 01 c3", 5);
    assert_eq!((atomic.waits, atomic.load.unwrap().atomic), (Waits::Atomic, true));
    // xchg has no prefix. mfence; mov. A place that a branch leads to and that needs nothing.
    assert_eq!(site("87 07 90 c3", 2).waits, Waits::Atomic);
    assert_eq!(site("0f ae f0 b8 01 00 00 00 c3", 3).waits, Waits::Atomic);
    assert_eq!(site("75 02 90 90 b9 01 00 00 00 c3", 4).waits, Waits::Jump);
    assert_eq!(site("90 90 b9 01 00 00 00 c3", 2).waits, Waits::Computes);
    // clflush (%rax); mfence; mov (%rax),%ecx; add %ecx,%edx
    assert!(site("0f ae 38 0f ae f0 8b 08 01 ca c3", 8).flushes && !site(CHASE, 11).flushes);
}

#[test]
fn loops_that_only_look_spin_and_others_do_not() {
    // pthread_spin_lock: pause; cmpl $0,(%rdi); jle .-5. A flag that is waited for without a pause: mov (%rdi),%eax; test; je.
    for at in [0, 2, 5] {
        assert!(site("f3 90 83 3f 00 7e f9 c3", at).spins, "{at}");
    }
    assert!(site("8b 07 85 c0 74 fa c3", 2).spins);
    // lock cmpxchg %ecx,(%rdi); jne .-4 of its start.
    assert!(site("f0 0f b1 0f 75 fa c3", 4).spins);
    // A list, a sum, a search without end in a table.
    for (code, at) in [(CHASE, 11), (SUM, 7), (UNOPTIMIZED, 7), ("8b 04 87 83 c0 01 75 f8 c3", 3)] {
        assert!(!site(code, at).spins, "{code}");
    }
}

#[test]
fn an_address_that_was_overwritten_is_that_of_the_next_round() {
    let address = |seen: Seen| seen.touches[0].map(|touch| touch.address);
    let list = sample(11, &[(RBX, 0x7f00_0000_1040)]);
    assert_eq!(address(seen(CHASE, &list, &[])), Some(0x7f00_0000_1040));
    // The value that was loaded is an index: shifted, and added to the array's start.
    let index = sample(8, &[(RCX, 3), (R8, 0x7f00_0000_0000)]);
    let found = seen(UNROLLED, &index, &[]);
    assert_eq!(
        (address(found.clone()), found.hidden, found.touches[0].unwrap().place),
        (Some(0x7f00_0000_00c0), false, START + 4)
    );
    // Through its place on the stack: stored there, and loaded from there again.
    let stored = sample(7, &[(RAX, 0x7f00_0000_2080), (RBP, 0x7ffc_0000_0100), (4, 0x7ffc_0000_0000)]);
    assert_eq!(address(seen(UNOPTIMIZED, &stored, &[])), Some(0x7f00_0000_2080));
    // imul $24,%rbx,%rbx; mov (%rbp,%rbx),%rbx; sub; jne: computed, too.
    let multiplied = sample(9, &[(RBX, 5), (RBP, 0x7f00_0000_0000)]);
    assert_eq!(
        address(seen("48 6b db 18 48 8b 5c 1d 00 83 e8 01 75 f2 c3", &multiplied, &[])),
        Some(0x7f00_0000_0078)
    );
    // crc32 %rbx,%rbx in place of it: no address tells, and that is said.
    let hashed = sample(11, &[(RBX, 5), (RBP, 0x7f00_0000_0000)]);
    let lost = seen("f2 48 0f 38 f1 db 48 8b 5c 1d 00 83 e8 01 75 f0 c3", &hashed, &[]);
    assert!(lost.hidden && lost.touches[0].is_none() && lost.load.is_some(), "{lost:?}");
    // A number that was loaded is no address.
    assert!(seen("8b 00 90", &sample(2, &[(RAX, 1)]), &[]).touches[0].is_none());
}

#[test]
fn a_load_in_a_function_of_its_own_is_followed_through_its_return() {
    // f: mov (%rdi),%rax; ret; nop to 16. The loop: mov 8(%rsp),%rdi; call f; mov %rax,8(%rsp); jmp.
    let code = format!("48 8b 07 c3 {} 48 8b 7c 24 08 e8 e6 ff ff ff 48 89 44 24 08 eb ef", "90 ".repeat(12));
    let mut sample = sample(3, &[(RAX, 0x7f00_0000_6000), (7, 0x7f00_0000_2000), (4, 0x7ffc_0000_0000)]);
    // What it goes back to, and a place of the caller's.
    sample.stack = [START + 26, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    let next = seen(&code, &sample, &[]);
    assert_eq!(next.touches[0].map(|touch| (touch.place, touch.address)), Some((START, 0x7f00_0000_2000)));
    // Where the load has overwritten its address: mov (%rax),%rax; ret, of a loop with mov 8(%rsp),%rax.
    let code = format!("48 8b 00 c3 {} 48 8b 44 24 08 e8 e6 ff ff ff 48 89 44 24 08 eb ef", "90 ".repeat(12));
    let next = seen(&code, &sample, &[]);
    assert_eq!((next.touches[0].map(|touch| touch.address), next.hidden), (Some(0x7f00_0000_6000), false));
}

#[test]
fn what_the_stack_holds_is_what_it_held_at_the_sample() {
    // mov -0x18(%rbp),%rax; mov 8(%rax),%rax; add %rax,-8(%rbp); mov -0x18(%rbp),%rax; mov (%rax),%rax; mov %rax,-0x18(%rbp); jmp
    let code = "48 8b 45 e8 48 8b 40 08 48 01 45 f8 48 8b 45 e8 48 8b 00 48 89 45 e8 eb e7";
    let mut sample = sample(8, &[(RBP, 0x7ffc_0000_0020), (4, 0x7ffc_0000_0000)]);
    sample.stack = [0_u64, 0x7f00_0000_4000, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    let memory = [(0x7f00_0000_4000, 0x7f00_0000_8000)];
    let next = seen(code, &sample, &memory);
    assert_eq!(next.touches[0].map(|touch| touch.address), Some(0x7f00_0000_8008));
    // What memory holds now is one value for all samples that are taken at once: the second tells nothing new.
    let mut site = site(code, 8);
    let (now, page) = (Instant::now(), |_| Some(Mapped::Own));
    let value = |address: u64, _: u8| {
        Some(if address < 0x7ff0_0000_0000 { 0x7f00_0000_c000 } else { 0x7f00_0000_4000 })
    };
    sample.stack.clear();
    let first = see(&sample, &mut site, now, page, value, &mut |_| None);
    let second = see(&sample, &mut site, now, page, value, &mut |_| None);
    assert!(first.touches[0].is_some() && !first.hidden, "{first:?}");
    assert!(second.touches[0].is_none() && second.hidden, "{second:?}");
}

#[test]
fn streams_go_in_short_strides_and_walks_of_pages_do_not() {
    let order = |code: &str, sample: &Sample| {
        let mut site = site(code, sample.ip - START);
        let see = |site: &mut Site| {
            see(sample, site, Instant::now(), |_| Some(Mapped::Own), |_, _| None, &mut |_| None)
        };
        see(&mut site);
        see(&mut site).touches[0].unwrap().sequential
    };
    // A sum one by one waits for the sum before, unless it waits where lines begin.
    let sum = seen(SUM, &sample(7, &[(RAX, 0x7f00_0000_0000), (2, 0x7f00_1000_0000)]), &[]);
    let weight = sum.touches[0].map(|touch| touch.weight);
    assert_eq!((sum.waits, sum.load, weight), (Waits::Float, None, Some(1.0)));
    // mov (%rax),%bl; add $0x1000,%rax; cmp %rdx,%rax; jne; and with add $0x40.
    let pages = "8a 18 48 05 00 10 00 00 48 39 d0 75 f3 c3";
    let lines = "8a 18 48 05 40 00 00 00 48 39 d0 75 f3 c3";
    let at = sample(2, &[(RAX, 0x7f00_0000_0000), (2, 0x7f00_1000_0000)]);
    assert_eq!((order(pages, &at), order(lines, &at)), (false, true));
    assert!(!order(CHASE, &sample(11, &[(RBX, 0x7f00_0000_0000)])));
    // rep movsb.
    assert!(order("f3 a4 c3", &sample(2, &[(6, 0x7f00_0000_0000), (7, 0x7f10_0000_0000)])));
}

#[test]
fn arms_loads_are_attributed_and_followed() {
    // ldr x0, [x0]; subs x1, x1, #1; b.ne .-8
    let chase = [0xf940_0000, 0xf100_0421, 0x54ff_ffc1];
    for at in [0, 1] {
        assert_eq!(awaited(&arm(&chase, at)), Some((0, false)));
    }
    // lsl x0, x0, #6; ldr x0, [x1, x0]; subs x2, x2, #1; b.ne .-12
    let indexed = [0xd37a_e400, 0xf860_6820, 0xf100_0442, 0x54ff_ffa1];
    let site = arm(&indexed, 2);
    assert_eq!(awaited(&site), Some((4, false)));
    let mut registers = [0; 32];
    let mut none = |_: u64| None;
    (registers[0], registers[1]) = (7, 0x5000);
    let code = site.code.unwrap();
    let mut ahead =
        Ahead::new((&code, &mut none), (START + 8, 0), &registers, Registers::default(), |_, _| None);
    let found = std::iter::from_fn(|| ahead.step()).find(|step| step.at == START + 4);
    assert_eq!(found.unwrap().address, Some(0x5000 + 7 * 64));
    // ldr w3, [x1], #4; add w0, w0, w3; cmp x1, x2; b.ne: the base moves on, twice in two rounds.
    let stream = [0xb840_4423, 0x0b03_0000, 0xeb02_003f, 0x54ff_ffa1];
    let site = arm(&stream, 1);
    assert_eq!(awaited(&site), Some((0, false)));
    let code = site.code.unwrap();
    (registers[1], registers[2]) = (0x6000, 0x9000);
    let mut ahead =
        Ahead::new((&code, &mut none), (START + 4, 0), &registers, Registers::default(), |_, _| None);
    let steps: Vec<u64> = std::iter::from_fn(|| ahead.step())
        .filter(|step| step.at == START)
        .filter_map(|step| step.address)
        .take(3)
        .collect();
    assert_eq!(steps, [0x6000, 0x6004, 0x6008]);
    // ldr x3, [x0, #8]; cmp x3, x4; csel x0, x5, x6, lo: through the flags.
    assert_eq!(awaited(&arm(&[0xf940_0403, 0xeb04_007f, 0x9a86_30a0], 2)), Some((0, true)));
    // udiv; fdiv; ldadd; dmb ish; yield in a loop that looks.
    assert_eq!(arm(&[0x9ac1_0800, 0x9100_0402], 1).waits, Waits::Long);
    assert_eq!(arm(&[0x1e61_1800, 0x1e61_2802], 1).waits, Waits::Long);
    assert_eq!(arm(&[0xf821_0002, 0x9100_0442], 1).waits, Waits::Atomic);
    assert_eq!(arm(&[0xd503_3bbf, 0xd280_0020], 1).waits, Waits::Atomic);
    assert!(arm(&[0xd503_203f, 0xb940_0001, 0x34ff_ffc1], 1).spins);
}

#[test]
fn arms_long_vectors_are_known_or_said_to_be_unknown() {
    // As gcc -O3 -march=armv8-a+sve makes of `for (…) s += a[i]`: ld1d {z1.d}, p0/z, [x0, x1, lsl #3]; incd x1; add z0.d, p0/m, z0.d, z1.d;
    // whilelo p0.d, w1, w2; b.any .-16
    let sum = [0xa5e1_4001, 0x04f0_e3e1, 0x04c0_0020, 0x25e2_0c20, 0x54ff_ff81];
    let load = arm(&sum, 2).load.unwrap();
    assert_eq!((load.at, load.memory.order), (START, super::instruction::Order::Vector));
    let operand = load.memory.at.unwrap();
    assert_eq!((operand.base, operand.index), (Place::Register(0), Some((1, 3))));
    assert!(!load.intact, "incd has moved its index");
    // ld1d {z1.d}, p0/z, [x0, z2.d, lsl #3]; add z0.d, z0.d, z1.d: a gather's addresses are unknown, and no 0 %.
    let gather = arm(&[0xc5e2_c001, 0x04e1_0000], 1);
    assert!(gather.load.is_some_and(|load| load.memory.at.is_none() && load.at == START));
    let one = Seen { hidden: true, load: Some(START), ..samples(1, |_| None).remove(0) };
    let far = judged(&vec![one; 100]).far;
    assert_eq!((far.count, far.high), (0, 1.0));
}

#[test]
fn own_memory_is_there_and_address_nothing_is_not() {
    let machine = machine::inspect(&Root::live()).machine;
    // /proc shows the memory of an emulator of user programs.
    let emulated = machine.virtualization.emulated == Some(true);
    let here = std::hint::black_box([1_u8; 64]);
    let own = Pages::of(std::process::id() as i32);
    let at = here.as_ptr() as u64;
    assert!(own.at(at) == Some(Mapped::Own) || emulated);
    assert!([64, u64::MAX].iter().all(|at| own.at(*at).is_none() && own.value(*at, 8).is_none()));
    assert!(Pages::of(i32::MAX).at(4096).is_none());
    assert!(own.value(at, 4) == Some(0x0101_0101) || emulated);
    assert!(
        [0, 1, u64::MAX, u64::MAX - 4096]
            .iter()
            .all(|at| Site::read(&own, *at).code.is_none_or(|code| code.at(*at).is_none()))
    );
    let code = Site::read(&own, spread::of as *const () as u64);
    assert!(code.code.is_some() || emulated);
}

/// The sites of the instructions of a loop in this binary, which is of either instruction set.
fn own_loop(bytes: &[u8]) -> Vec<Site> {
    let start = bytes.as_ptr();
    let code = Code::new(Set::default(), start as u64, bytes);
    let mut at = start as u64;
    let next = || {
        let here = at;
        at += code.at(here).map(|one| one.length as u64).filter(|length| *length > 0)?;
        Some(Site::of(code.clone(), here))
    };
    std::iter::from_fn(next).collect()
}

#[test]
fn our_own_loops_are_what_they_are() {
    let loads = |sites: &[Site]| sites.iter().filter(|site| site.load.is_some()).count();
    // SAFETY: code is readable, and others follow this function.
    let chase = unsafe { std::slice::from_raw_parts(kernels::chase::chase as *const u8, 640) };
    let chase = own_loop(chase);
    assert!(loads(&chase) + 2 >= kernels::chase::UNROLL as usize, "{} of {}", loads(&chase), chase.len());
    let adds = own_loop(kernels::adds::code());
    assert!(adds.len() > 10 && loads(&adds) == 0, "{} of {}", loads(&adds), adds.len());
    let primes = own_loop(kernels::primes::code());
    assert!(loads(&primes) == 0 && primes.iter().any(|site| site.waits == Waits::Long), "{}", loads(&primes));
}

/// Samples of threads in turn, of which these say what memory they name.
fn samples(count: u64, touch: impl Fn(u64) -> Option<Touch>) -> Vec<Seen> {
    let now = Instant::now();
    let one = |number: u64| Seen {
        at: now,
        time: number,
        pid: 7,
        tid: 7 + (number % 2) as i32,
        cpu: (number % 2) as u32,
        decoded: true,
        spins: false,
        load: Some(START + number % 3),
        hidden: false,
        flushed: false,
        remote: false,
        waits: Waits::Computes,
        touches: [touch(number).map(|touch| Touch { place: START + number % 3, ..touch }), None],
    };
    (0..count).map(one).collect()
}

fn judged(all: &[Seen]) -> Sampled {
    judge(all, |_| true, 0, &Caches::one(32 << 20))
}

fn at(address: u64) -> Touch {
    Touch {
        place: START,
        address,
        atomic: false,
        writes: false,
        sequential: false,
        shared: false,
        weight: 1.0,
    }
}

/// A line somewhere in so many MiB.
fn somewhere(number: u64, mib: u64) -> u64 {
    // SplitMix64's mixing.
    let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 20;
    0x7f00_0000_0000 + mixed % (mib << 14) * 64
}

#[test]
fn what_goes_through_more_than_the_cache_is_told_from_what_fits_it() {
    let far = judged(&samples(300, |number| (number % 4 != 0).then(|| at(somewhere(number, 512)))));
    assert!((0.7..0.8).contains(&far.far.share) && far.sequential.count == 0, "{far:?}");
    let bytes = far.working_set.unwrap() / f64::from(1 << 20);
    assert!((200.0..1000.0).contains(&bytes), "{bytes}");
    let near = judged(&samples(300, |number| Some(at(somewhere(number, 8)))));
    assert_eq!((near.far.count, near.last_cache.count), (0, 300));
    let stream =
        judged(&samples(300, |number| Some(Touch { sequential: true, ..at(somewhere(number, 512)) })));
    assert_eq!((stream.far.count, stream.sequential.count), (300, 300));
    assert_eq!((judged(&[]).samples, judged(&[]).far.high), (0, 1.0));
}

#[test]
fn what_goes_through_memory_in_order_waits_for_it_at_the_first_element_of_a_line() {
    // add (%rax),%rcx; add $8,%rax; cmp %rdx,%rax; jne.
    const INTEGERS: &str = "48 03 08 48 83 c0 08 48 39 d0 75 f4 c3";
    let touch = |number: u64, offset: u64| {
        let address = somewhere(number, 512) + offset;
        let seen = seen(INTEGERS, &sample(3, &[(RAX, address), (2, address + 0x10_0000)]), &[]);
        seen.touches[0].filter(|touch| touch.sequential && touch.address == address)
    };
    let of = |offset: fn(u64) -> u64| judged(&samples(320, |number| touch(number, offset(number))));
    let (waits, computes) = (of(|_| 0), of(|number| number % 8 * 8));
    assert_eq!((waits.far.count, waits.sequential.count), (320, 320));
    assert_eq!((computes.far.count, computes.sequential.count), (0, 0));
    assert!(computes.far.high > 0.0);
    // sub $8,%rax; add (%rax),%rcx; cmp %rdx,%rax; jne: backwards the last element of a line is the first.
    const BACKWARDS: &str = "48 83 e8 08 48 03 08 48 39 d0 75 f4 c3";
    // vpaddd (%rax),%ymm0,%ymm0; add $32,%rax; cmp %rdx,%rax; jne: behind malloc's 16 bytes each second vector is in two lines.
    const VECTORS: &str = "90 90 90 90 90 90 90 90 c5 fd fe 00 48 83 c0 20 48 39 d0 75 f3 c3";
    // addsd (%rax),%xmm0; add $8,%rax; cmp %rdx,%rax; jne: a sum of doubles, of which many threads wait for memory.
    const DOUBLES: &str = "f2 0f 58 00 48 83 c0 08 48 39 d0 75 f3 c3";
    for (code, ip, end, offsets, first) in [
        (INTEGERS, 3, 0x10_0000, 0..8, 0),
        (BACKWARDS, 7, -0x10_0000, 0..8, 7),
        (VECTORS, 12, 0x10_0000, 0..2, 1),
        (DOUBLES, 4, 0x10_0000, 0..8, 0),
    ] {
        let each = 64 / offsets.end;
        let touch = |number: u64, element: u64| {
            let address = somewhere(number, 512) + element * each + if each == 32 { 16 } else { 0 };
            let end = address.wrapping_add_signed(end);
            let seen = seen(code, &sample(ip, &[(RAX, address), (2, end)]), &[]);
            seen.touches.into_iter().flatten().find(|touch| touch.address == address)
        };
        let of =
            |element: &dyn Fn(u64) -> u64| judged(&samples(320, |number| touch(number, element(number))));
        let (waits, computes) = (of(&|_| first), of(&|number| number % offsets.end));
        assert_eq!((waits.far.count, waits.sequential.count, computes.far.count), (320, 320, 0), "{code}");
    }
    // Elements as long as a line are all the first.
    let lines = samples(320, |number| Some(Touch { sequential: true, ..at(somewhere(number, 512)) }));
    assert_eq!(judged(&lines).far.count, 320);
}

#[test]
fn memory_of_another_node_is_remote_and_that_of_both_is_not() {
    let mut machine = record::Machine::default();
    for (level, bytes) in [(1, 32 << 10), (2, 512 << 10), (3, 32 << 20)] {
        let cpus = "0-1".parse().unwrap();
        let kind = record::machine::CacheKind::Unified;
        machine.caches.push(record::machine::Cache {
            level,
            kind,
            bytes: Some(bytes),
            line: None,
            ways: None,
            cpus,
        });
    }
    let curve = [(16 << 10, 1.1), (256 << 10, 3.8), (4 << 20, 15.0), (64 << 20, 110.0), (512 << 20, 115.0)];
    let curve = curve.map(|(bytes, ns)| CurvePoint { bytes, ns });
    let caches = Caches::of(&machine, &curve);
    let level = |remote: fn(u64) -> bool| {
        let all = samples(300, |number| Some(at(somewhere(number, 512))));
        let all: Vec<Seen> = all.into_iter().map(|one| Seen { remote: remote(one.time), ..one }).collect();
        let sampled = judge(&all, |_| true, 0, &caches);
        (sampled.level, sampled.remote.count)
    };
    assert_eq!(level(|_| true), (Some(MemoryLevel::Remote), 300));
    assert_eq!(level(|number| number % 2 == 0), (Some(MemoryLevel::Dram), 150));
    assert_eq!(level(|_| false), (Some(MemoryLevel::Dram), 0));
}

#[test]
fn the_node_of_a_page_is_told_for_another_process_too() {
    let here = Box::new(7u64);
    let node = os::node_of_page(std::process::id() as i32, &raw const *here as u64);
    assert!(node.is_none_or(|node| node < 1024), "{node:?}");
    assert_eq!(os::node_of_page(std::process::id() as i32, 64), None);
}

#[test]
fn programs_that_run_together_share_the_cache_and_memory_of_all_is_wanted_once() {
    // 16 processes with 128 MiB each, at the same addresses.
    let of = |pid: i32, shared: bool| {
        let touch = |number| Touch { shared, ..at(somewhere(number * 16 + pid as u64, 128)) };
        let one = move |one: Seen| Seen { pid, tid: pid, cpu: pid as u32, ..one };
        samples(150, |number| Some(touch(number))).into_iter().map(one)
    };
    let caches = Caches::one(300 << 20);
    let all: Vec<Seen> = (1..=16).flat_map(|pid| of(pid, false)).collect();
    let together = judge(&all, |_| true, 0, &caches);
    assert!(together.far.share > 0.9, "{together:?}");
    let gib = together.working_set.unwrap() / f64::from(1 << 30);
    assert!((1.0..4.0).contains(&gib), "{gib}");
    // One of them is judged beside the others; alone it fits.
    let one = judge(&all, |one| one.pid == 1, 0, &caches);
    assert!(one.samples == 150 && one.far.share > 0.9, "{one:?}");
    let alone: Vec<Seen> = of(1, false).collect();
    assert_eq!(judge(&alone, |_| true, 0, &caches).far.count, 0);
    let shared: Vec<Seen> = (1..=16).flat_map(|pid| of(pid, true)).collect();
    assert_eq!(judge(&shared, |_| true, 0, &caches).far.count, 0);
}

#[test]
fn lines_that_threads_write_on_several_cpus_are_shared_and_no_others() {
    let atomic = |address| Touch { atomic: true, ..at(address) };
    let shared = judged(&samples(100, |number| (number % 10 != 0).then(|| atomic(0x1000))));
    assert_eq!((shared.shared.count, shared.far.count), (90, 0));
    // Lines that are read alone; lines of each thread's own; one CPU that both take turns on.
    assert_eq!(judged(&samples(100, |_| Some(at(0x1000)))).shared.count, 0);
    assert_eq!(judged(&samples(100, |number| Some(atomic(0x1000 + number % 2 * 64)))).shared.count, 0);
    let mut in_turns = samples(100, |_| Some(atomic(0x1000)));
    in_turns.iter_mut().for_each(|one| one.cpu = 0);
    assert_eq!(judged(&in_turns).shared.count, 0);
    // Two that have the same stack one after the other.
    let mut after = samples(100, |_| Some(atomic(0x1000)));
    after
        .iter_mut()
        .enumerate()
        .for_each(|(at, one)| (one.tid, one.cpu) = ((at / 50) as i32, (at / 50) as u32));
    assert_eq!(judged(&after).shared.count, 0);
    // One writes, one reads what was written.
    let write = |number: u64| Some(Touch { writes: number.is_multiple_of(2), ..at(0x1008 + number % 2 * 8) });
    assert_eq!(judged(&samples(100, write)).shared.count, 100);
}

#[test]
fn loads_whose_address_is_not_known_are_like_those_of_their_place_or_leave_it_open() {
    let far = |number: u64| Some(at(somewhere(number, 512)));
    let hide = |mut all: Vec<Seen>, every: usize| {
        for one in all.iter_mut().step_by(every) {
            (one.hidden, one.touches) = (true, [None; 2]);
        }
        all
    };
    let mixed = judged(&hide(samples(300, far), 2));
    assert_eq!((mixed.far.count, mixed.hidden.count), (300, 0));
    let open = judged(&hide(samples(300, far), 1));
    assert_eq!((open.far.count, open.hidden.count, open.loads.count), (0, 300, 300));
    assert!(open.far.high > 0.99 && open.far.low == 0.0, "{:?}", open.far);
    // Nothing of what was not decoded is counted, and all shares have an upper bound.
    let mut undecoded = samples(300, far);
    undecoded
        .iter_mut()
        .take(200)
        .for_each(|one| (one.decoded, one.load, one.touches) = (false, None, [None; 2]));
    let rest = judged(&undecoded);
    assert_eq!((rest.undecoded, rest.decoded(), rest.far.count), (200, 100, 100));
    assert!([rest.shared, rest.spinning, rest.long].iter().all(|share| share.high > 0.0));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_fault(bytes in proptest::collection::vec(any::<u8>(), 0..300), before in 0_u64..200, register in any::<u64>()) {
        for set in [Set::X86, Set::Arm] {
            let start = 0xffff_ffff_ffff_ff00_u64;
            let mut site = Site::of(Code::new(set, start, &bytes), start.wrapping_add(before));
            prop_assert!(site.code.is_some() || (site.load.is_none() && site.own.is_none()));
            let mut sample = sample(0, &[]);
            (sample.ip, sample.registers) = (start.wrapping_add(before), [register; REGISTERS]);
            let seen = see(&sample, &mut site, Instant::now(), |at| (at % 2 == 0).then_some(Mapped::Shared), |at, _| Some(at ^ 1), &mut |_| None);
            prop_assert!(seen.touches.len() == 2);
        }
        if let Some(one) = x86_64::decode(&bytes) {
            prop_assert!(one.length >= 1 && one.length <= x86_64::LONGEST && one.length <= bytes.len());
            prop_assert_eq!(x86_64::length(&bytes), Some(one.length));
        }
    }

    #[test]
    fn any_samples_give_shares(touched in proptest::collection::vec((any::<u64>(), 0_i32..3, any::<bool>()), 1..200)) {
        let mut all = samples(touched.len() as u64, |number| Some(at(touched[number as usize].0)));
        for (one, (_, tid, odd)) in all.iter_mut().zip(&touched) {
            (one.tid, one.cpu, one.decoded, one.spins, one.hidden) = (*tid, *tid as u32, *odd, *odd, !*odd);
        }
        let said = judged(&all);
        for share in [said.far, said.shared, said.spinning, said.hidden, said.loads] {
            prop_assert!(share.high > 0.0 && share.high <= 1.0 && share.low >= 0.0);
        }
        prop_assert!(said.sequential.count <= said.far.count && said.undecoded <= said.samples);
    }
}

/// What binutils' disassembler says of each instruction of a library.
#[cfg(target_arch = "x86_64")]
fn disassembled(program: &str, library: &str) -> Option<String> {
    let done =
        std::process::Command::new(program).args(["-d", "-w", "-j", ".text", library]).output().ok()?;
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
}

#[test]
#[cfg(target_arch = "x86_64")]
fn lengths_and_operands_are_those_of_a_disassembler() {
    let listing = disassembled("objdump", "/lib/x86_64-linux-gnu/libc.so.6").expect("objdump (binutils)");
    let (mut all, mut of_memory, mut undecoded) = (0_u32, 0_u32, Vec::new());
    for line in listing.lines() {
        let mut parts = line.split('\t').skip(1);
        let (Some(bytes), Some(words)) = (parts.next(), parts.next()) else { continue };
        if words.contains("(bad)") {
            continue;
        }
        let bytes = hex(bytes);
        all += 1;
        let Some(one) = x86_64::decode(&bytes) else {
            undecoded.push(line.to_owned());
            continue;
        };
        assert_eq!(one.length, bytes.len(), "{line}");
        let named = written_operand(words);
        // What string instructions name is in registers that are written or not.
        let Some(operand) = one.memory.and_then(|memory| memory.at) else {
            let touches = named.is_some_and(|named| named.base != "rsi" && named.base != "rdi");
            let hint = ["lea", "nop", "prefetch", "addr32", "gather", "clflush", "clwb"]
                .iter()
                .any(|word| words.contains(word));
            assert!(!touches || hint, "{line}");
            continue;
        };
        let Some(named) = named else { continue };
        let index = operand.index.map(|(index, shift)| (register_name(index), shift));
        assert_eq!((name_of(operand.base), index), (named.base, named.index), "{line}");
        if operand.base != Place::Next {
            assert_eq!(operand.offset, named.offset, "{line}");
        }
        of_memory += 1;
    }
    assert!(all > 100_000 && of_memory > 30_000, "{all} {of_memory}");
    let few = &undecoded[..undecoded.len().min(20)];
    assert!(undecoded.len() * 2000 < all as usize, "{} of {all}: {few:?}", undecoded.len());
}

/// Base registers and offsets of AArch64's loads and stores.
#[test]
#[cfg(target_arch = "x86_64")]
fn arms_operands_are_those_of_a_disassembler() {
    let library = "/usr/aarch64-linux-gnu/lib/libc.so.6";
    let Some(listing) = disassembled("aarch64-linux-gnu-objdump", library) else {
        return eprintln!(
            "skipped arms_operands_are_those_of_a_disassembler: no cross binutils and C library"
        );
    };
    let (mut of_memory, mut others) = (0_u32, 0_u32);
    for line in listing.lines() {
        let mut parts = line.split('\t').skip(1);
        let (Some(word), Some(name)) = (parts.next(), parts.next()) else { continue };
        let (Ok(word), words) = (u32::from_str_radix(word.trim(), 16), parts.next().unwrap_or("")) else {
            continue;
        };
        let one = aarch64::decode(&word.to_le_bytes()).unwrap();
        let inside =
            words.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(inside, _)| inside);
        let moves = ["ld", "st", "swp", "cas"].iter().any(|start| name.starts_with(start));
        // Tags of memory, and vectors of a length of their own.
        if ["ldg", "stg", "stgp", "st2g", "stzg", "stz2g"].contains(&name)
            || words.starts_with('z')
            || words.contains("{z")
        {
            continue;
        }
        let Some(inside) = inside.filter(|_| moves) else {
            // Literals are of the code; hints and prefetches wait for nothing.
            assert!(one.memory.is_none(), "{line}");
            others += 1;
            continue;
        };
        let mut parts = inside.split(", ");
        let base = parts.next().unwrap();
        let base = if base == "sp" { 31 } else { base.trim_start_matches('x').parse().unwrap() };
        let operand = one.memory.and_then(|memory| memory.at).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(operand.base, Place::Register(base), "{line}");
        let before = !words.contains("]!") && !words.contains("], ");
        if let (Some(offset), true) = (parts.next().and_then(|offset| offset.strip_prefix('#')), before) {
            assert_eq!(operand.offset, offset.parse::<i64>().unwrap(), "{line}");
        }
        of_memory += 1;
    }
    assert!(of_memory > 30_000 && others > 30_000, "{of_memory} {others}");
}

#[cfg(target_arch = "x86_64")]
fn register_name(number: u8) -> String {
    const FIRST: [&str; 8] = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"];
    FIRST.get(usize::from(number)).map_or_else(|| format!("r{number}"), |name| (*name).to_owned())
}

#[cfg(target_arch = "x86_64")]
fn name_of(base: Place) -> String {
    match base {
        Place::Nothing => String::new(),
        Place::Register(number) => register_name(number),
        Place::Next => "rip".to_owned(),
    }
}

#[cfg(target_arch = "x86_64")]
/// An operand as it is written: `0x10(%rax,%rbx,4)`.
struct Written {
    base: String,
    /// A register and its shift.
    index: Option<(String, u8)>,
    offset: i64,
}

#[cfg(target_arch = "x86_64")]
fn written_operand(words: &str) -> Option<Written> {
    let words = words.split(['#', '<']).next()?;
    if ["%fs:", "%gs:", "%es:", "%ds:"].iter().any(|segment| words.contains(segment)) {
        return None;
    }
    let open = words.find('(')?;
    let (before, inside) = (&words[..open], words[open + 1..].split(')').next()?);
    let offset = before.rsplit([' ', ',', ':', '*']).next()?;
    let digits = offset.trim_start_matches('-').trim_start_matches("0x");
    let value = if digits.is_empty() { 0 } else { i64::from_str_radix(digits, 16).ok()? };
    let mut parts = inside.split(',').map(|part| part.trim_start_matches('%').to_owned());
    let base = parts.next()?;
    let index = parts.next().filter(|index| index != "riz");
    let shift = parts.next().map_or(0, |scale| scale.parse::<u32>().map_or(0, u32::trailing_zeros) as u8);
    let offset = if offset.starts_with('-') { -value } else { value };
    Some(Written { base, index: index.map(|index| (index, shift)), offset })
}
