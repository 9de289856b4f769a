use crate::tools::testing::{figures, import};

/// The results of a text, of which each line must be recognized.
fn all_of(text: &str) -> Vec<String> {
    let imported = import(text);
    assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    figures(&imported)
}

#[test]
fn unixbench_has_results_for_each_number_of_copies() {
    let head = "   BYTE UNIX Benchmarks (Version 5.1.3)\n\n   System: vm-01: GNU/Linux\n   OS: GNU/Linux -- 5.10.0-21-amd64 \
        -- #1 SMP Debian 5.10.162-1 (2023-01-21)\n   Machine: x86_64 (unknown)\n   Language: en_US.utf8 \
        (charmap=\"UTF-8\", collate=\"UTF-8\")\n   CPU 0: Intel(R) Xeon(R) Platinum 8269CY CPU @ 2.50GHz (5000.0 \
        bogomips)\n          Hyper-Threading, x86-64, MMX\n   07:14:34 up 2 days, 23:12,  1 user,  load average: \
        0.10, 0.04, 0.01; runlevel 5\n";
    let text = format!(
        "{head}\nBenchmark Run: Thu Mar 02 2023 07:14:34 - 07:42:39\n2 CPUs in system; running 1 parallel copy of tests\n\n\
        Dhrystone 2 using register variables       38913275.8 lps   (10.0 s, 7 samples)\n\
        Double-Precision Whetstone                     6034.6 MWIPS (9.8 s, 7 samples)\n\
        File Copy 1024 bufsize 2000 maxblocks        486133.9 KBps  (30.0 s, 2 samples)\n\
        Shell Scripts (8 concurrent)                   6338.4 lpm   (60.0 s, 2 samples)\n\n\
        System Benchmarks Index Values               BASELINE       RESULT    INDEX\n\
        Dhrystone 2 using register variables         116700.0   38913275.8   3334.5\n\
        Double-Precision Whetstone                       55.0       6034.6   1097.2\n\
        System Benchmarks Index Score                                         848.8\n\n\
        Benchmark Run: Thu Mar 02 2023 07:42:39 - 08:10:53\n2 CPUs in system; running 2 parallel copies of tests\n\n\
        Dhrystone 2 using register variables       62913275.8 lps   (10.0 s, 7 samples)\n"
    );
    assert_eq!(
        figures(&import(&text)),
        [
            "workload.throughput workload=UnixBench Dhrystone 2 using register variables threads=1: 38913275.8",
            "workload.throughput workload=UnixBench Double-Precision Whetstone threads=1: 6034.6",
            "workload.throughput workload=UnixBench File Copy 1024 bufsize 2000 maxblocks threads=1: 497801113.6",
            "workload.throughput workload=UnixBench Shell Scripts (8 concurrent) threads=1: 105.64",
            "workload.throughput workload=UnixBench Dhrystone 2 using register variables threads=2: 62913275.8",
        ]
    );
}

#[test]
fn the_table_of_unixbench_has_the_results_that_the_lines_above_lack() {
    let text = "4 CPUs in system; running 4 parallel copies of tests\n\n\
        Double-Precision Whetstone                     4123.1 MWIPS (9.9 s, 7 samples)\n\
        System Benchmarks Index Values               BASELINE       RESULT    INDEX\n\
        Double-Precision Whetstone                       55.0       4123.1    749.7\n\
        Execl Throughput                                 43.0       1812.3    421.5\n";
    assert_eq!(
        all_of(text),
        [
            "workload.throughput workload=UnixBench Double-Precision Whetstone threads=4: 4123.1",
            "workload.throughput workload=UnixBench Execl Throughput threads=4: 1812.3",
        ]
    );
}

