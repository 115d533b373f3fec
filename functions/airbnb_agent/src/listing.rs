//! What the server says of places to stay: foreign text, of which little is kept, cleaned, and only links to known hosts.

use domain::clean;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

/// Most listings of an answer.
const LISTINGS_MAX: usize = 10;
const ID_MAX: usize = 40;
const NAME_MAX: usize = 80;
const LINE_MAX: usize = 80;
const MORE_MAX: usize = 160;
const LINK_MAX: usize = 200;
/// Degrees are kept in so small parts: a metre.
const PARTS: f64 = 100_000.0;
/// Under this the server lists what a place does *not* offer.
const NOT_OFFERED: &str = "Not included";
/// Ends what is not offered among what is.
const UNAVAILABLE: &str = "— unavailable";

/// A place to stay, as far as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listing {
    /// None where it is empty: the server did not say one that can be used.
    pub(crate) id: String,
    pub(crate) name: String,
    /// What the stay costs, as the server words it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) price: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) rating: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<Url>,
    /// About where it is.
    #[serde(flatten)]
    pub(crate) position: Option<Position>,
    /// What it offers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) offers: String,
    /// What its guests have to keep to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) rules: String,
}

/// A place on Earth, in degrees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Position {
    pub(crate) latitude: f64,
    pub(crate) longitude: f64,
}

impl Position {
    /// What the server says, where that is a place. Without a position some of its listings are at 0, 0.
    fn of(latitude: Option<&Value>, longitude: Option<&Value>) -> Option<Self> {
        let (latitude, longitude) = (latitude?.as_f64()?, longitude?.as_f64()?);
        let is_place =
            latitude.abs() <= 90.0 && longitude.abs() <= 180.0 && (latitude, longitude) != (0.0, 0.0);
        let rounded = |degrees: f64| (degrees * PARTS).round() / PARTS;
        is_place.then(|| Self {
            latitude: rounded(latitude),
            longitude: rounded(longitude),
        })
    }
}

impl Listing {
    /// The listings of an answer; what has no name is none. `None` where nothing of what is there can be read: that is not the same
    /// as that there is nothing.
    pub(crate) fn all(answer: &Value, hosts: &[String]) -> Option<Vec<Self>> {
        let results = answer.get("searchResults")?.as_array()?;
        let listings: Vec<Self> = results
            .iter()
            .filter_map(|result| Self::of(result, hosts))
            .take(LISTINGS_MAX)
            .collect();
        let unread = results.len().min(LISTINGS_MAX).saturating_sub(listings.len());
        if unread > 0 {
            tracing::warn!(unread, "listings cannot be read");
        }
        (!listings.is_empty() || results.is_empty()).then_some(listings)
    }

    fn of(result: &Value, hosts: &[String]) -> Option<Self> {
        let is_plain = |id: &&str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            (1..=ID_MAX).contains(&id.len()) && id.bytes().all(plain)
        };
        // Without it nothing more can be asked of the listing, and its link may lead nowhere; it is there all the same.
        let id = result.get("id").and_then(Value::as_str).filter(is_plain);
        let name = first(
            result,
            &[
                "/demandStayListing/description/name/localizedStringWithTranslationPreference",
                "/name",
                "/title",
            ],
            NAME_MAX,
        );
        (!name.is_empty()).then(|| Self {
            id: id.unwrap_or_default().to_owned(),
            name,
            price: first(
                result,
                &["/structuredDisplayPrice/primaryLine/accessibilityLabel", "/price"],
                LINE_MAX,
            ),
            rating: first(result, &["/avgRatingA11yLabel", "/rating"], LINE_MAX),
            url: result
                .get("url")
                .and_then(Value::as_str)
                .filter(|_| id.is_some())
                .and_then(|url| link(url, hosts)),
            position: Position::of(
                result.pointer("/demandStayListing/location/coordinate/latitude"),
                result.pointer("/demandStayListing/location/coordinate/longitude"),
            ),
            offers: String::new(),
            rules: String::new(),
        })
    }

    /// The first number of its price, which may be in any currency; the dearest where there is none.
    pub(crate) fn amount(&self) -> u64 {
        let price = words::price::spelled(&self.price);
        let mut numbers = price
            .split(|c: char| !c.is_ascii_digit())
            .filter(|number| !number.is_empty());
        numbers
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or(u64::MAX)
    }

    /// Whether it says that it has something.
    pub(crate) fn has(&self, wish: &str) -> bool {
        let wish = wish.to_lowercase();
        [&self.name, &self.offers]
            .iter()
            .any(|told| told.to_lowercase().contains(&wish))
    }

    /// Adds what its details say.
    pub(crate) fn add(&mut self, details: &Value) {
        let sections = details.get("details").and_then(Value::as_array);
        let section = |id: &str| {
            let mut sections = sections.into_iter().flatten();
            sections.find(|section| section.get("id").and_then(Value::as_str) == Some(id))
        };
        let field = |id: &str, name: &str| section(id).and_then(|section| section.get(name));
        let offers = field("AMENITIES_DEFAULT", "seeAllAmenitiesGroups").map(offered);
        self.offers = plain(&offers.unwrap_or_default(), MORE_MAX);
        let rules = field("POLICIES_DEFAULT", "houseRulesSections").and_then(Value::as_str);
        self.rules = plain(rules.unwrap_or_default(), MORE_MAX);
        let place = |name: &str| field("LOCATION_DEFAULT", name);
        self.position = self.position.or_else(|| Position::of(place("lat"), place("lng")));
    }
}

