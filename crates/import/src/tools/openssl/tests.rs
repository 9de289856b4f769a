//! Real outputs and their expected results.

use crate::tools::testing::{damaged, figures, import, the};
use proptest::prelude::*;
use record::Label;
use record::detail;

const ONE: &str = include_str!("../../../tests/texts/openssl-3.0.txt");
const MULTI: &str = include_str!("../../../tests/texts/openssl-3.0-multi.txt");
const KEYS: &str = include_str!("../../../tests/texts/openssl-3.0-keys.txt");
const MACHINE: &str = include_str!("../../../tests/texts/openssl-3.0-mr.txt");
const OLD: &str = "# openssl speed aes-256-ige -multi 32\nForked child 0\n+DT:aes-256 ige:3:16\n+R:16801049:aes-256 ige:3.000000\nGot: \
    +F:22:aes-256 ige:89602860.00:97498370.00:98271490.00:98399910.00:89101650.00 from 0\nOpenSSL 1.0.2k-fips  26 Jan 2017\nbuilt \
    on: reproducible build\noptions:bn(64,64) md2(int)\nThe 'numbers' are in 1000s of bytes per second processed.\ntype             16 \
    bytes     64 bytes    256 bytes   1024 bytes   8192 bytes\naes-256 ige    2642742.25k  2690638.98k  2703860.74k  2734114.82k  \
    2680422.40k\n";

#[test]
fn rates_are_bytes_a_second_by_block_size_and_processes() {
    let imported = import(OLD);
    assert_eq!(
        figures(&imported),
        [
            "workload.throughput workload=openssl speed aes-256-ige bytes=16 threads=32: 2642742250",
            "workload.throughput workload=openssl speed aes-256-ige bytes=64 threads=32: 2690638980",
            "workload.throughput workload=openssl speed aes-256-ige bytes=256 threads=32: 2703860740",
            "workload.throughput workload=openssl speed aes-256-ige bytes=1024 threads=32: 2734114820",
            "workload.throughput workload=openssl speed aes-256-ige bytes=8192 threads=32: 2680422400",
        ]
    );
    assert_eq!(imported.measurements[0].detail.get(detail::WORK), Some("B"));
    assert_eq!(imported.import.outputs[0].version.as_deref(), Some("1.0.2k-fips"));
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
}

#[test]
fn a_row_of_a_document_takes_the_usual_sizes_and_says_so() {
    let imported = import(
        "> openssl speed aes-256-ige -multi 1\n\n| Kunpeng | aes-256 ige     133174.89k   140578.99k   142156.46k   142663.34k   143196.16 |\n| -- | -- |\n",
    );
    let all = figures(&imported);
    assert_eq!(all.len(), 5, "{all:#?}");
    let first = &imported.measurements[0];
    assert_eq!((first.value(), first.labels.count(Label::Bytes)), (133_174_890.0, Some(16)));
    assert_eq!(imported.measurements[4].value(), 143_196_160.0);
    assert!(first.detail.has(detail::BYTES_FROM));
}

#[test]
fn versions_of_today_are_read_without_a_line_left() {
    for (text, figure) in [
        (ONE, "workload.throughput workload=openssl speed aes-256-cbc bytes=1024 threads=1: 1032994650"),
        (
            MULTI,
            "workload.throughput workload=openssl speed -evp aes-256-gcm bytes=16384 threads=2: 7595114500",
        ),
        (KEYS, "workload.throughput workload=openssl speed rsa 2048 bits signatures threads=1: 3846.2"),
        (
            KEYS,
            "workload.throughput workload=openssl speed 256 bits ecdsa (nistp256) verifications threads=1: 16839.8",
        ),
        (
            KEYS,
            "workload.throughput workload=openssl speed 253 bits ecdh (x25519) exchanges threads=1: 31633",
        ),
        (MACHINE, "workload.throughput workload=openssl speed aes-128-cbc bytes=16384 threads=1: 1429700608"),
        (MACHINE, "workload.throughput workload=openssl speed rsa 2048 bits signatures threads=1: 3882"),
    ] {
        let imported = import(text);
        assert!(
            figures(&imported).iter().any(|line| line == figure),
            "{figure} in {:#?}",
            figures(&imported)
        );
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }
}

