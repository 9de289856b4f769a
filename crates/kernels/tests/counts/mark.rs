//! Combines the output of the example `count` with the instructions counted between its marks.

use crate::Count;

/// The name of the function that the example calls between runs.
pub const MARK: &str = "linespeed_count_mark";

/// The kernels that the example reports as run (one line each: name, declared difference of the two runs), each with
/// the counts of its two runs. `between` contains the instructions from each mark to the next: for each kernel, the
/// counts of its two runs and, except for the last kernel, the count up to the next kernel.
pub fn pair(listed: &str, between: &[u64]) -> Vec<Count> {
    let kernels: Vec<(String, u64)> = listed
        .lines()
        .map(|line| {
            let (name, declared) = line.rsplit_once(' ').expect("a name and a number");
            (name.to_owned(), declared.parse().expect("a number of instructions"))
        })
        .collect();
    assert_eq!(
        between.len() + 1,
        3 * kernels.len(),
        "the counter saw other runs than the example made; was its symbol table stripped?"
    );
    let runs = between.chunks(3);
    kernels.into_iter().zip(runs).map(|((name, declared), run)| (name, declared, run[0], run[1])).collect()
}