#[test]
fn benchmarks_with_a_line_per_result_are_read() {
    let texts = [
        (
            "7-Zip (a) [64] 16.02 : Copyright (c) 1999-2016 Igor Pavlov : 2016-05-21\np7zip Version 16.02 (locale=C.UTF-8)\n\n\
            CPU Freq: 64000000 - 64000000\nRAM size:   31980 MB,  # CPU hardware threads:  16\nRAM usage:   3530 MB,  \
            # Benchmark threads:     16\n\n                       Compressing  |                  Decompressing\nDict     \
            Speed Usage    R/U Rating  |      Speed Usage    R/U Rating\n         KiB/s     %   MIPS   MIPS  |      \
            KiB/s     %   MIPS   MIPS\n\n22:      41240  1394   2878  40119  |     525912  1566   2864  44848\n\
            ----------------------------------  | ------------------------------\nAvr:            1415   2851  40341  |   \
                       1565   2862  44774\nTot:            1490   2856  42557\n",
            vec![
                "workload.throughput workload=7-Zip compression threads=16: 40341",
                "workload.throughput workload=7-Zip decompression threads=16: 44774",
            ],
        ),
        (
            "Long uses 8 bytes. Allocating 2*134217728 elements = 2147483648 bytes of memory.\nUsing 262144 bytes as blocks for \
            memcpy block copy test.\nGetting down to business... Doing 10 runs per test.\n0\tMethod: MEMCPY\tElapsed: \
            0.12345\tMiB: 1024.00000\tCopy: 8294.857 MiB/s\nAVG\tMethod: MEMCPY\tElapsed: 0.12500\tMiB: 1024.00000\tCopy: \
            8192.000 MiB/s\n",
            vec!["workload.throughput workload=mbw MEMCPY threads=1: 8589934592"],
        ),
        (
            "# Tests are approximate using memory only (no storage IO).\nPBKDF2-sha1      1680410 iterations per second for \
            256-bit key\nargon2i       4 iterations, 1048576 memory, 4 parallel threads (CPUs) for 256-bit key (requested \
            2000 ms time)\n#     Algorithm |       Key |      Encryption |      Decryption\n        aes-xts        256b      \
            3072.0 MiB/s      4096.0 MiB/s\n    serpent-cbc        128b               N/A               N/A\n",
            vec![
                "workload.throughput workload=PBKDF2-sha1 threads=1: 1680410",
                "workload.throughput workload=aes-xts encryption, 256 bits threads=1: 3221225472",
                "workload.throughput workload=aes-xts decryption, 256 bits threads=1: 4294967296",
            ],
        ),
        (
            "Running in process mode with 10 groups using 40 file descriptors each (== 400 tasks)\nEach sender will pass 100 \
            messages of 100 bytes\nTime: 0.213\n",
            vec![
                "workload.time workload=hackbench, process mode, 10 groups of 40 descriptors, 100 messages of 100 bytes: 0.213",
            ],
        ),
        (
            "2K performance run parameters for coremark.\nCoreMark Size    : 666\nTotal ticks      : 16234\nTotal time (secs): \
            16.234000\nIterations/Sec   : 98558.5\nIterations       : 1600000\nCompiler version : GCC12.2.0\nCompiler flags   : \
            -O2 -DMULTITHREAD=4\nParallel PThreads : 4\nMemory location  : Please put data memory location here\nseedcrc         \
             : 0xe9f5\n[0]crclist       : 0xe714\nCorrect operation validated. See README.md for run and reporting \
            rules.\nCoreMark 1.0 : 98558.5 / GCC12.2.0 -O2 -DMULTITHREAD=4 / Heap / 4:PThreads\n",
            vec!["workload.throughput workload=CoreMark threads=4: 98558.5"],
        ),
        (
            "Simple syscall: 0.095 microseconds\nProcess fork+exit: 125.5 microseconds\nSelect on 100 fd's: 1.25 microseconds\n",
            vec![
                "workload.time workload=lmbench simple syscall: 0.000000095",
                "workload.time workload=lmbench process fork+exit: 0.0001255",
                "workload.time workload=lmbench select on 100 fd's: 0.00000125",
            ],
        ),
    ];
    for (text, expected) in texts {
        assert_eq!(all_of(text), expected, "{text}");
    }
}

#[test]
fn an_environment_in_a_list_describes_the_machine() {
    let text = "# Report\n## Environment\n- OS: Ubuntu 18.04.4 LTS\n- Kernel Version: 5.3.13\n- Memory: 7.2G\n- Processor: Intel Core \
        i7-6500U CPU @ 2.50GHz x4\n- Threads per core: 2\n- Cores per socket: 2\n- Sockets: 1\n- Virtualization: VT-x\n## Overview\nPrimes up to 1000000.\n";
    let machine = import(text).machine;
    let counts = &machine.counts;
    assert_eq!((counts.packages, counts.cores, counts.cpus_online), (Some(1), Some(2), Some(4)));
    assert_eq!(machine.processor.model_name.as_deref(), Some("Intel Core i7-6500U CPU @ 2.50GHz"));
}
