//! What holds a drive back for its power and its temperature. There is the cap of the power state in force, and a lower
//! one that the firmware steps down to while the drive is hot. There is also the way back from a state that the drive
//! rests in (`rest`). The governor decides when commands are taken; what a command then does is not slowed, so a read
//! that is under way keeps its latency.
//!
//! A cap is a bucket of joules that fills at the cap's rate and that everything the drive does is
//! drawn from, cleaning included. It may be overdrawn, because work follows its command; commands wait
//! until it is paid back, so the mean power is the cap exactly. Temperature is that of one heat capacity behind one
//! thermal resistance, C dT/dt = P - (T - ambient) / R. It is solved exactly for a constant power between two looks. It
//! is not scaled with the slice: a minute of heat takes a minute.

use crate::ssd::params::SsdParams;
use crate::ssd::power::rest::Rest;

/// Energy that an unused cap saves up, as time at the cap; a burst of this length passes.
const SAVED_NS: f64 = 1e6;
/// Shortest time between two looks at the temperature, and between two at a closed bucket.
const THERMAL_NS: u64 = 10_000_000;
const CLOSED_NS: u64 = 1_000;

/// One heat capacity behind one resistance.
#[derive(Clone, Copy)]
struct Heat {
    ambient_c: f64,
    resistance: f64,
    /// R C, s.
    constant_s: f64,
    /// Above which the drive throttles, below which it no longer does, and the cap meanwhile.
    above_c: f64,
    below_c: f64,
    cap_w: f64,
}

impl Heat {
    /// Returns the temperature after `dt_s` at a constant power.
    fn after(&self, from_c: f64, dt_s: f64, power_w: f64) -> f64 {
        let final_c = self.ambient_c + self.resistance * power_w;
        final_c + (from_c - final_c) * (-dt_s / self.constant_s).exp()
    }
}

/// Temperature, and since when it is what it is.
#[derive(Clone, Copy)]
struct Thermometer {
    heat: Heat,
    celsius: f64,
    hot: bool,
    at_ns: u64,
    joules: f64,
    throttled_ns: u64,
}

/// Watches over power and temperature.
#[derive(Clone)]
pub struct Governor {
    cap_w: f64,
    tokens_j: f64,
    /// When the bucket was last looked into, and the drive's joules then.
    at_ns: u64,
    joules: f64,
    /// Time that the caps in force would have taken for the energy spent, ns.
    busy_ns: f64,
    thermometer: Option<Thermometer>,
    rest: Option<Rest>,
    /// Whether a look is booked for when the bucket is full enough.
    pub booked: bool,
}

impl Governor {
    /// Returns the governor; `None` for a drive with neither a cap nor a temperature nor a state to rest in.
    pub fn new(params: &SsdParams) -> Option<Box<Self>> {
        let capped = params.cap_w().is_finite();
        let thermal = params.thermal_resistance_c_per_w > 0.0;
        let rest = Rest::new(params);
        (capped || thermal || rest.is_some()).then(|| {
            let heat = Heat {
                ambient_c: params.ambient_c,
                resistance: params.thermal_resistance_c_per_w,
                constant_s: params.thermal_resistance_c_per_w * params.thermal_capacity_j_per_c,
                above_c: none_if_zero(params.throttle_above_c),
                below_c: params.throttle_below_c,
                cap_w: none_if_zero(params.throttle_cap_w),
            };
            Box::new(Self {
                cap_w: params.cap_w(),
                tokens_j: 0.0,
                at_ns: 0,
                joules: 0.0,
                busy_ns: 0.0,
                thermometer: thermal.then_some(Thermometer {
                    heat,
                    celsius: heat.ambient_c + heat.resistance * params.idle_w,
                    hot: false,
                    at_ns: 0,
                    joules: 0.0,
                    throttled_ns: 0,
                }),
                rest,
                booked: false,
            })
        })
    }

    /// Returns the cap in force, W; infinite without one.
    fn cap_w(&self) -> f64 {
        match &self.thermometer {
            Some(meter) if meter.hot => self.cap_w.min(meter.heat.cap_w),
            _ => self.cap_w,
        }
    }

