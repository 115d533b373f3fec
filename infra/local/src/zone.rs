//! Time zones by their names, checked before anybody is told one.

/// Whether there is a time zone of that name: agents take one that they do not know for UTC, silently.
///
/// # Errors
/// In words, where there is none.
pub fn known(name: &str) -> Result<(), String> {
    match name.parse::<chrono_tz::Tz>() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!(
            "there is no time zone {name:?}; it is an IANA name such as Europe/Oslo"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_zone_is_one_that_agents_know() {
        for good in ["Europe/Oslo", "UTC", "America/Argentina/Buenos_Aires"] {
            assert_eq!(known(good), Ok(()), "{good}");
        }
        for bad in ["Mars/Base", "Europe/Olso", "CET-1CEST"] {
            assert!(known(bad).unwrap_err().contains("Europe/Oslo"), "{bad}");
        }
    }
}