#[test]
fn tables_of_keys_have_a_figure_for_each_work() {
    let text = "                   sign    verify    encrypt   decrypt   sign/s verify/s  encr./s  decr./s\nrsa  4096 bits \
        0.003301s 0.000048s 0.000049s 0.003311s    302.9  20869.5  20523.2    302.0\n                               keygen    \
        encaps    decaps keygens/s  encaps/s  decaps/s\n                    rsa2048 0.025462s 0.000009s 0.000332s      39.3  \
        106302.6    3012.7\n                 ML-KEM-512 0.000012s 0.000010s 0.000015s   83333.3  100000.0   66666.7\n        \
                               keygen     signs    verify keygens/s    sign/s  verify/s\n                    rsa2048 0.025833s 0.000335s \
        0.000008s      38.7    2989.2  118107.3\n                  ML-DSA-44 0.000060s 0.000200s 0.000050s   16666.7    5000.0   20000.0\n";
    let imported = import(text);
    let all: Vec<String> = figures(&imported)
        .iter()
        .map(|line| line.replace("workload.throughput workload=openssl speed ", ""))
        .collect();
    assert_eq!(
        all,
        [
            "rsa 4096 bits signatures: 302.9",
            "rsa 4096 bits verifications: 20869.5",
            "rsa 4096 bits encryptions: 20523.2",
            "rsa 4096 bits decryptions: 302",
            "kem-rsa2048 keys made: 39.3",
            "kem-rsa2048 encapsulations: 106302.6",
            "kem-rsa2048 decapsulations: 3012.7",
            "kem-ml-kem-512 keys made: 83333.3",
            "kem-ml-kem-512 encapsulations: 100000",
            "kem-ml-kem-512 decapsulations: 66666.7",
            "signature-rsa2048 keys made: 38.7",
            "signature-rsa2048 signatures: 2989.2",
            "signature-rsa2048 verifications: 118107.3",
            "signature-ml-dsa-44 keys made: 16666.7",
            "signature-ml-dsa-44 signatures: 5000",
            "signature-ml-dsa-44 verifications: 20000",
        ]
    );
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    // A row without a header, as in documents.
    let row = text.lines().nth(1).unwrap();
    assert_eq!(figures(&import(row)).len(), 4);
    let machine =
        "+H:16:64:256:1024:8192:16384\n+F2:4:4096:302.900000:20869.500000:20523.200000:302.000000\n";
    let numbered = import(&format!("{machine}+F9:0:39.3:106302.6:3012.7\n"));
    assert_eq!((numbered.measurements.len(), numbered.import.not_understood.lines), (4, 1));
    let last = figures(&import(machine)).pop();
    assert_eq!(
        last.as_deref(),
        Some("workload.throughput workload=openssl speed rsa 4096 bits decryptions: 302")
    );
}

#[test]
fn seconds_of_old_versions_are_no_rates() {
    let of = |line: &str| {
        let imported = import(&format!("$ openssl speed -mr rsa2048\n+H:16\n{line}\n"));
        imported.measurements.iter().map(|m| m.value()).collect::<Vec<f64>>()
    };
    assert_eq!(of("+F2:2:2048:3882.000000:60000.000000"), [3882.0, 60_000.0]);
    // Versions up to 1.0.2 print seconds per operation.
    assert!(of("+F2:2:2048:0.000250:0.000016").is_empty());
    assert_eq!(of("+F5:22:253:6434.653465:0.000155"), [6434.653465]);
    assert_eq!(of("+F5:22:253:0.000155:6451.612903"), [6451.612903]);
    assert_eq!(of("+F6:0:253:Ed25519:5524.752475:2130.000000"), [5524.752475, 2130.0]);
    // A mixture of seconds and rates is rejected.
    assert!(of("+F2:2:2048:0.000250:60000.000000").is_empty());
}

#[test]
fn one_process_is_known_by_what_it_says_while_it_works() {
    let text = "You have chosen to measure elapsed time instead of user CPU time.\nDoing sha256 for 3s on 16 size blocks: \n16801049 sha256's \
        in 3.00s\nversion: 3.0.19\ntype             16 bytes\nsha256          129693.08k\n";
    let imported = import(text);
    let rate = the(&imported, "workload.throughput workload=openssl speed sha256 bytes=16 threads=1");
    assert_eq!((&rate.doubt, rate.detail.get(detail::CLOCK)), (&None, Some("elapsed")));
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    let decrypted =
        import("$ openssl speed -decrypt -evp aes-128-cbc\ntype 16 bytes\nAES-128-CBC    1065383.39k\n");
    assert_eq!(
        figures(&decrypted),
        [
            "workload.throughput workload=openssl speed -decrypt -evp aes-128-cbc bytes=16 threads=1: 1065383390"
        ]
    );
}

#[test]
fn sizes_and_prose_are_no_rates() {
    for text in [
        "L1d cache: 32k\n",
        "type of machine\n",
        "up to 10.50k users\n",
        "Doing well for 3 years\n",
        "64 bits\n",
    ] {
        assert!(import(text).measurements.is_empty(), "{text}");
    }
}

proptest! {
    #[test]
    fn no_damaged_output_panics(which in 0usize..5, at in 0usize..4000, cut in 0usize..60, with in "\\PC{0,12}") {
        let _ = import(&damaged([ONE, MULTI, KEYS, MACHINE, OLD][which], at, cut, &with));
    }
}
