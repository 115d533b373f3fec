//! The tenant's name, colours and logo on its page, and that a logo can do nothing.

use std::time::Duration;

use domain::{DARK_SURFACES, LIGHT_SURFACES, SettingChange};
use http::StatusCode;
use serde_json::{Value, json};
use store::Logo;

use super::world::{Browser, World};

const SVG: &[u8] = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>";

#[tokio::test]
async fn a_page_has_its_tenants_name_colours_and_logo() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let plain = browser.get(&app, "/").await.text;
    assert!(plain.contains("<title>Switchyard · acme</title>"), "{plain}");
    assert!(!plain.contains("brand.css") && !plain.contains("logo?") && !plain.contains("{{"));
    let css = browser.get(&app, "/brand.css").await;
    assert_eq!((css.status, css.text.as_str()), (StatusCode::OK, ""));
    assert_eq!(browser.get(&app, "/logo").await.status, StatusCode::NOT_FOUND);
    assert!(plain.contains("<link rel=\"manifest\" href=\"./assets/manifest-"));
    let manifest = browser.get(&app, "/manifest.webmanifest").await.json();
    assert_eq!(
        (&manifest["name"], &manifest["start_url"]),
        (&json!("Switchyard"), &json!("./"))
    );

    let tenants = world.store.tenants();
    tenants.add(&world.tenant).await.unwrap();
    let changes = [("brand", "A & \"B\" <i>"), ("accent", "#7a1f5c")]
        .map(|(key, value)| SettingChange::parse(key, Some(value)).unwrap());
    assert!(tenants.set(&world.tenant, &changes).await.unwrap());
    let logo = Logo {
        media: "image/svg+xml".to_owned(),
        bytes: SVG.to_vec(),
    };
    assert!(
        tenants
            .set_logo(&world.tenant, Some(("ab12", logo)))
            .await
            .unwrap()
    );
    world.clock.advance(Duration::from_secs(11));

    let page = browser.get(&app, "/").await.text;
    assert!(
        page.contains("<title>A &amp; &quot;B&quot; &lt;i> · acme</title>"),
        "{page}"
    );
    assert!(page.contains("<meta name=\"logo\" content=\"logo?v=ab12\">"));
    let sheet = page
        .split("brand.css?v=")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let sheet = format!("/brand.css?v={}", sheet.unwrap());
    let css = browser.get(&app, &sheet).await;
    assert!(
        css.text.contains("--accent: light-dark(#7a1f5c, #"),
        "{}",
        css.text
    );
    assert!(
        css.headers["cache-control"]
            .to_str()
            .unwrap()
            .contains("immutable")
    );
    let old = browser.get(&app, "/brand.css?v=1").await;
    assert_eq!(old.headers["cache-control"], "no-cache");

    let manifest = page
        .split("<link rel=\"manifest\" href=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let manifest = browser.get(&app, &format!("/{}", manifest.unwrap())).await;
    assert_eq!(manifest.headers["content-type"], "application/manifest+json");
    assert!(
        manifest.headers["cache-control"]
            .to_str()
            .unwrap()
            .contains("immutable")
    );
    let manifest = manifest.json();
    assert_eq!(manifest["name"], "A & \"B\" <i>");
    assert_eq!(
        (&manifest["short_name"], &manifest["theme_color"]),
        (&manifest["name"], &json!("#7a1f5c"))
    );
    assert_eq!(
        manifest["icons"],
        json!([{"src": "logo?v=ab12", "sizes": "any", "purpose": "any"}])
    );
    assert_eq!(
        (&manifest["scope"], &manifest["display"]),
        (&json!("./"), &json!("standalone"))
    );

    let logo = browser.get(&app, "/logo?v=ab12").await;
    assert_eq!(logo.headers["content-type"], "image/svg+xml");
    assert_eq!(logo.headers["x-content-type-options"], "nosniff");
    assert_eq!(logo.headers["cross-origin-resource-policy"], "same-origin");
    // Even one that was stored past every check.
    let policy = logo.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.contains("default-src 'none'") && policy.contains("sandbox"),
        "{policy}"
    );
    for rubbish in ["/logo?v=%00", "/logo?v=a&v=b", "/brand.css?%ff"] {
        assert_eq!(
            browser.get(&app, rubbish).await.status,
            StatusCode::OK,
            "{rubbish}"
        );
    }
}

