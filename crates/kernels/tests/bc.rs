//! Compares the long numbers with those of `bc`: results are compared with stored digests of their text, and the
//! digests with the output of `bc` if it is installed. The full computation takes `bc` a minute, and runs only if
//! LINESPEED_TEST_EVERYTHING is set; otherwise, `bc` computes smaller numbers.

use std::process::{Command, Stdio};

use kernels::bignum::{self, Limb, PI_DIGITS, POWER};
use sha2::{Digest, Sha256};

/// The output of `echo "7^999999" | BC_LINE_LENGTH=0 bc | sha256sum`.
const POWER_DIGEST: &str = "8c44e8b0e0f82040ea5b80bd1399afde53a2c0b154488dbb93dbe1fa079443d7";

/// The digest of the first 5001 digits of π without the decimal point.
const PI_DIGEST: &str = "b95e5928b39b97647c06c22132efc0b23874f62aa7c386f744555c86a1e68fcc";

/// Number of inexact digits at the end of `bc`'s π: `bc` truncates each step to the requested scale.
const INEXACT: usize = 3;

fn text(number: &[Limb]) -> String {
    let digits: String = number.iter().rev().map(|limb| format!("{limb:018}")).collect();
    digits.trim_start_matches('0').to_owned()
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The output of `bc -l` for `input`, on one line; `None` if `bc` is not installed.
fn bc(input: &str) -> Option<String> {
    let child = Command::new("bc")
        .arg("-l")
        .env("BC_LINE_LENGTH", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            println!("skipped: bc cannot be run ({error}); Debian: apt-get install bc");
            return None;
        }
    };
    std::io::Write::write_all(&mut child.stdin.take()?, input.as_bytes()).expect("bc reads");
    let output = child.wait_with_output().expect("bc ends");
    assert!(output.status.success(), "bc: {}", output.status);
    Some(String::from_utf8(output.stdout).expect("bc prints digits"))
}

/// Whether `bc` should do the full computation.
fn everything() -> bool {
    std::env::var_os("LINESPEED_TEST_EVERYTHING").is_some_and(|value| !value.is_empty())
}

/// The exponent and the digits of π that `bc` computes within a second.
const SMALL: (u32, usize) = (99_999, 800);

fn power(exponent: u32) -> (Vec<Limb>, usize) {
    let (limbs, scratch) = bignum::power_limbs();
    let (mut result, mut scratch) = (vec![0; limbs], vec![0; scratch]);
    let used = bignum::power(POWER.0, exponent, &mut result, &mut scratch);
    (result, used)
}

fn pi(digits: usize) -> (Vec<Limb>, usize) {
    let (limbs, scratch) = bignum::pi_limbs(digits);
    let (mut result, mut scratch) = (vec![0; limbs], vec![0; scratch]);
    let used = bignum::pi(digits, &mut result, &mut scratch);
    (result, used)
}

#[test]
fn the_power_is_bcs() {
    let (result, used) = power(POWER.1);
    assert_eq!(bignum::check(&result[..used]), bignum::POWER_CHECK);
    assert_eq!(digest(&(text(&result[..used]) + "\n")), POWER_DIGEST);
    let exponent = if everything() { POWER.1 } else { SMALL.0 };
    // With bc's library loaded, a power of integers is still an integer.
    if let Some(theirs) = bc(&format!("{}^{exponent}\n", POWER.0)) {
        let (result, used) = power(exponent);
        assert_eq!(theirs, text(&result[..used]) + "\n", "bc prints something else");
    }
}

#[test]
fn pi_is_bcs() {
    let (result, used) = pi(PI_DIGITS);
    assert_eq!(bignum::check(&result[..used]), bignum::PI_CHECK);
    assert_eq!(digest(&text(&result[..used])), PI_DIGEST);
    let digits = if everything() { PI_DIGITS } else { SMALL.1 };
    if let Some(theirs) = bc(&format!("scale={digits}; 4*a(1)\n")) {
        let theirs: String = theirs.chars().filter(char::is_ascii_digit).collect();
        let (result, used) = pi(digits);
        let ours = text(&result[..used]);
        assert_eq!(theirs.len(), ours.len());
        assert_eq!(theirs[..theirs.len() - INEXACT], ours[..ours.len() - INEXACT]);
    }
}
