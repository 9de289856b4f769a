//! Compares our AES-256-IGE with `AES_ige_encrypt` of the OpenSSL library, if it is installed. The test compiles a
//! small C program for this purpose, so that our code does not depend on the library.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kernels::aes_ige::{Key, encrypt};

/// Reads 32 bytes of key, 32 bytes of initialization vector and the blocks. Writes the encrypted blocks and then the
/// updated vector.
const PROGRAM: &str = r#"
#include <openssl/aes.h>
#include <stdio.h>
int main(void) {
    static unsigned char head[64], in[1 << 20], out[1 << 20];
    AES_KEY key;
    size_t bytes;
    if (fread(head, 1, sizeof head, stdin) != sizeof head) return 1;
    bytes = fread(in, 1, sizeof in, stdin);
    AES_set_encrypt_key(head, 256, &key);
    AES_ige_encrypt(in, out, bytes, &key, head + 32, AES_ENCRYPT);
    return fwrite(out, 1, bytes, stdout) != bytes || fwrite(head + 32, 1, 32, stdout) != 32;
}
"#;

/// Compiles the program, or returns the reason why it is unavailable. The function is deprecated in OpenSSL 3 but still
/// available.
fn program(folder: &Path) -> Result<PathBuf, String> {
    let (source, program) = (folder.join("ige.c"), folder.join("ige"));
    std::fs::write(&source, PROGRAM).expect("the test's own folder");
    let built = Command::new("cc")
        .args(["-O2", "-w", "-o"])
        .arg(&program)
        .arg(&source)
        .arg("-lcrypto")
        .output()
        .map_err(|error| format!("no C compiler: cc: {error}"))?;
    let said = String::from_utf8_lossy(&built.stderr);
    if built.status.success() {
        Ok(program)
    } else if said.contains("openssl/aes.h") || said.contains("-lcrypto") {
        Err("no OpenSSL library (Debian: apt-get install libssl-dev)".to_owned())
    } else {
        panic!("the C program does not build:\n{said}")
    }
}

fn openssl(program: &Path, key: &[u8; 32], iv: &[u8; 32], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program just built");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(&[&key[..], &iv[..], input].concat()).expect("the program reads");
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success(), "{}", output.status);
    output.stdout
}

#[test]
fn aes_256_ige_is_what_openssl_computes() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("openssl-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the program");
    match program(&folder) {
        Err(why) => println!("skipped: {why}"),
        Ok(program) => {
            // A xorshift generator: every run has the same bytes.
            let mut state = 0x9e37_79b9_7f4a_7c15u64;
            let mut random = move || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 32) as u8
            };
            // The sizes of `openssl speed`, and one block.
            for blocks in [1, 4, 16, 64, 512, 1024] {
                let key: [u8; 32] = std::array::from_fn(|_| random());
                let start: [u8; 32] = std::array::from_fn(|_| random());
                let input: Vec<u8> = (0..blocks * 16).map(|_| random()).collect();
                let mut output = vec![0; input.len()];
                let mut iv = start;
                encrypt(&input, &mut output, &Key::encrypt(&key), &mut iv);
                output.extend(iv);
                assert!(openssl(&program, &key, &start, &input) == output, "{blocks} blocks encrypted");
            }
            println!("held against OpenSSL");
        }
    }
    std::fs::remove_dir_all(&folder).expect("the program's folder");
}
