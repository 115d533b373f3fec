//! A browser as far as consent needs one: cookies by path, redirects, forms. No JavaScript, as the pages want none.

use std::collections::BTreeMap;

use reqwest::StatusCode;
use reqwest::header::{COOKIE, LOCATION, REFRESH, SET_COOKIE};
use url::Url;

use crate::user::{SharedCookie, User};

/// One browser profile.
pub struct Browser {
    http: reqwest::Client,
    /// By name, with the path each belongs to.
    cookies: BTreeMap<String, (String, String)>,
    /// The user whose browser it is.
    shared: Option<SharedCookie>,
    /// What an application of its own takes from the browser: an address that begins so is shown, not opened.
    pub stop_at: Option<String>,
    /// Every address it was at, in order.
    pub visited: Vec<Url>,
}

/// A page that was shown.
#[derive(Debug, Clone)]
pub struct Page {
    /// Where it is.
    pub url: Url,
    /// Its status.
    pub status: StatusCode,
    /// Its HTML.
    pub html: String,
}

impl Default for Browser {
    fn default() -> Self {
        Self {
            http: crate::user::http(),
            cookies: BTreeMap::new(),
            shared: None,
            stop_at: None,
            visited: Vec::new(),
        }
    }
}

impl User {
    /// This user's browser: a session that the one gets, the other has. `path`: below which the chat is.
    ///
    /// # Panics
    /// Where the user has no session yet.
    #[must_use]
    pub fn browser(&self, path: &str) -> Browser {
        Browser::sharing(self.shared_cookie(), path)
    }
}

impl Browser {
    /// A profile that already has this cookie, `name=value`, for paths below `path`.
    #[must_use]
    pub fn with_cookie(pair: &str, path: &str) -> Self {
        let mut browser = Self::default();
        browser.keep(&format!("{pair}; Path={path}"));
        browser
    }

    /// The browser of the user with this cookie, for paths below `path`.
    fn sharing(cookie: SharedCookie, path: &str) -> Self {
        let pair = cookie.lock().expect("no panic under the lock").clone();
        Self {
            shared: Some(cookie),
            ..Self::with_cookie(&pair.expect("a session"), path)
        }
    }

    /// Gives it a cookie for every path.
    pub fn set(&mut self, name: &str, value: &str) {
        self.keep(&format!("{name}={value}; Path=/"));
    }

    /// The cookies it has by now, name and value.
    pub fn cookies(&self) -> impl Iterator<Item = (&str, &str)> {
        self.cookies
            .iter()
            .map(|(name, (value, _))| (name.as_str(), value.as_str()))
    }

    /// Opens an address and follows redirects.
    pub async fn open(&mut self, url: &str) -> Page {
        let url = Url::parse(url).expect("an address");
        self.go(url, None).await
    }

    /// Sends the page's first form with these fields filled in; the first button is the one that is pressed.
    pub async fn submit(&mut self, page: &Page, fill: &[(&str, &str)]) -> Page {
        let start = page
            .html
            .find("<form")
            .unwrap_or_else(|| panic!("no form in {page:?}"));
        let end = page.html[start..].find("</form>").expect("a whole form") + start;
        let form = &page.html[start..end];
        let tags = |name: &str| -> Vec<&str> {
            form.split('<')
                .filter(|tag| tag.starts_with(name))
                .map(|tag| tag.split('>').next().unwrap_or(tag))
                .collect()
        };
        let mut fields: Vec<(String, String)> = Vec::new();
        for tag in tags("input")
            .into_iter()
            .chain(tags("button").into_iter().take(1))
        {
            if let Some(name) = attribute(tag, "name") {
                let given = fill
                    .iter()
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| (*value).to_owned());
                fields.push((
                    name,
                    given.or_else(|| attribute(tag, "value")).unwrap_or_default(),
                ));
            }
        }
        let action = attribute(form, "action").unwrap_or_default();
        let target = page.url.join(&action).expect("an address");
        self.go(target, Some(fields)).await
    }

    async fn go(&mut self, mut url: Url, mut form: Option<Vec<(String, String)>>) -> Page {
        for _ in 0..10 {
            self.visited.push(url.clone());
            if self
                .stop_at
                .as_ref()
                .is_some_and(|stop| url.as_str().starts_with(stop.as_str()))
            {
                let (status, html) = (StatusCode::OK, String::new());
                return Page { url, status, html };
            }
            let mut request = match form.take() {
                None => self.http.get(url.clone()),
                Some(fields) => {
                    let body = url::form_urlencoded::Serializer::new(String::new())
                        .extend_pairs(fields)
                        .finish();
                    let origin = url.origin().ascii_serialization();
                    self.http
                        .post(url.clone())
                        .header("content-type", "application/x-www-form-urlencoded")
                        .header("origin", origin)
                        .header("sec-fetch-site", "same-origin")
                        .body(body)
                }
            };
            let cookies: Vec<String> = self
                .cookies
                .iter()
                .filter(|(_, (_, path))| url.path().starts_with(path.as_str()))
                .map(|(name, (value, _))| format!("{name}={value}"))
                .collect();
            if !cookies.is_empty() {
                request = request.header(COOKIE, cookies.join("; "));
            }
            let response = request.send().await.expect("an answer");
            for set in response.headers().get_all(SET_COOKIE) {
                self.keep(set.to_str().expect("text"));
            }
            let status = response.status();
            // Some pages lead on at once by themselves.
            let refresh = response
                .headers()
                .get(REFRESH)
                .and_then(|value| value.to_str().ok());
            if let Some(next) = refresh.and_then(|value| value.strip_prefix("0; url=")) {
                url = url.join(next).expect("an address");
                continue;
            }
            match response
                .headers()
                .get(LOCATION)
                .filter(|_| status.is_redirection())
            {
                Some(location) => url = url.join(location.to_str().expect("text")).expect("an address"),
                None => {
                    return Page {
                        url,
                        status,
                        html: response.text().await.expect("a page"),
                    };
                }
            }
        }
        panic!("more than ten redirects")
    }

    fn keep(&mut self, set: &str) {
        let mut fields = set.split(';').map(str::trim);
        let (name, value) = fields
            .next()
            .and_then(|pair| pair.split_once('='))
            .expect("a cookie");
        let fields: Vec<&str> = fields.collect();
        let path = fields
            .iter()
            .find_map(|field| field.strip_prefix("Path="))
            .unwrap_or("/")
            .to_owned();
        if fields.contains(&"Max-Age=0") {
            self.cookies.remove(name);
        } else {
            self.cookies.insert(name.to_owned(), (value.to_owned(), path));
            if let Some(shared) = &self.shared {
                let mut kept = shared.lock().expect("no panic under the lock");
                let is_same = |known: &String| known.split('=').next() == Some(name);
                if kept.as_ref().is_some_and(is_same) {
                    *kept = Some(format!("{name}={value}"));
                }
            }
        }
    }
}

/// An attribute of a tag, as a browser reads it.
#[must_use]
pub fn attribute(tag: &str, name: &str) -> Option<String> {
    let at = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    let value = tag[at..].split('"').next()?;
    Some(
        value
            .replace("&amp;", "&")
            .replace("&quot;", "\"")
            .replace("&lt;", "<")
            .replace("&gt;", ">"),
    )
}
