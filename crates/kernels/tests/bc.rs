//! Holds the long numbers against `bc`, whose work they do: each of its results by the digest of its text, and the
//! digests against what `bc` itself prints, where it is installed.

use std::process::{Command, Stdio};

use kernels::bignum::{self, Limb, PI_DIGITS, POWER};
use sha2::{Digest, Sha256};

/// What `echo "7^999999" | BC_LINE_LENGTH=0 bc | sha256sum` prints.
const POWER_DIGEST: &str = "8c44e8b0e0f82040ea5b80bd1399afde53a2c0b154488dbb93dbe1fa079443d7";

/// The digest of the first 5001 digits of π without the point.
const PI_DIGEST: &str = "b95e5928b39b97647c06c22132efc0b23874f62aa7c386f744555c86a1e68fcc";

/// Digits at the end of `bc`'s π that are not π's: it cuts each step off at the scale that was asked for.
const INEXACT: usize = 3;

fn text(number: &[Limb]) -> String {
    let mut text = String::new();
    bignum::write_decimal(number, &mut |digit| text.push(char::from(digit)));
    text
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What `bc -l` says to `input`, in one line; nothing when it is not installed.
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

#[test]
fn the_power_is_bcs() {
    let (limbs, scratch) = bignum::power_limbs();
    let (mut result, mut scratch) = (vec![0; limbs], vec![0; scratch]);
    let used = bignum::power(POWER.0, POWER.1, &mut result, &mut scratch);
    assert_eq!(bignum::check(&result[..used]), bignum::POWER_CHECK);
    assert_eq!(digest(&(text(&result[..used]) + "\n")), POWER_DIGEST);
    // With bc's library loaded a power of whole numbers is still whole.
    if let Some(theirs) = bc(&format!("{}^{}\n", POWER.0, POWER.1)) {
        assert_eq!(digest(&theirs), POWER_DIGEST, "bc prints something else");
    }
}

#[test]
fn pi_is_bcs() {
    let (limbs, scratch) = bignum::pi_limbs(PI_DIGITS);
    let (mut result, mut scratch) = (vec![0; limbs], vec![0; scratch]);
    let used = bignum::pi(PI_DIGITS, &mut result, &mut scratch);
    assert_eq!(bignum::check(&result[..used]), bignum::PI_CHECK);
    let ours = text(&result[..used]);
    assert_eq!(digest(&ours), PI_DIGEST);
    if let Some(theirs) = bc(&format!("scale={PI_DIGITS}; 4*a(1)\n")) {
        let theirs: String = theirs.chars().filter(char::is_ascii_digit).collect();
        assert_eq!(theirs.len(), ours.len());
        assert_eq!(theirs[..theirs.len() - INEXACT], ours[..ours.len() - INEXACT]);
    }
}
