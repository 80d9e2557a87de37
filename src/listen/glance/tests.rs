use super::{Glance, IN_A_ROW, REST, VAIN_FEW};

/// How many looks are taken between two waits when each finds what `found` says.
fn looks(glance: &mut Glance, found: bool) -> u8 {
    glance.waited();
    let mut looks = 0;
    while glance.is_due() {
        glance.saw(found);
        looks += 1;
    }
    looks
}

#[test]
fn nobody_looks_before_the_first_wait() {
    assert!(!Glance::default().is_due());
}

#[test]
fn looks_that_find_something_end_for_the_others_sake() {
    assert_eq!(looks(&mut Glance::default(), true), IN_A_ROW);
}

#[test]
fn after_a_few_looks_in_vain_most_waits_pass_without_one() {
    let mut glance = Glance::default();
    let taken: u32 = (0..1_000).map(|_| u32::from(looks(&mut glance, false))).sum();
    assert_eq!(taken, u32::from(VAIN_FEW) + (1_000 - u32::from(VAIN_FEW)).div_ceil(u32::from(REST) + 1));
    while looks(&mut glance, true) == 0 {}
    assert_eq!(looks(&mut glance, false), 1, "one that finds something makes up for them");
    assert_eq!(looks(&mut glance, true), IN_A_ROW);
}
