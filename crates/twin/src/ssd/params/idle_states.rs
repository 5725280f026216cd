//! The non-operational power states that a drive goes to by itself, one below the other, and whether they make sense.

use serde::{Deserialize, Serialize};

use super::SsdParams;
use crate::device::params::{ParamError, fail};

/// Most idle states. NVMe has 32 power states, and drives list two or three that are non-operational.
const MOST: usize = 4;
/// Longest idle time, longest latency and most power.
const AFTER_MAX_US: f64 = 1e12;
const LATENCY_MAX_US: f64 = 1e9;
const POWER_MAX_W: f64 = 1e3;

/// A number for each idle state, the shallowest first, joined by `+`: `750000+2500000`. One state has a plain number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "NumberOrText", into = "String")]
pub struct PerState(String);

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(f64),
    Text(String),
}

impl From<NumberOrText> for PerState {
    fn from(given: NumberOrText) -> Self {
        match given {
            NumberOrText::Number(number) => number.into(),
            NumberOrText::Text(text) => Self(text),
        }
    }
}

impl From<f64> for PerState {
    fn from(number: f64) -> Self {
        // The shortest text that reads as the same number.
        Self(number.to_string())
    }
}

impl From<&str> for PerState {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<PerState> for String {
    fn from(numbers: PerState) -> Self {
        numbers.0
    }
}

impl Default for PerState {
    fn default() -> Self {
        0.0.into()
    }
}

impl PerState {
    /// Returns the numbers; `None`: the text says something else.
    fn numbers(&self) -> Option<Vec<f64>> {
        // A sign in an exponent joins nothing.
        if let Ok(number) = self.0.parse::<f64>() {
            return Some(vec![number]);
        }
        let numbers = self.0.split('+').map(|number| number.parse::<f64>().ok());
        numbers.collect()
    }

    /// Returns the number of state `index`; 0 where none is given.
    fn of_state(&self, index: usize) -> f64 {
        let numbers = self.numbers().unwrap_or_default();
        numbers.get(index).copied().unwrap_or(0.0)
    }
}

/// One idle state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdleState {
    /// Idle time in the state above it before the drive goes there.
    pub after_us: f64,
    /// Time to get there.
    pub entry_us: f64,
    /// Time to come back for a command.
    pub exit_us: f64,
    /// Power there, W.
    pub power_w: f64,
}

impl SsdParams {
    /// Returns the idle states of checked parameters, the shallowest first; none of a drive that never rests.
    pub fn idle_states(&self) -> Vec<IdleState> {
        let after_us = self.idle_state_after_us.numbers().unwrap_or_default();
        let given = after_us.iter().take_while(|&&after_us| after_us > 0.0);
        given
            .enumerate()
            .map(|(index, &after_us)| IdleState {
                after_us,
                entry_us: self.idle_state_entry_us.of_state(index),
                exit_us: self.idle_state_exit_us.of_state(index),
                power_w: self.idle_state_w.of_state(index),
            })
            .collect()
    }

    /// Checks each idle state, and that a deeper one takes no more power.
    pub(super) fn check_idle_states(&self) -> Result<(), ParamError> {
        let after_us = checked(
            "idle_state_after_us",
            &self.idle_state_after_us,
            AFTER_MAX_US,
        )?;
        let states = match after_us[..] {
            [0.0] => 0,
            _ => after_us.len(),
        };
        if states > MOST {
            let name = "idle_state_after_us";
            return fail(name, format!("{states} idle states; {MOST} is the most"));
        }
        if states > 0 && after_us.contains(&0.0) {
            return fail(
                "idle_state_after_us",
                format!(
                    "{}: each is the idle time in the state before, above 0",
                    self.idle_state_after_us.0
                ),
            );
        }
        for (name, given, high) in [
            (
                "idle_state_entry_us",
                &self.idle_state_entry_us,
                LATENCY_MAX_US,
            ),
            (
                "idle_state_exit_us",
                &self.idle_state_exit_us,
                LATENCY_MAX_US,
            ),
            ("idle_state_w", &self.idle_state_w, POWER_MAX_W),
        ] {
            let numbers = checked(name, given, high)?;
            check_count(name, given, &numbers, states)?;
        }
        self.check_idle_powers()
    }

    fn check_idle_powers(&self) -> Result<(), ParamError> {
        let name = "idle_state_w";
        let powers: Vec<f64> = self.idle_states().iter().map(|one| one.power_w).collect();
        if let Some(first) = powers.first().filter(|&&first| first > self.idle_w) {
            return fail(name, format!("{first} is above idle_w, {}", self.idle_w));
        }
        match powers.windows(2).find(|pair| pair[1] > pair[0]) {
            Some(pair) => fail(
                name,
                format!(
                    "{}: a deeper state takes no more power, and {} is above {}",
                    self.idle_state_w.0, pair[1], pair[0]
                ),
            ),
            None => Ok(()),
        }
    }
}

/// Returns the numbers, each by itself within its limits.
fn checked(name: &'static str, given: &PerState, high: f64) -> Result<Vec<f64>, ParamError> {
    let Some(numbers) = given.numbers() else {
        return fail(
            name,
            format!(
                "{}: expected a number, or one for each idle state joined by +",
                given.0
            ),
        );
    };
    match numbers.iter().find(|one| !(0.0..=high).contains(*one)) {
        Some(value) => fail(name, format!("{value} is not within 0 to {high}")),
        None => Ok(numbers),
    }
}

/// Checks that there is a number for each idle state, or none at all.
fn check_count(
    name: &'static str,
    given: &PerState,
    numbers: &[f64],
    states: usize,
) -> Result<(), ParamError> {
    if numbers == [0.0] || numbers.len() == states {
        return Ok(());
    }
    let text = &given.0;
    match states {
        0 => fail(
            name,
            format!("{text} has no effect without idle_state_after_us"),
        ),
        _ => fail(
            name,
            format!(
                "{text} is for {} of the idle states; idle_state_after_us has {states}",
                numbers.len()
            ),
        ),
    }
}
