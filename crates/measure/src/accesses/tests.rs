use super::code::Set;
use super::instruction::{Kind, Operand, Place};
use super::*;
use proptest::prelude::*;

const RAX: u8 = 0;
const RBX: u8 = 3;
const RBP: u8 = 5;

fn hex(text: &str) -> Vec<u8> {
    text.split_ascii_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// What stands at the given byte of this code of x86-64.
fn site(code: &str, at: usize) -> Site {
    Site::of(Set::X86, &hex(code), at, 0x40_1000 + at as u64)
}

fn base(access: &Option<Access>) -> Place {
    access.as_ref().unwrap().operand.base
}

/// As gcc -O2 makes of `for (…) x = x->next;`: mov (%rbx),%rbx; sub $1,%eax; jne.
const CHASE: &str = "b8 40 42 0f 00 0f 1f 00 48 8b 1b 83 e8 01 75 f8 48 85 db 75 eb";
/// And of `a[i] = b[i] + 3 * c[i]`.
const TRIAD: &str = "66 0f 10 04 02 66 0f 10 54 05 00 66 0f 59 c1 66 0f 58 c2 0f 11 04 03 48 83 c0 10 48 3d 00 00 00 08 75 dd";
/// A sum of doubles, one by one: addsd (%rax),%xmm0; add $8,%rax; cmp %rdx,%rax; jne.
const SUM: &str = "0f 57 c0 f2 0f 58 00 48 83 c0 08 48 39 d0 75 f3 c3";

#[test]
fn a_load_is_found_at_the_instruction_behind_it_and_at_itself() {
    for access in [site(CHASE, 11).before, site(CHASE, 8).next] {
        assert_eq!(base(&access), Place::Register(RBX));
        let access = access.unwrap();
        assert!(!access.sequential && !access.writes && !access.atomic);
        assert_eq!(access.end, 0x40_1000 + 11);
    }
    // One further nothing is named any more.
    let behind = site(CHASE, 14);
    assert!(behind.read && behind.before.is_none() && behind.next.is_none(), "{behind:?}");
}

#[test]
fn an_index_that_a_load_has_overwritten_is_that_of_the_next_round() {
    // As gcc -O2 makes of `k = p[k * 8]`: shl $6,%rbx; mov 0(%rbp,%rbx),%rbx; sub $1,%eax; jne.
    let shifted = "48 c1 e3 06 48 8b 5c 1d 00 83 e8 01 75 f2 c3";
    let wanted = Operand { base: Place::Register(RBP), index: Some((RBX, 6)), offset: 0 };
    assert_eq!(site(shifted, 9).before.unwrap().operand, wanted);
    // Before it is done, it is at the index that it has.
    assert_eq!(site(shifted, 4).next.unwrap().operand.index, Some((RBX, 0)));
    // lea (%rbx,%rax,8),%rax; mov 16(%rax),%rax; sub $1,%edx; jne.
    let summed = "48 8d 04 c3 48 8b 40 10 83 ea 01 75 f3 c3";
    let wanted = Operand { base: Place::Register(RBX), index: Some((RAX, 3)), offset: 16 };
    assert_eq!(site(summed, 8).before.unwrap().operand, wanted);
    // imul $24,%rbx,%rbx in place of the shift: no address tells.
    let multiplied = site("48 6b db 18 48 8b 5c 1d 00 83 e8 01 75 f2 c3", 9);
    assert!(multiplied.hidden && multiplied.before.is_none(), "{multiplied:?}");
    // Shifts that leave nothing: five times shl $60,%rbx in the loop.
    let shifts = "48 c1 e3 3c ".repeat(5);
    let emptied = site(&format!("{shifts}48 8b 5c 1d 00 83 e8 01 75 e2 c3"), 25);
    assert!(emptied.hidden && emptied.before.is_none(), "{emptied:?}");
    // mov (%rdi,%rax,4),%eax; sub $1,%edx; jne: the next index as it is.
    let plain = site("8b 04 87 83 ea 01 75 f8 c3", 3);
    assert_eq!(plain.before.unwrap().operand.index, Some((RAX, 2)));
    // lsl x0, x0, #6; ldr x0, [x1, x0]; subs x2, x2, #1; b.ne .-12
    let words: [u32; 4] = [0xd37a_e400, 0xf860_6820, 0xf100_0442, 0x54ff_ffa1];
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let arm = Site::of(Set::Arm, &code, 8, 0x1000).before.unwrap();
    assert_eq!(arm.operand, Operand { base: Place::Register(1), index: Some((0, 6)), offset: 0 });
}

#[test]
fn streams_go_in_order_whether_by_vectors_or_one_by_one() {
    let vectors = site(TRIAD, 11);
    let access = vectors.before.unwrap();
    assert_eq!(access.operand, Operand { base: Place::Register(RBP), index: Some((RAX, 0)), offset: 0 });
    assert!(access.sequential && !access.writes);
    assert!(site(TRIAD, 19).next.unwrap().writes);
    let sum = site(SUM, 7);
    assert!(sum.before.unwrap().sequential);
    // add $0x100,%rax behind a load of it; a vector whose address a loop makes of what it loaded.
    assert!(site("48 8b 18 48 05 00 01 00 00 75 f5", 0).next.unwrap().sequential);
    let group = "66 0f 6f 04 06 66 0f 7e c0 48 21 c8 75 f2 c3";
    assert!(!site(group, 5).before.unwrap().sequential);
    // rep movsb; mov (%rax,%rcx,4),%eax in a loop that steps another register.
    assert!(site("f3 a4", 0).next.unwrap().sequential);
    assert!(!site("8b 04 88 48 83 c2 01 48 39 d7 75 f4", 0).next.unwrap().sequential);
}

#[test]
fn an_atomic_addition_a_pause_and_the_stack_are_recognised() {
    let add = site("f0 48 0f c1 07 48 83 c0 01", 5);
    assert!(add.before.as_ref().unwrap().atomic && add.before.unwrap().writes);
    assert!(site("87 07 90", 2).before.unwrap().atomic);
    assert!(site("f3 90 8b 07 85 c0 74 f8", 2).spins);
    assert!(!site("66 90 8b 07", 2).spins);
    // mov 8(%rsp),%rax
    assert!(site("48 8b 44 24 08 90", 5).before.is_none());
    // What a return stands before was not executed before it.
    assert!(site("90 c3 8b 07", 2).before.is_none());
}

#[test]
fn arms_loads_stores_and_atomics_are_recognised() {
    let of = |words: &[u32], at: usize| {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Site::of(Set::Arm, &code, 4 * at, 0x1000)
    };
    // ldr x0, [x0]; subs x1, x1, #1; b.ne .-8
    let chase = of(&[0xf940_0000, 0xf100_0421, 0x54ff_ffc1], 1);
    let load = chase.before.unwrap();
    assert_eq!((load.operand.base, load.sequential), (Place::Register(0), false));
    // ldr d1, [x0], #8; ldp q0, q1, [x1, #32]; stp q2, q3, [x0]
    assert!(of(&[0xfc40_8401], 0).next.unwrap().sequential);
    let pair = of(&[0xad41_0420, 0xad00_0c02], 0).next.unwrap();
    assert_eq!((pair.operand.offset, pair.sequential, pair.writes), (32, true, false));
    assert!(of(&[0xad00_0c02], 0).next.unwrap().writes);
    // ldr d0, [x0, x2, lsl #3]; add x2, x2, #1; cmp x2, x3; b.ne .-12
    assert!(of(&[0xfc62_7800, 0x9100_0442, 0xeb03_005f, 0x54ff_ffa1], 1).before.unwrap().sequential);
    // ldadd x1, x2, [x0]; ldxr x0, [x1]; yield; ldr x0, [sp, #8]
    assert!(of(&[0xf821_0002], 0).next.unwrap().atomic);
    assert!(of(&[0xc85f_7c20], 0).next.unwrap().atomic);
    assert!(of(&[0xd503_203f], 0).spins);
    assert!(of(&[0xf940_07e0], 0).next.is_none());
}

#[test]
fn the_address_of_what_is_done_counts_where_there_is_memory() {
    // mov 8(%rbx),%rbx: the next node; mov (%rax),%eax: a number, where there is no memory; vpgatherdd.
    let (next, number) = (site("48 8b 5b 08 90", 4), site("8b 00 90", 2));
    let gather = site("c4 e2 6d 90 04 8f 90", 6);
    let mut sample =
        Sample { pid: 1, tid: 1, cpu: 0, time: 0, ip: 0, registers: [0; crate::counters::REGISTERS] };
    sample.registers[usize::from(RBX)] = 0x7f00_0000_0000;
    let memory = |address: u64| (address >= 0x1_0000).then_some(Mapped::Own);
    let seen = |site: &Site| see(&sample, site, Instant::now(), memory);
    assert_eq!((seen(&next).touches[0].unwrap().address, seen(&next).hidden), (0x7f00_0000_0008, false));
    assert_eq!((seen(&number).touches[0], seen(&number).hidden), (None, true));
    assert!(seen(&gather).hidden && gather.before.is_none());
}

#[test]
fn own_memory_is_there_and_address_nothing_is_not() {
    let machine = machine::inspect(&Root::live()).machine;
    // /proc shows the memory of an emulator of user programs.
    let emulated = machine.virtualization.emulated == Some(true);
    let here = std::hint::black_box([1_u8; 64]);
    let own = std::process::id() as i32;
    assert!(code::mapped(own, here.as_ptr() as u64) == Some(Mapped::Own) || emulated);
    assert!(
        [(own, 64), (own, u64::MAX), (i32::MAX, 4096)]
            .iter()
            .all(|(pid, at)| code::mapped(*pid, *at).is_none())
    );
    let code = Site::read(own, spread::of as *const () as u64);
    assert!(code.read || emulated);
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
        ip: 0x40_1000 + number % 3,
        read: true,
        spins: false,
        hidden: false,
        touches: [touch(number), None],
    };
    (0..count).map(one).collect()
}

