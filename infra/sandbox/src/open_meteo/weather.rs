//! Made-up weather: plausible for the latitude, the height and the season, smooth from day to day, and always the same
//! for the same coordinates and date. Metric units.

use chrono::{Datelike, NaiveDate};

/// The weather of one day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Weather {
    /// WMO code: the most severe of the day.
    pub(super) code: u8,
    /// °C
    pub(super) temperature_max: f64,
    /// °C
    pub(super) temperature_min: f64,
    /// Millimetres, melted.
    pub(super) precipitation: f64,
    /// Per cent.
    pub(super) probability: f64,
    /// Centimetres.
    pub(super) snowfall: f64,
    /// km/h
    pub(super) wind: f64,
    /// km/h
    pub(super) gusts: f64,
    /// Degrees.
    pub(super) wind_direction: f64,
    /// Seconds.
    pub(super) sunshine: f64,
    /// Highest of the day.
    pub(super) uv_index: f64,
    /// Seconds from sunrise to sunset.
    pub(super) daylight: f64,
}

/// What the noise is for, so that the curves differ.
#[derive(Clone, Copy)]
enum Of {
    Warmth,
    Wetness,
    Wind,
    Range,
    Direction,
    Kind,
}

/// The weather of a day at a place.
pub(super) fn weather(latitude: f64, longitude: f64, elevation: f64, date: NaiveDate) -> Weather {
    let curve = |of: Of, knot_days: i64| {
        noise(
            seed(latitude, longitude, of),
            i64::from(date.num_days_from_ce()),
            knot_days,
        )
    };
    let north = latitude.abs();

    let season = season(latitude, date);
    // The belt of the deserts is dry and hot, the equator and the westerlies are wet.
    let (belt, heat) = if (15.0..32.0).contains(&north) {
        (-0.15, 4.0)
    } else {
        (0.04, 0.0)
    };
    let usual = 28.0 + heat - 0.0055 * north * north + 0.18 * north * season - 0.006 * elevation;
    let mean = usual + (curve(Of::Warmth, 3) - 0.5) * (4.0 + north / 7.0);
    let half_range = 2.5 + 3.0 * curve(Of::Range, 2);

    let wetness = (curve(Of::Wetness, 2) + belt).clamp(0.0, 1.0);
    let wet = wetness > 0.55;
    let precipitation = if wet {
        round(0.2 + 22.0 * ((wetness - 0.55) / 0.45).powf(1.8), 10.0)
    } else {
        0.0
    };
    let probability = (if wet {
        52.0 + 46.0 * ((wetness - 0.55) / 0.3).min(1.0)
    } else {
        60.0 * wetness * wetness
    })
    .round();

    let cloud = (wetness * 1.6).min(1.0);
    // Clouds keep the nights warm and the days cool.
    let half_range = half_range * (1.3 - 0.6 * cloud);
    let (temperature_max, temperature_min) = (round(mean + half_range, 10.0), round(mean - half_range, 10.0));
    let cold = temperature_max <= 1.5;
    let wind = round(4.0 + 38.0 * curve(Of::Wind, 2).powi(2) + 8.0 * cloud, 10.0);
    let code = code(Sky {
        precipitation,
        cloud,
        cold,
        warm: temperature_max >= 24.0,
        kind: curve(Of::Kind, 1),
    });
    Weather {
        code,
        temperature_max,
        temperature_min,
        precipitation,
        probability,
        snowfall: if cold {
            round(precipitation * 0.7, 100.0)
        } else {
            0.0
        },
        wind,
        gusts: round(wind * 1.7 + 4.0, 10.0),
        wind_direction: (360.0 * curve(Of::Direction, 3)).floor(),
        sunshine: (daylight(latitude, date) * (1.0 - 0.95 * cloud) * 0.9).round(),
        uv_index: round(
            12.0 * height_at_noon(latitude, date).powf(2.4) * (1.0 - 0.6 * cloud),
            20.0,
        ),
        daylight: daylight(latitude, date),
    }
}

/// The sine of the sun's height at noon; 0 where it stays below the horizon.
fn height_at_noon(latitude: f64, date: NaiveDate) -> f64 {
    let from_zenith = (latitude.to_radians() - tilt(date)).abs();
    from_zenith.min(std::f64::consts::FRAC_PI_2).cos()
}

struct Sky {
    precipitation: f64,
    cloud: f64,
    cold: bool,
    warm: bool,
    kind: f64,
}

fn code(sky: Sky) -> u8 {
    let Sky {
        precipitation,
        cloud,
        cold,
        warm,
        kind,
    } = sky;
    let step = |light: u8, moderate: u8, heavy: u8, bounds: (f64, f64)| match precipitation {
        mm if mm < bounds.0 => light,
        mm if mm < bounds.1 => moderate,
        _ => heavy,
    };
    if precipitation > 0.0 {
        if cold {
            step(71, 73, 75, (2.5, 8.0))
        } else if precipitation < 1.0 {
            step(51, 53, 55, (0.4, 0.7))
        } else if warm && precipitation > 5.0 && kind > 0.4 {
            95
        } else if kind > 0.7 {
            step(80, 81, 82, (3.0, 12.0))
        } else {
            step(61, 63, 65, (2.5, 10.0))
        }
    } else if cloud > 0.75 {
        if kind > 0.85 { 45 } else { 3 }
    } else if cloud > 0.5 {
        2
    } else {
        u8::from(cloud > 0.25)
    }
}

