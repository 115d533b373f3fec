//! How a tenant's page looks: its name, its accent colour in the light and in the dark scheme, its logo's address.
//!
//! A colour is accepted only where texts in it are readable: 4.5:1 on every surface of the page (WCAG 2.2, 1.4.3).

use std::fmt;

use crate::clean;

/// Longest name of a brand, in characters.
const NAME_MAX: usize = 40;
/// Least contrast between a text and what it stands on.
const CONTRAST_MIN: f64 = 4.5;
/// What texts stand on in the light scheme: the surfaces of the page's `base.css`.
pub const LIGHT_SURFACES: [&str; 3] = ["#fbfbfd", "#f2f4f8", "#ffffff"];
/// The same in the dark scheme.
pub const DARK_SURFACES: [&str; 4] = ["#101318", "#0b0e12", "#181c23", "#212732"];
/// How much of the accent is in the surface of what is chosen or running.
const TINT: [f64; 2] = [0.1, 0.16];

/// A colour of sRGB, such as `#3153cf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour([u8; 3]);

impl Colour {
    /// Reads `#rrggbb`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let [_, r, g, b] = u32::from_str_radix(digits, 16).ok()?.to_be_bytes();
        Some(Self([r, g, b]))
    }

    /// Relative luminance, WCAG 2.2.
    fn luminance(self) -> f64 {
        let linear = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        let [r, g, b] = self.0.map(linear);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// Contrast with another colour, 1 to 21, WCAG 2.2.
    #[must_use]
    pub fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    /// This colour with so much of another in it, 0 to 1.
    fn mixed(self, other: Self, part: f64) -> Self {
        let Self([r, g, b]) = self;
        let Self([r2, g2, b2]) = other;
        // Between two bytes, so it is one.
        let mix = |one: u8, two: u8| (f64::from(one) * (1.0 - part) + f64::from(two) * part).round() as u8;
        Self([mix(r, r2), mix(g, g2), mix(b, b2)])
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([r, g, b]) = self;
        write!(f, "#{r:02x}{g:02x}{b:02x}")
    }
}

/// One of the page's two colour schemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Dark texts on light surfaces.
    Light,
    /// Light texts on dark surfaces.
    Dark,
}

impl Scheme {
    fn surfaces(self) -> impl Iterator<Item = Colour> {
        let known: &[&str] = match self {
            Self::Light => &LIGHT_SURFACES,
            Self::Dark => &DARK_SURFACES,
        };
        known.iter().filter_map(|text| Colour::parse(text))
    }

    /// The surface of what is chosen: the page's own with some of the accent.
    fn tinted(self, accent: Colour) -> Colour {
        let (surface, part) = match self {
            Self::Light => ([255; 3], TINT[0]),
            Self::Dark => ([0x18, 0x1c, 0x23], TINT[1]),
        };
        Colour(surface).mixed(accent, part)
    }

    /// The least contrast of a text in the colour.
    fn worst(self, accent: Colour) -> f64 {
        let all = self.surfaces().chain([self.tinted(accent)]);
        all.map(|surface| accent.contrast(surface)).fold(21.0, f64::min)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// Reads the name of a brand.
///
/// # Errors
/// A sentence for the operator who wrote it.
pub(crate) fn parse_name(text: &str) -> Result<String, String> {
    let name = clean(text, NAME_MAX + 1);
    match name.chars().count() {
        1..=NAME_MAX if name == text => Ok(name),
        _ => Err(format!(
            "brand is a name of 1 to {NAME_MAX} visible characters, without blanks around it"
        )),
    }
}

/// Reads the accent of a scheme.
///
/// # Errors
/// A sentence for the operator who wrote it.
pub(crate) fn parse_accent(key: &str, text: &str, scheme: Scheme) -> Result<Colour, String> {
    let accent = Colour::parse(text).ok_or_else(|| format!("{key} is a colour such as #3153cf"))?;
    let worst = scheme.worst(accent);
    if worst < CONTRAST_MIN {
        let name = scheme.name();
        // Rounded down: 4.46 is not shown as 4.5.
        let shown = (worst * 10.0).floor() / 10.0;
        return Err(format!(
            "{key} {accent} has a contrast of {shown}:1 on the page's {name} surfaces; texts need {CONTRAST_MIN}:1"
        ));
    }
    Ok(accent)
}

/// A tenant's brand, as far as it is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brand {
    /// What the page calls itself.
    pub name: Option<String>,
    /// The accent in the light and in the dark scheme.
    pub accents: Option<(Colour, Colour)>,
    /// The hash of the logo, which is stored by itself.
    pub logo: Option<String>,
}

impl Brand {
    /// Reads it from a tenant's settings. What is not valid counts as absent.
    #[must_use]
    pub fn of<'v>(setting: impl Fn(&str) -> Option<&'v str>) -> Self {
        let accent = |key, scheme| parse_accent(key, setting(key)?, scheme).ok();
        let light = accent(ACCENT, Scheme::Light);
        let accents = light.map(|light| {
            let dark = accent(ACCENT_DARK, Scheme::Dark);
            (light, dark.unwrap_or_else(|| readable_in_the_dark(light)))
        });
        let is_hash = |hash: &&str| !hash.is_empty() && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        Self {
            name: setting(BRAND).and_then(|name| parse_name(name).ok()),
            accents,
            logo: setting(LOGO).filter(is_hash).map(str::to_owned),
        }
    }

