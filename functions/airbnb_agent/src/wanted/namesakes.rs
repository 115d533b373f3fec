//! Names that several large places bear: the country that its user is in says which is meant, or the user does.

use chrono_tz::Tz;
use outbound::open_meteo::fold;
use words::areas;

/// Such names, each with where the places are.
const PLACES: &str = include_str!("namesakes/places.tsv");
/// The countries of the places: code, name, time zones.
const COUNTRIES: &str = include_str!("namesakes/countries.tsv");

/// Several places of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Namesakes {
    /// The name as it was said.
    name: String,
    /// Where they are, the largest first.
    sites: Vec<Site>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Site {
    area: &'static str,
    /// The country's code.
    code: &'static str,
}

fn rows(table: &'static str) -> impl Iterator<Item = std::str::Split<'static, char>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t'))
}

/// A country's code, name and time zones.
fn country(is: impl Fn(&str, &[&str]) -> bool) -> Option<(&'static str, &'static str)> {
    rows(COUNTRIES).find_map(|mut row| {
        let (code, name) = (row.next()?, row.next()?);
        let zones: Vec<&str> = row.collect();
        is(code, &zones).then_some((code, name))
    })
}

impl Site {
    fn country(&self) -> &'static str {
        country(|code, _| code == self.code).map_or("", |(_, name)| name)
    }

    /// What people call its country and its state for short: "UK", "ME".
    fn codes(&self) -> Vec<String> {
        let letters = || 'a'..='z';
        let codes = letters().flat_map(|one| letters().map(move |other| format!("{one}{other}")));
        let codes = codes.filter(|code| {
            areas::country(code) == Some(self.code) || areas::state(code) == Some((self.code, self.area))
        });
        codes.map(|code| code.to_uppercase()).collect()
    }
}

impl Namesakes {
    /// The places that may be meant by a name; none where it is no such name.
    pub(super) fn of(name: &str) -> Option<Self> {
        let wanted = fold(name);
        let mut rows = rows(PLACES).filter_map(|mut row| Some((row.next()?, row)));
        let (_, sites) = rows.find(|(known, _)| fold(known) == wanted)?;
        let sites = sites.filter_map(|site| site.rsplit_once(", "));
        Some(Self {
            name: name.to_owned(),
            sites: sites.map(|(area, code)| Site { area, code }).collect(),
        })
    }

    /// The country of the one that lies where the user is.
    pub(super) fn at_home(&self, zone: Tz) -> Option<&'static str> {
        let (code, country) = country(|_, zones| zones.contains(&zone.name()))?;
        let own = self.sites.iter().filter(|site| site.code == code);
        (own.count() == 1).then_some(country)
    }

    /// Asks which one is meant, with what may be answered: what is searched for, and what tells it.
    pub(super) fn question(&self) -> (String, Vec<(String, String)>) {
        let is_abroad = self.is_abroad();
        let told = self.sites.iter().map(|site| match is_abroad {
            true => format!("{} ({})", site.area, site.country()),
            false => site.area.to_owned(),
        });
        let told: Vec<String> = told.collect();
        let question = format!("Which {}: {}?", self.name, words::listed(&told, "or"));
        let choices = self.sites.iter().zip(told).map(|(site, told)| {
            let place = match is_abroad {
                true => format!("{}, {}, {}", self.name, site.area, site.country()),
                false => format!("{}, {}", self.name, site.area),
            };
            let known_as: Vec<String> = [told].into_iter().chain(site.codes()).collect();
            (place, known_as.join(", "))
        });
        (question, choices.collect())
    }

    /// Whether they are in several countries.
    fn is_abroad(&self) -> bool {
        let codes = self.sites.iter().map(|site| site.code);
        let mut others = codes.clone().zip(codes.skip(1));
        others.any(|(one, other)| one != other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        for row in rows(PLACES) {
            let name = row.clone().next().unwrap();
            let same = Namesakes::of(name).unwrap();
            assert!(
                same.sites.len() > 1 && same.sites.len() + 1 == row.count(),
                "{name}"
            );
            for site in &same.sites {
                assert!(
                    !site.area.is_empty() && !site.country().is_empty(),
                    "{name}: {site:?}"
                );
            }
        }
        for zone in rows(COUNTRIES).flat_map(|row| row.skip(2)) {
            assert!(zone.parse::<Tz>().is_ok(), "{zone}");
        }
    }

    #[test]
    fn only_names_of_which_none_is_clearly_meant_are_asked_about() {
        for (name, question) in [
            ("Portland", "Which Portland: Oregon or Maine?"),
            (
                "springfield",
                "Which springfield: Missouri, Massachusetts, Illinois, Oregon or Ohio?",
            ),
            (
                "Birmingham",
                "Which Birmingham: England (United Kingdom) or Alabama (United States)?",
            ),
            (
                "Cordoba",
                "Which Cordoba: Cordoba (Argentina) or Andalusia (Spain)?",
            ),
        ] {
            let asked = Namesakes::of(name).map(|same| same.question().0);
            assert_eq!(asked.as_deref(), Some(question));
        }
        for name in [
            "Paris",
            "London",
            "Oslo",
            "Athens",
            "Barcelona",
            "Vancouver",
            "Portland, Maine",
            "",
        ] {
            assert_eq!(Namesakes::of(name), None, "{name}");
        }
    }

    #[test]
    fn who_is_in_the_country_of_one_means_that_one() {
        for (name, zone, country) in [
            ("Toledo", Tz::Europe__Madrid, Some("Spain")),
            ("Halifax", Tz::America__Toronto, Some("Canada")),
            ("Toledo", Tz::America__New_York, Some("United States")),
            ("Toledo", Tz::Europe__Oslo, None),
            ("Portland", Tz::America__New_York, None),
        ] {
            let same = Namesakes::of(name).unwrap();
            assert_eq!(same.at_home(zone), country, "{name} {zone}");
        }
    }

    #[test]
    fn a_reply_says_which_by_where_it_is() {
        for (name, reply, picked) in [
            ("Portland", "Maine", Some("Portland, Maine")),
            ("Portland", "the one in Oregon, please", Some("Portland, Oregon")),
            ("Portland", "Portland, Maine", Some("Portland, Maine")),
            ("Portland", "ME", Some("Portland, Maine")),
            ("Portland", "or", Some("Portland, Oregon")),
            ("Portland", "either Maine or Oregon", None),
            ("Portland", "tell me, or not", None),
            ("Portland", "Bergen", None),
            ("Birmingham", "UK", Some("Birmingham, England, United Kingdom")),
            (
                "Birmingham",
                "the US one",
                Some("Birmingham, Alabama, United States"),
            ),
            ("Valencia", "Valencia", None),
            ("Valencia", "in Spain", Some("Valencia, Valencia, Spain")),
        ] {
            let (_, choices) = Namesakes::of(name).unwrap().question();
            assert!(
                choices.iter().all(|(_, told)| !told.ends_with([',', ' '])),
                "{choices:?}"
            );
            let asked = super::super::one_of("place", "Which?", &choices).unwrap();
            let place = asked.chosen(reply).remove("place");
            assert_eq!(place, picked.map(Into::into), "{name}: {reply}");
        }
    }
}