/// What a place offers: a text by each group's name, or all of it in one text, as servers before 0.3 have it.
fn offered(groups: &Value) -> String {
    let Some(groups) = groups.as_object() else {
        return groups.as_str().unwrap_or_default().to_owned();
    };
    let kept = groups.iter().filter(|(name, _)| *name != NOT_OFFERED);
    let things = kept
        .filter_map(|(_, things)| things.as_str())
        .flat_map(|things| things.split(", "));
    let things: Vec<&str> = things.filter(|thing| !thing.ends_with(UNAVAILABLE)).collect();
    things.join(", ")
}

/// The first of these texts that is there.
fn first(of: &Value, pointers: &[&str], max: usize) -> String {
    let mut found = pointers
        .iter()
        .filter_map(|pointer| of.pointer(pointer)?.as_str());
    plain(found.next().unwrap_or_default(), max)
}

fn plain(text: &str, max: usize) -> String {
    clean(&words::text::unlinked(text), max)
}

/// A link that may be shown: https, to a known host and nowhere else, without anything for that host in it.
fn link(url: &str, hosts: &[String]) -> Option<Url> {
    let url = Url::parse(url)
        .ok()
        .filter(|url| url.as_str().len() <= LINK_MAX)?;
    let host = url.host_str()?;
    let known = hosts.iter().any(|known| known == host);
    let bare = url.username().is_empty() && url.password().is_none() && url.port().is_none();
    (url.scheme() == "https" && known && bare).then_some(url)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hosts() -> Vec<String> {
        vec!["www.airbnb.com".to_owned()]
    }

    #[test]
    fn a_hostile_listing_becomes_plain_text() {
        let answer = json!({"searchResults": [{
            "id": "77",
            "name": "Flat\u{202e} ![x](https://evil.example/?q=) <script>a</script> see www.evil.example and\u{200b} call",
            "url": "https://www.airbnb.com.evil.example/rooms/77",
            "structuredDisplayPrice": {"primaryLine": {"accessibilityLabel": "€ 100 for 2 nights"}},
        }]});
        let listing = Listing::all(&answer, &hosts()).unwrap().remove(0);
        assert_eq!(listing.name, "Flat scripta/script see and call");
        assert_eq!(
            (listing.url, listing.price.as_str()),
            (None, "€ 100 for 2 nights")
        );
    }

    #[test]
    fn only_links_to_known_hosts_are_kept() {
        let kept = |url: &str| link(url, &hosts()).is_some();
        assert!(kept("https://www.airbnb.com/rooms/77?check_in=2026-12-04"));
        for url in [
            "http://www.airbnb.com/rooms/77",
            "https://airbnb.com/rooms/77",
            "https://u@www.airbnb.com/",
            "https://www.airbnb.com:8443/",
            "javascript:alert(1)",
            "//www.airbnb.com/rooms/77",
        ] {
            assert!(!kept(url), "{url}");
        }
        assert!(!kept(&format!("https://www.airbnb.com/{}", "x".repeat(300))));
    }

    #[test]
    fn what_is_no_listing_is_left_out() {
        let all = |results: Value| {
            Listing::all(&json!({ "searchResults": results }), &hosts()).map(|all| all.len())
        };
        // None, some that cannot be read, and nothing that can be.
        assert_eq!(all(json!([])), Some(0));
        assert_eq!(
            all(json!([{"id": "7", "name": "a"}, {"id": "8"}, null, "x"])),
            Some(1)
        );
        for unreadable in [
            json!([{"id": "7"}, null, "x"]),
            json!("x"),
            json!(null),
            json!({}),
        ] {
            assert_eq!(all(unreadable.clone()), None, "{unreadable}");
        }
        let many: Vec<Value> = (0..50)
            .map(|id| json!({"id": id.to_string(), "name": "Flat"}))
            .collect();
        assert_eq!(all(json!(many)), Some(LISTINGS_MAX));
        assert_eq!(Listing::all(&json!(null), &hosts()), None);
    }

    #[test]
    fn a_listing_without_an_id_that_can_be_used_has_no_link() {
        let long = "1".repeat(ID_MAX + 1);
        for id in [
            json!(null),
            json!(7),
            json!(""),
            json!("../x"),
            json!("a b"),
            json!(long),
        ] {
            let told =
                json!({"id": id, "name": "Flat", "price": "$ 9", "url": "https://www.airbnb.com/rooms/1"});
            let read = Listing::all(&json!({"searchResults": [told]}), &hosts())
                .unwrap()
                .remove(0);
            assert_eq!(
                (read.id.as_str(), read.name.as_str(), read.url),
                ("", "Flat", None),
                "{id}"
            );
        }
    }

    #[test]
    fn details_of_any_form_do_no_harm() {
        let answer = json!({"searchResults": [{"id": "7", "name": "Flat"}]});
        let mut listing = Listing::all(&answer, &hosts()).unwrap().remove(0);
        for details in [
            json!(null),
            json!({"details": {}}),
            json!({"details": [1, {"id": "AMENITIES_DEFAULT"}]}),
        ] {
            listing.add(&details);
            assert!(listing.offers.is_empty() && listing.rules.is_empty());
        }
        listing.add(
            &json!({"details": [{"id": "AMENITIES_DEFAULT", "seeAllAmenitiesGroups": "Wifi, Kitchen"}]}),
        );
        assert_eq!(listing.offers, "Wifi, Kitchen");
        let groups = json!({
            "Bathroom": "Hair dryer, Bath — unavailable", "Internet and office": "Wifi", "Not included": "Smoke alarm", "Other": 7,
        });
        listing.add(&json!({"details": [{"id": "AMENITIES_DEFAULT", "seeAllAmenitiesGroups": groups}]}));
        assert_eq!(listing.offers, "Hair dryer, Wifi");
    }

    #[test]
    fn where_a_listing_is_is_told_where_the_server_knows_it() {
        let at = |coordinate: Value| {
            let result = json!({"id": "7", "name": "Flat", "demandStayListing": {"location": {"coordinate": coordinate}}});
            Listing::all(&json!({"searchResults": [result]}), &hosts())
                .unwrap()
                .remove(0)
        };
        let oslo = at(json!({"latitude": 59.913_868_8, "longitude": 10.752_245_4}));
        let told = serde_json::to_value(&oslo).unwrap();
        assert_eq!(
            (&told["latitude"], &told["longitude"]),
            (&json!(59.91387), &json!(10.75225))
        );
        assert_eq!(serde_json::from_value::<Listing>(told).unwrap(), oslo);
        for nowhere in [
            json!(null),
            json!({"latitude": 59.9}),
            json!({"latitude": "59.9", "longitude": "10.7"}),
            json!({"latitude": 90.1, "longitude": 10.7}),
            json!({"latitude": 59.9, "longitude": -180.1}),
            json!({"latitude": 1e300, "longitude": 10.7}),
            json!({"latitude": 0.0, "longitude": 0}),
            json!([59.9, 10.7]),
        ] {
            let mut listing = at(nowhere.clone());
            assert_eq!(listing.position, None, "{nowhere}");
            let told = serde_json::to_value(&listing).unwrap();
            assert!(told.get("latitude").is_none(), "{told}");
            assert_eq!(serde_json::from_value::<Listing>(told).unwrap(), listing);
            // Its details may know it.
            listing.add(&json!({"details": [{"id": "LOCATION_DEFAULT", "lat": 59.9, "lng": 10.7}]}));
            let position = listing.position.map(|found| (found.latitude, found.longitude));
            assert_eq!(position, Some((59.9, 10.7)));
        }
    }
}