    /// The style sheet that gives the page its accent; empty without one.
    #[must_use]
    pub fn css(&self) -> String {
        let Some((light, dark)) = self.accents else {
            return String::new();
        };
        let (light_tint, dark_tint) = (Scheme::Light.tinted(light), Scheme::Dark.tinted(dark));
        format!(
            ":root {{ --accent: light-dark({light}, {dark}); --mine: light-dark({light_tint}, {dark_tint}); \
             --run-bg: light-dark({light_tint}, {dark_tint}); }}\n"
        )
    }
}

/// The setting with the name that the page shows.
pub(crate) const BRAND: &str = "brand";
/// The setting with the accent in the light scheme.
pub(crate) const ACCENT: &str = "accent";
/// The setting with the accent in the dark scheme; without it, it is made from the light one.
pub(crate) const ACCENT_DARK: &str = "accentDark";
/// Where the hash of the stored logo stands among the settings. Only whoever stores a logo writes it.
pub const LOGO: &str = "logo";

/// The colour, lightened until it can be read.
fn readable_in_the_dark(light: Colour) -> Colour {
    let white = Colour([255; 3]);
    let steps = (0..=20_u8).map(|step| light.mixed(white, f64::from(step) / 20.0));
    let found = steps
        .into_iter()
        .find(|colour| Scheme::Dark.worst(*colour) >= CONTRAST_MIN);
    found.unwrap_or(white)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_that_of_wcag() {
        let colour = |text| Colour::parse(text).unwrap();
        let (black, white) = (colour("#000000"), colour("#ffffff"));
        assert!((black.contrast(white) - 21.0).abs() < 0.001);
        // The examples that everybody knows: #767676 is the lightest grey that passes on white.
        assert!(colour("#767676").contrast(white) >= 4.5);
        assert!(colour("#777777").contrast(white) < 4.5);
    }

    #[test]
    fn every_accent_that_is_accepted_can_be_read_in_both_schemes() {
        let mut accepted = 0;
        for step in 0..4096_u32 {
            let byte = |shift: u32| ((step >> shift) & 15) as u8 * 17;
            let light = Colour([byte(8), byte(4), byte(0)]);
            if parse_accent(ACCENT, &light.to_string(), Scheme::Light).is_err() {
                continue;
            }
            accepted += 1;
            let text = light.to_string();
            let brand = Brand::of(|key| (key == ACCENT).then_some(text.as_str()));
            let (light, dark) = brand.accents.unwrap();
            for surface in Scheme::Light.surfaces().chain([Scheme::Light.tinted(light)]) {
                assert!(light.contrast(surface) >= 4.5, "{light} on {surface}");
            }
            for surface in Scheme::Dark.surfaces().chain([Scheme::Dark.tinted(dark)]) {
                assert!(dark.contrast(surface) >= 4.5, "{dark} on {surface}");
            }
            // What is written on the accent itself.
            assert!(light.contrast(Colour([255; 3])) >= 4.5);
            assert!(dark.contrast(Colour::parse("#0c1226").unwrap()) >= 4.5);
        }
        assert!(accepted > 500, "{accepted}");
    }

    #[test]
    fn a_colour_that_cannot_be_read_is_refused_with_its_contrast() {
        let yellow = parse_accent(ACCENT, "#ffcc00", Scheme::Light).unwrap_err();
        assert!(yellow.contains("light") && yellow.contains("1.3:1"), "{yellow}");
        let navy = parse_accent(ACCENT_DARK, "#000080", Scheme::Dark).unwrap_err();
        assert!(navy.contains("dark"), "{navy}");
        for bad in [
            "", "red", "#fff", "#12345", "#1234567", "#12345g", "#+12345", "123456", "#3153cf;", "#é123",
        ] {
            assert!(Colour::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_name_is_short_and_visible() {
        assert_eq!(parse_name("Acme Help").unwrap(), "Acme Help");
        let long = "a".repeat(41);
        for bad in [
            "",
            " ",
            " Acme",
            "Acme ",
            "A\u{202e}B",
            "A\nB",
            "A\u{200b}",
            "A  B",
            &long,
        ] {
            assert!(parse_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_is_not_valid_counts_as_absent() {
        let kept = |key: &str| {
            Some(match key {
                "brand" => "A\u{202e}B",
                "accent" => "#ffcc00",
                "logo" => "../x",
                _ => "#000080",
            })
        };
        let brand = Brand::of(kept);
        assert_eq!((brand.css(), &brand), (String::new(), &Brand::default()));
    }
}
