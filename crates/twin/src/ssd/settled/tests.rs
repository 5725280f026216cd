use super::*;

#[test]
fn valid_pages_fall_by_one_factor_from_superblock_to_superblock() {
    let valid = valid_by_age(80_000, 1000, 100);
    assert_eq!(valid.iter().sum::<u32>(), 80_000);
    let ratio = |at: usize| f64::from(valid[at + 10]) / f64::from(valid[at]);
    for at in [0, 30, 60, 89] {
        assert!(
            (ratio(at) / ratio(45) - 1.0).abs() < 0.003,
            "at {at}: {}",
            ratio(at)
        );
    }
}

#[test]
fn the_oldest_superblock_has_the_share_of_valid_pages_that_the_closed_form_gives() {
    // Desnoyers 2014: spare = 1 - rho, u the oldest's share: rho = (1 - u) / -ln u.
    let u: f64 = 0.6;
    let rho = (1.0 - u) / -u.ln();
    let valid = valid_by_age((rho * 1e7) as u32, 10_000, 1000);
    assert!((f64::from(valid[999]) / 1e4 / u - 1.0).abs() < 0.001);
}

#[test]
fn a_drive_with_little_data_has_superblocks_without_any_valid_page() {
    let valid = valid_by_age(500, 1000, 100);
    assert_eq!(valid.iter().sum::<u32>(), 500);
    assert_eq!(valid[50], 0);
}