    /// Takes what the drive has spent since the last look into account. `Some`: no command may be
    /// taken before that time.
    pub fn look(&mut self, now_ns: u64, joules: f64, idle_w: f64) -> Option<u64> {
        let cap_w = self.cap_w();
        let spent_j = joules - self.joules;
        if cap_w.is_finite() {
            let gained_j = cap_w * (now_ns - self.at_ns) as f64 * 1e-9;
            let saved_j = cap_w * SAVED_NS * 1e-9;
            self.tokens_j = (self.tokens_j + gained_j - spent_j).min(saved_j);
        } else {
            self.tokens_j = 0.0;
        }
        self.busy_ns += spent_j / cap_w * 1e9;
        (self.at_ns, self.joules) = (now_ns, joules);
        if let Some(meter) = &mut self.thermometer {
            meter.look(now_ns, joules);
        }
        let paid_ns = (self.tokens_j < 0.0).then(|| {
            let wait_ns = -self.tokens_j / (self.cap_w() - idle_w) * 1e9;
            now_ns + (wait_ns.min(1e9) as u64).max(CLOSED_NS)
        });
        let awake_ns = self.rest.as_ref().map(Rest::awake_ns);
        paid_ns.max(awake_ns.filter(|&awake_ns| awake_ns > now_ns))
    }

    /// Notes that the last command has ended. Returns whether the drive may go to rest, and so needs to know of the
    /// next one.
    pub fn command_gone(&mut self, now_ns: u64) -> bool {
        self.rest
            .as_mut()
            .map(|rest| rest.command_gone(now_ns))
            .is_some()
    }

    /// Notes that a command comes. Returns whether the drive may have gone to rest before.
    pub fn command_comes(&mut self, now_ns: u64) -> bool {
        let rest = self.rest.as_mut();
        rest.is_some_and(|rest| rest.command_comes(now_ns))
    }

    /// Returns the energy that resting has saved so far, against a drive that stays idle.
    pub fn saved_j(&self, now_ns: u64) -> f64 {
        self.rest.as_ref().map_or(0.0, |rest| rest.saved_j(now_ns))
    }

    /// Returns whether there ever is a cap.
    pub fn has_cap(&self) -> bool {
        let heat = self.thermometer.as_ref().map(|meter| meter.heat);
        self.cap_w.is_finite() || heat.is_some_and(|heat| heat.cap_w.is_finite())
    }

    /// Returns the power over the cap in force, as busy time.
    pub fn busy_ns(&self, joules: f64) -> u64 {
        (self.busy_ns + (joules - self.joules) / self.cap_w() * 1e9) as u64
    }

    /// Returns the temperature, degrees Celsius, and how long the drive has throttled because of it, ns.
    pub fn temperature(&self, now_ns: u64, joules: f64) -> Option<(f64, u64)> {
        let mut meter = self.thermometer?;
        meter.advance(now_ns, joules);
        Some((meter.celsius, meter.throttled_ns))
    }
}

impl Thermometer {
    fn look(&mut self, now_ns: u64, joules: f64) {
        if now_ns - self.at_ns < THERMAL_NS {
            return;
        }
        self.advance(now_ns, joules);
        self.hot = if self.hot {
            self.celsius > self.heat.below_c
        } else {
            self.celsius >= self.heat.above_c
        };
    }

    fn advance(&mut self, now_ns: u64, joules: f64) {
        if now_ns == self.at_ns {
            return;
        }
        let dt_s = (now_ns - self.at_ns) as f64 * 1e-9;
        self.celsius = self
            .heat
            .after(self.celsius, dt_s, (joules - self.joules) / dt_s);
        self.throttled_ns += u64::from(self.hot) * (now_ns - self.at_ns);
        (self.at_ns, self.joules) = (now_ns, joules);
    }
}

fn none_if_zero(value: f64) -> f64 {
    if value > 0.0 { value } else { f64::INFINITY }
}
