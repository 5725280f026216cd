use super::*;

#[test]
fn a_simulation_that_panics_is_a_defect_with_what_to_do() {
    let handle = TwinsHandle::start(1, None, twin::Control::default(), |_, _| {
        panic!("what a defect of the model would do")
    });
    let error = handle.result().unwrap_err();
    assert!(matches!(error, LoadError::Defect));
    assert!(error.to_string().contains("please report it"));
    assert!(handle.is_done());
}