fn judged(all: &[Seen]) -> Sampled {
    judge(all, |_| true, &Caches::one(32 << 20))
}

fn at(address: u64) -> Touch {
    Touch { address, atomic: false, writes: false, sequential: false, shared: false }
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
    assert!((0.7..0.8).contains(&far.far) && far.sequential == 0.0, "{far:?}");
    let bytes = far.working_set.unwrap() / f64::from(1 << 20);
    assert!((200.0..1000.0).contains(&bytes), "{bytes}");
    let near = judged(&samples(300, |number| Some(at(somewhere(number, 8)))));
    assert_eq!((near.far, near.working_set), (0.0, None));
    let stream =
        judged(&samples(300, |number| Some(Touch { sequential: true, ..at(somewhere(number, 512)) })));
    assert_eq!((stream.far, stream.sequential), (1.0, 1.0));
    assert_eq!(judged(&[]), Sampled::default());
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
    let together = judge(&all, |_| true, &caches);
    assert!(together.far > 0.9, "{together:?}");
    let gib = together.working_set.unwrap() / f64::from(1 << 30);
    assert!((1.0..4.0).contains(&gib), "{gib}");
    // One of them is judged beside the others; alone it fits.
    let one = judge(&all, |one| one.pid == 1, &caches);
    assert!(one.samples == 150 && one.far > 0.9, "{one:?}");
    let alone: Vec<Seen> = of(1, false).collect();
    assert_eq!(judge(&alone, |_| true, &caches).far, 0.0);
    let shared: Vec<Seen> = (1..=16).flat_map(|pid| of(pid, true)).collect();
    assert_eq!(judge(&shared, |_| true, &caches).far, 0.0);
}