#[tokio::test]
async fn the_service_worker_has_the_page_as_it_is_and_changes_with_it() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let worker = browser.get(&app, "/worker.js").await;
    assert_eq!(worker.headers["content-type"], "text/javascript; charset=utf-8");
    assert_eq!(worker.headers["cache-control"], "no-cache");
    assert_eq!(worker.headers["x-content-type-options"], "nosniff");
    let policy = worker.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.starts_with("default-src 'none'; connect-src 'self'"),
        "{policy}"
    );

    let page = browser.get(&app, "/").await;
    let told = |script: &str| -> Value {
        let first = script
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("self.page = "));
        serde_json::from_str(first.unwrap().trim_end_matches(';')).unwrap()
    };
    let known = told(&worker.text);
    assert_eq!(known["html"], page.text.as_str());
    // Another way to the document weakens nothing.
    for (name, value) in known["headers"].as_object().unwrap() {
        assert_eq!(page.headers[name.as_str()], value.as_str().unwrap(), "{name}");
    }
    assert!(known["headers"]["content-security-policy"].is_string());
    for file in known["files"].as_array().unwrap() {
        let path = format!("/{}", file.as_str().unwrap());
        assert_eq!(browser.get(&app, &path).await.status, StatusCode::OK, "{path}");
    }

    let tenants = world.store.tenants();
    tenants.add(&world.tenant).await.unwrap();
    let changes = [("brand", "</script> \"A\""), ("accent", "#7a1f5c")]
        .map(|(key, value)| SettingChange::parse(key, Some(value)).unwrap());
    assert!(tenants.set(&world.tenant, &changes).await.unwrap());
    world.clock.advance(Duration::from_secs(11));
    let other = browser.get(&app, "/worker.js").await;
    assert_ne!(other.headers["etag"], worker.headers["etag"]);
    let known = told(&other.text);
    assert_eq!(known["html"], browser.get(&app, "/").await.text.as_str());
    let sheet = known["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str);
    assert!(
        sheet.into_iter().any(|file| file.starts_with("brand.css?v=")),
        "{known}"
    );
}

#[tokio::test]
async fn what_says_it_is_no_image_is_not_served() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let tenants = world.store.tenants();
    tenants.add(&world.tenant).await.unwrap();
    let logo = Logo {
        media: "text/html".to_owned(),
        bytes: b"<script>alert(1)</script>".to_vec(),
    };
    assert!(
        tenants
            .set_logo(&world.tenant, Some(("ab12", logo)))
            .await
            .unwrap()
    );
    world.clock.advance(Duration::from_secs(11));
    assert_eq!(browser.get(&app, "/logo").await.status, StatusCode::NOT_FOUND);
}

#[test]
fn contrast_is_checked_against_the_surfaces_of_the_page() {
    let base = include_str!("../../ui/src/styles/base.css");
    for name in ["--bg", "--side", "--sheet", "--raised"] {
        let pair = base.split(&format!("{name}: light-dark(")).nth(1);
        let pair = pair.and_then(|rest| rest.split(')').next()).unwrap();
        let (light, dark) = pair.split_once(", ").unwrap();
        let light = if light == "#fff" { "#ffffff" } else { light };
        assert!(LIGHT_SURFACES.contains(&light), "{name} {light}");
        assert!(DARK_SURFACES.contains(&dark), "{name} {dark}");
    }
}

#[tokio::test]
async fn a_page_that_is_built_in_a_folder_is_shown_as_it_is_there_and_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir_all(folder.path().join("assets/below")).unwrap();
    write("index.html", "<head></head>{{product}} {{tenant}}");
    write("worker.js", "// worker");
    write("assets/index-1.js", "one()");
    write("assets/notes.txt", "no file of a page");
    write("secret.js", "no file of the page");
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app_in(folder.path());
    assert!(browser.get(&app, "/").await.text.ends_with("Switchyard acme"));
    let file = browser.get(&app, "/assets/index-1.js").await;
    assert_eq!(
        (file.text.as_str(), file.headers["content-type"].to_str().unwrap()),
        ("one()", "text/javascript; charset=utf-8")
    );
    let worker = browser.get(&app, "/worker.js").await.text;
    assert!(
        worker.contains("assets/index-1.js") && worker.ends_with("// worker"),
        "{worker}"
    );
    for other in [
        "notes.txt",
        "below",
        "..%2fsecret.js",
        "%2e%2e%2Fsecret.js",
        "%2Fetc%2Fpasswd",
        "%00",
    ] {
        let answered = browser.get(&app, &format!("/assets/{other}")).await;
        assert_eq!(answered.status, StatusCode::NOT_FOUND, "{other}");
    }
    write("assets/index-1.js", "two()");
    assert_eq!(browser.get(&app, "/assets/index-1.js").await.text, "two()");
}
