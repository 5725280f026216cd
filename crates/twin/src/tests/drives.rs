//! A small drive for tests, and the names its parameters have in a document.

use crate::device::params::HostParams;
use crate::ssd::params::{Isolation, SenseTime, SsdParams, VictimPolicy, ZoneFinish};

/// 256 MiB on 2 x 4 dies with generous spare space, no host cost, no link overhead.
pub fn small_drive() -> SsdParams {
    SsdParams {
        capacity_bytes: 256 << 20,
        slice_denominator: 1,
        block_bytes: 4096,
        pcie_generation: 5,
        pcie_lanes: 4,
        sata_gbps: 0.0,
        command_slots: 65_535,
        command_pipelines: 1,
        command_ns: 50.0,
        read_unit_ns: 50.0,
        write_unit_ns: 50.0,
        trim_entry_ns: 10.0,
        command_latency_us: 1.0,
        dram_read_us: 1.0,
        read_ahead_bytes: 0,
        read_ahead_streams: 8,
        read_ahead_commands_max: 4,
        write_buffer_bytes: 8 << 20,
        write_ack_us: 3.0,
        channels: 2,
        dies_per_channel: 4,
        planes_per_die: 2,
        independent_plane_reads: true,
        nand_page_bytes: 16_384,
        pages_per_program: 3,
        erase_unit_bytes: 384 << 10,
        channel_mts: 1200.0,
        channel_command_ns: 300.0,
        channel_parity_ratio: 1.1,
        read_sense_us: 50.0,
        read_sense_spread: 0.2,
        read_sense_time: SenseTime::PageType,
        ecc_us: 2.0,
        read_retry_share: 0.0,
        read_retries: 1,
        program_us: 1000.0,
        erase_us: 3500.0,
        program_suspend: true,
        suspend_us: 20.0,
        program_min_run_us: 100.0,
        program_max_wait_us: 500.0,
        programming_dies_max: 8,
        over_provisioning: 0.25,
        gc_free_superblocks: 4,
        gc_ahead_bytes: 0,
        gc_page_ns: 0.0,
        gc_policy: VictimPolicy::Greedy,
        gc_choices: 10,
        gc_idle_free_share: 0.0,
        gc_idle_after_us: 0.0,
        wear_spread_max: 0,
        rated_pe_cycles: 0,
        settled_share: 0.0,
        slc_bytes: 0,
        slc_program_us: 0.0,
        slc_read_us: 0.0,
        placement_handles: 1,
        reclaim_groups: 1,
        reclaim_unit_bytes: 0,
        placement_isolation: Isolation::Initially,
        namespaces: "1".into(),
        namespace: 0,
        zone_bytes: 0,
        zone_capacity_bytes: 0,
        zone_dies: 0,
        zone_finish: ZoneFinish::Unit,
        max_open_zones: 0,
        max_active_zones: 0,
        map_flush_bytes: 0,
        map_flush_share: 1.0,
        indirection_unit_bytes: 4096,
        idle_w: 5.0,
        command_uj: 0.5,
        link_nj_per_byte: 0.1,
        channel_nj_per_byte: 0.05,
        read_sense_uj: 10.0,
        program_uj: 300.0,
        erase_uj: 200.0,
        power_states: "none".into(),
        power_state: 0,
        power_cap_w: 0.0,
        idle_state_after_us: 0.0.into(),
        idle_state_entry_us: 0.0.into(),
        idle_state_exit_us: 0.0.into(),
        idle_state_w: 0.0.into(),
        ambient_c: 25.0,
        thermal_resistance_c_per_w: 0.0,
        thermal_capacity_j_per_c: 0.0,
        throttle_above_c: 0.0,
        throttle_below_c: 0.0,
        throttle_cap_w: 0.0,
        host: HostParams {
            cores: 8,
            submit_us: 0.0,
            complete_us: 0.0,
            wake_us: 0.0,
            tlp_payload_bytes: 256,
            tlp_overhead_bytes: 24,
            link_protocol_share: 0.03,
            sata_frame_ns: 0.0,
            adapter_mbps: 0.0,
            drive_per_thread: false,
        },
    }
}

#[test]
fn a_device_that_names_no_policy_cleans_greedily_without_placement() {
    let mut document = serde_json::to_value(small_drive()).expect("plain values");
    let fields = document.as_object_mut().expect("an object");
    for name in [
        "gc_policy",
        "gc_choices",
        "placement_handles",
        "placement_isolation",
        "reclaim_groups",
        "reclaim_unit_bytes",
    ] {
        assert!(fields.remove(name).is_some(), "{name}");
    }
    let parsed = SsdParams::from_json(&document.to_string());
    assert_eq!(parsed, Ok(small_drive()));
    document["gc_policy"] = "d-choices".into();
    document["placement_isolation"] = "persistently".into();
    let parsed = SsdParams::from_json(&document.to_string()).expect("known names");
    assert_eq!(parsed.gc_policy, VictimPolicy::DChoices);
    assert_eq!(parsed.placement_isolation, Isolation::Persistently);
}