#[test]
fn lines_that_threads_write_on_several_cpus_are_shared_and_no_others() {
    let atomic = |address| Touch { atomic: true, ..at(address) };
    let shared = judged(&samples(100, |number| (number % 10 != 0).then(|| atomic(0x1000))));
    assert_eq!((shared.shared, shared.far), (0.9, 0.0));
    // Lines that are read alone; lines of each thread's own; one CPU that both take turns on.
    assert_eq!(judged(&samples(100, |_| Some(at(0x1000)))).shared, 0.0);
    assert_eq!(judged(&samples(100, |number| Some(atomic(0x1000 + number % 2 * 64)))).shared, 0.0);
    let mut in_turns = samples(100, |_| Some(atomic(0x1000)));
    in_turns.iter_mut().for_each(|one| one.cpu = 0);
    assert_eq!(judged(&in_turns).shared, 0.0);
    // Two that have the same stack one after the other.
    let mut after = samples(100, |_| Some(atomic(0x1000)));
    after
        .iter_mut()
        .enumerate()
        .for_each(|(at, one)| (one.tid, one.cpu) = ((at / 50) as i32, (at / 50) as u32));
    assert_eq!(judged(&after).shared, 0.0);
    // One writes, one reads what was written.
    let write = |number: u64| Some(Touch { writes: number.is_multiple_of(2), ..at(0x1008 + number % 2 * 8) });
    assert_eq!(judged(&samples(100, write)).shared, 1.0);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_fault(bytes in proptest::collection::vec(any::<u8>(), 0..300), before in 0_usize..200) {
        for set in [Set::X86, Set::Arm] {
            let site = Site::of(set, &bytes, before, 0xffff_ffff_ffff_fff0);
            prop_assert!(site.read || (site.before.is_none() && site.next.is_none()));
            let see = see_all(&site);
            prop_assert!(see.touches.len() == 2);
        }
        if let Some(one) = x86_64::decode(&bytes) {
            prop_assert!(one.length >= 1 && one.length <= x86_64::LONGEST && one.length <= bytes.len());
            prop_assert!(one.kind != Kind::Atomic || one.operand.is_some() || one.length > 1);
        }
    }

    #[test]
    fn any_samples_give_shares(touched in proptest::collection::vec((any::<u64>(), 0_i32..3, any::<bool>()), 1..200)) {
        let all: Vec<Seen> = touched.iter().map(|(address, tid, writes)| Seen {
            at: Instant::now(), time: 0, pid: 1, tid: *tid, cpu: *tid as u32, ip: address % 5, read: *writes, spins: *writes, hidden: !*writes,
            touches: [Some(Touch { writes: *writes, ..at(*address) }), None],
        }).collect();
        let said = judged(&all);
        for share in [said.far, said.shared, said.spinning, said.hidden] {
            prop_assert!((0.0..=1.0).contains(&share));
        }
        prop_assert!(said.sequential <= said.far && said.unread <= said.samples);
    }
}

fn see_all(site: &Site) -> Seen {
    let sample =
        Sample { pid: 1, tid: 1, cpu: 0, time: 0, ip: 0, registers: [u64::MAX; crate::counters::REGISTERS] };
    see(&sample, site, Instant::now(), |address| (address % 2 == 0).then_some(Mapped::Shared))
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
        let Some(operand) = one.operand else {
            let touches = named.is_some_and(|named| named.base != "rsi" && named.base != "rdi");
            let hint = ["lea", "nop", "prefetch", "addr32", "gather"].iter().any(|word| words.contains(word));
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
            assert!(one.operand.is_none(), "{line}");
            others += 1;
            continue;
        };
        let mut parts = inside.split(", ");
        let base = parts.next().unwrap();
        let base = if base == "sp" { 31 } else { base.trim_start_matches('x').parse().unwrap() };
        let operand = one.operand.unwrap_or_else(|| panic!("{line}"));
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
