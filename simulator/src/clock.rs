//! Simulated time that runs at a speed factor of real time.

use std::time::Instant;

use jiff::Timestamp;

/// A clock: simulated time as a function of a monotonic instant. Speed 0 is a pause.
#[derive(Debug, Clone, Copy)]
pub struct SimClock {
    anchor_real: Instant,
    anchor_simulated: Timestamp,
    speed: f64,
}

impl SimClock {
    /// Fastest speed: a day in under ten seconds. Faster than that is what virtual time is for.
    pub const SPEED_MAX: f64 = 10_000.0;

    /// A clock that shows `simulated` at `real` and runs at `speed` simulated seconds per real one.
    pub fn new(real: Instant, simulated: Timestamp, speed: f64) -> Self {
        Self { anchor_real: real, anchor_simulated: simulated, speed: clamped(speed) }
    }

    /// Simulated time at `real`.
    pub fn at(&self, real: Instant) -> Timestamp {
        let elapsed_ms = real.saturating_duration_since(self.anchor_real).as_secs_f64() * 1000.0 * self.speed;
        let ms = self.anchor_simulated.as_millisecond().saturating_add(elapsed_ms as i64);
        Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
    }

    /// Simulated seconds per real second.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Changes the speed from `real` on, without a jump.
    pub fn set_speed(&mut self, real: Instant, speed: f64) {
        *self = Self::new(real, self.at(real), speed);
    }
}

fn clamped(speed: f64) -> f64 {
    if speed.is_finite() { speed.clamp(0.0, SimClock::SPEED_MAX) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn speed_changes_leave_no_jump() {
        let start = Instant::now();
        let mut clock = SimClock::new(start, Timestamp::UNIX_EPOCH, 60.0);
        let later = start + Duration::from_secs(2);
        assert_eq!(clock.at(later).as_second(), 120);
        clock.set_speed(later, 0.0);
        assert_eq!(clock.at(later + Duration::from_secs(9)).as_second(), 120);
        clock.set_speed(later + Duration::from_secs(9), f64::NAN);
        assert_eq!(clock.speed(), 1.0);
    }
}
