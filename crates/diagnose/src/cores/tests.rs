use super::range::unit_of;
use super::*;

#[test]
fn every_figure_has_a_known_unit_ends_in_order_and_a_source() {
    let is_group = |core: &Core| core.known_by.is_empty() && core.names.is_none();
    let designs = all().iter().filter(|core| !is_group(core)).count();
    assert_eq!((designs, all().len()), (33, 38));
    for core in all() {
        assert!(
            core.known_by.iter().all(|known| !known.source.is_empty() && !known.models.is_empty()),
            "{core:?}"
        );
        assert!(!core.figures.is_empty() || is_group(core), "{}", core.id);
        for figure in &core.figures {
            let at = format!("{} {}", core.id, figure.what);
            assert!(unit_of(&figure.unit).is_some(), "{at}: {}", figure.unit);
            let (low, high, _) = figure.ends().unwrap_or_else(|| panic!("{at} has no value"));
            assert!(0.0 < low && low <= high, "{at}: {low} to {high}");
            assert!(figure.value.is_none() || figure.low.is_none() && figure.high.is_none(), "{at}");
            assert!(
                ["measured", "vendor", "computed"].contains(&figure.kind.as_str()),
                "{at}: {}",
                figure.kind
            );
            assert!(!figure.sources.is_empty() && figure.sources.iter().all(|by| by.len() > 5), "{at}");
            let from_memory = |text: &String| text.contains("from memory");
            assert!(!figure.sources.iter().chain(&figure.note).any(from_memory), "{at}");
        }
        let group = core.group.as_deref();
        assert!(group.is_none_or(|name| range::group(name).is_some()), "{}: {group:?}", core.id);
    }
}

fn machine(vendor: &str, numbers: Option<(u32, u32)>, design: &str, name: &str) -> Machine {
    let mut machine = Machine::default();
    let told = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    machine.processor = Processor {
        vendor: told(vendor),
        family: numbers.map(|numbers| numbers.0),
        model: numbers.map(|numbers| numbers.1),
        microarchitecture: told(design),
        model_name: told(name),
        ..Processor::default()
    };
    machine
}

fn id(machine: &Machine) -> Option<&'static str> {
    of_machine(machine).map(|core| core.id.as_str())
}

#[test]
fn numbers_name_a_processor_and_parts_that_share_them_are_none_of_it() {
    const AMD: &str = "AuthenticAMD";
    const INTEL: &str = "GenuineIntel";
    for (vendor, numbers, design, name, is) in [
        (AMD, (25, 17), "Zen 4", "AMD EPYC", Some("zen4-genoa")),
        (AMD, (25, 17), "Zen 4", "AMD EPYC 9R14", Some("zen4-genoa")),
        (AMD, (25, 97), "Zen 4", "AMD Ryzen 9 7950X 16-Core Processor", None),
        (AMD, (25, 24), "Zen 4", "AMD Ryzen Threadripper PRO 7995WX", None),
        (AMD, (25, 160), "Zen 4c", "AMD EPYC 9754 128-Core Processor", Some("zen4c-bergamo")),
        (AMD, (25, 160), "Zen 4c", "AMD EPYC 8534P 64-Core Processor", None),
        (AMD, (23, 1), "Zen", "AMD EPYC 7601 32-Core Processor", Some("zen1-naples")),
        (AMD, (23, 1), "Zen", "AMD Ryzen 7 1700 Eight-Core Processor", None),
        (AMD, (23, 49), "Zen 2", "AMD EPYC-Rome Processor", None),
        (AMD, (26, 17), "Zen 5c", "AMD EPYC 9965 192-Core Processor", Some("zen5c-turin-dense")),
        (INTEL, (6, 85), "Skylake-X", "Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz", Some("skylake-sp")),
        (INTEL, (6, 85), "Cascade Lake", "Intel(R) Xeon(R) CPU @ 2.80GHz", Some("cascade-lake-sp")),
        (INTEL, (6, 85), "Cooper Lake", "Intel(R) Xeon(R) Gold 6348H CPU @ 2.30GHz", None),
        (INTEL, (6, 85), "Sapphire Rapids or later", "Intel(R) Xeon(R) Processor", None),
        (INTEL, (6, 85), "Skylake-X", "Intel(R) Core(TM) i9-7900X CPU @ 3.30GHz", None),
        (INTEL, (6, 85), "Cascade Lake", "Intel(R) Xeon(R) W-2245 CPU @ 3.90GHz", None),
        (INTEL, (6, 85), "Skylake-X", "Intel Xeon Processor (Skylake, IBRS)", None),
        (
            INTEL,
            (6, 207),
            "Emerald Rapids",
            "INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.30GHz",
            Some("emerald-rapids"),
        ),
        (INTEL, (6, 63), "Haswell", "Intel(R) Xeon(R) CPU E7-8890 v3 @ 2.50GHz", None),
        (
            INTEL,
            (6, 151),
            "Alder Lake (Golden Cove + Gracemont)",
            "12th Gen Intel(R) Core(TM) i9-12900K",
            None,
        ),
        (INTEL, (6, 190), "Alder Lake-N (Gracemont)", "Intel(R) N100", Some("gracemont-client")),
        ("HygonGenuine", (24, 1), "Dhyana (Zen)", "Hygon C86 7285 32-core Processor", Some("hygon-dhyana")),
        ("HygonGenuine", (24, 4), "C86-4G", "Hygon C86 7490", None),
    ] {
        assert_eq!(id(&machine(vendor, Some(numbers), design, name)), is, "{name}");
    }
}