/// From -1 in midwinter to 1 in midsummer, a month behind the sun.
fn season(latitude: f64, date: NaiveDate) -> f64 {
    let turn = f64::from(date.ordinal()) - 200.0;
    let north = (std::f64::consts::TAU * turn / 365.25).cos();
    if latitude < 0.0 { -north } else { north }
}

/// Seconds from sunrise to sunset.
fn daylight(latitude: f64, date: NaiveDate) -> f64 {
    let angle = -latitude.clamp(-89.9, 89.9).to_radians().tan() * tilt(date).tan();
    86_400.0 * angle.clamp(-1.0, 1.0).acos() / std::f64::consts::PI
}

/// How far north of the equator the sun stands, in radians.
fn tilt(date: NaiveDate) -> f64 {
    -23.44_f64.to_radians() * (std::f64::consts::TAU * (f64::from(date.ordinal()) + 10.0) / 365.25).cos()
}

fn round(value: f64, steps: f64) -> f64 {
    (value * steps).round() / steps
}

/// A smooth curve through random heights that stand `knot_days` apart, from 0 to 1.
fn noise(seed: u64, day: i64, knot_days: i64) -> f64 {
    let (knot, rest) = (day.div_euclid(knot_days), day.rem_euclid(knot_days));
    let height = |knot: i64| {
        // The upper 53 bits: as many as a double holds.
        (mix(seed ^ mix(knot.cast_unsigned())) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let along = rest as f64 / knot_days as f64;
    height(knot) * (1.0 - along) + height(knot + 1) * along
}

/// Places within about ten kilometres share their weather.
fn seed(latitude: f64, longitude: f64, of: Of) -> u64 {
    let cell = |degrees: f64| ((degrees * 10.0).round() as i64).cast_unsigned();
    mix(cell(latitude)
        .wrapping_mul(0x1_0001)
        .wrapping_add(cell(longitude))
        ^ mix(of as u64 + 1))
}

/// The finalizer of SplitMix64.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn year(latitude: f64, longitude: f64) -> Vec<Weather> {
        let first = NaiveDate::from_ymd_opt(2026, 1, 1).unwrap();
        first
            .iter_days()
            .take(365)
            .map(|date| weather(latitude, longitude, 20.0, date))
            .collect()
    }

    #[test]
    fn what_falls_fits_the_code_and_the_temperature() {
        for (latitude, longitude) in [
            (59.9, 10.7),
            (25.2, 55.3),
            (-33.9, 151.2),
            (1.3, 103.8),
            (69.6, 18.9),
        ] {
            let days = year(latitude, longitude);
            for day in &days {
                assert_eq!(day.precipitation > 0.0, day.code >= 51, "{day:?}");
                assert_eq!(day.snowfall > 0.0, (71..=77).contains(&day.code), "{day:?}");
                assert!(day.temperature_min <= day.temperature_max, "{day:?}");
                assert!((0.0..=100.0).contains(&day.probability), "{day:?}");
                assert!((day.precipitation > 0.0) == (day.probability > 50.0), "{day:?}");
                assert!(
                    day.gusts > day.wind && (0.0..360.0).contains(&day.wind_direction),
                    "{day:?}"
                );
                assert!((0.0..=86_400.0).contains(&day.sunshine), "{day:?}");
            }
            let wet = days.iter().filter(|day| day.code >= 51).count();
            assert!((20..300).contains(&wet), "{latitude}: {wet} wet days");
        }
    }

    #[test]
    fn seasons_follow_the_hemisphere() {
        let mean =
            |days: &[Weather]| days.iter().map(|day| day.temperature_max).sum::<f64>() / days.len() as f64;
        let (oslo, sydney) = (year(59.9, 10.7), year(-33.9, 151.2));
        assert!(mean(&oslo[181..212]) > mean(&oslo[0..31]) + 10.0);
        assert!(mean(&sydney[0..31]) > mean(&sydney[181..212]) + 5.0);
        assert!(mean(&oslo[0..31]) < 3.0 && mean(&year(1.3, 103.8)) > 24.0);
    }

    #[test]
    fn the_same_day_is_always_the_same() {
        let date = NaiveDate::from_ymd_opt(2026, 11, 22).unwrap();
        assert_eq!(weather(59.9, 10.7, 20.0, date), weather(59.9, 10.7, 20.0, date));
        assert_ne!(weather(59.9, 10.7, 20.0, date), weather(60.4, 5.3, 20.0, date));
    }
}