#[test]
fn names_stand_where_no_numbers_are_told() {
    for (name, is) in [
        ("Intel(R) Xeon(R) CPU E5-2682 v4 @ 2.50GHz", Some("broadwell-ep")),
        ("Intel(R) Xeon(R) Platinum 8369B CPU @ 2.70GHz", Some("ice-lake-sp")),
        ("Intel(R) Xeon(R) Platinum 8361HC CPU @ 2.60GHz", None),
        ("AMD EPYC 7V73X 64-Core Processor", Some("zen3-milan")),
        ("AMD EPYC 9554P 64-Core Processor", Some("zen4-genoa")),
        ("AMD EPYC 9734 112-Core Processor", Some("zen4c-bergamo")),
        ("AMD EPYC 9745", Some("zen5c-turin-dense")),
        ("AMD EPYC 9575F", Some("zen5-turin")),
        ("Kunpeng 920-4826", Some("kunpeng-920")),
        ("Kunpeng 920 7270Z", None),
        ("Neoverse-N1", Some("neoverse-n1")),
        ("Phytium FT-2500", Some("phytium-ftc663")),
        ("Intel(R) Core(TM) i5-8259U CPU @ 2.30GHz", None),
    ] {
        assert_eq!(id(&machine("", None, "", name)), is, "{name}");
    }
}

#[test]
fn the_cpus_of_a_hybrid_are_of_their_own_design_and_the_machine_is_of_none() {
    let mut hybrid = machine("GenuineIntel", Some((6, 151)), "Alder Lake (Golden Cove + Gracemont)", "");
    let cpu = |id: u32, kind: &str| record::machine::Cpu {
        id,
        online: true,
        kind: Some(kind.to_owned()),
        ..record::machine::Cpu::default()
    };
    hybrid.cpus = vec![cpu(0, "performance"), cpu(1, "efficiency")];
    assert_eq!(id(&hybrid), None);
    let of = |cpu| of_cpu(&hybrid, cpu).map(|core| core.id.as_str());
    assert_eq!([of(0), of(1)], [Some("golden-cove-client"), Some("gracemont-client")]);
}

#[test]
fn a_parts_own_clock_stands_before_its_familys() {
    let of = |name: &str| {
        let machine = machine("AuthenticAMD", Some((25, 17)), "Zen 4", name);
        let core = of_machine(&machine).unwrap();
        range_of(core, "clock.one_core", &machine).map(|range| (range.low, range.of))
    };
    assert_eq!(of("AMD EPYC 9654 96-Core Processor").map(|(hz, _)| hz), Some(3.7e9));
    assert_eq!(of("AMD EPYC"), None);
}
