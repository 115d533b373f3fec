//! A tenant's logo, checked before it is stored: a small PNG, or an SVG that only draws.
//!
//! The page shows it as an image, where nothing in it runs, and whoever opens its address gets it under a policy that lets
//! nothing run or load. The check is the third wall: what is stored holds nothing that could do either.

use std::fmt;

use roxmltree::{Document, Node, ParsingOptions};
use sha2::{Digest as _, Sha256};

/// Most bytes of a logo.
pub const LOGO_MAX: usize = 32 * 1024;
/// Most pixels of a side of a PNG.
const SIDE_MAX: u32 = 1024;
/// Most elements, attributes and texts of an SVG.
const NODES_MAX: u32 = 2000;

const SVG: &str = "http://www.w3.org/2000/svg";
const XLINK: &str = "http://www.w3.org/1999/xlink";
const PNG_HEAD: &[u8] = b"\x89PNG\r\n\x1a\n";

/// What an SVG may hold. It draws; it runs, links, loads and animates nothing.
const ELEMENTS: [&str; 20] = [
    "svg",
    "g",
    "path",
    "rect",
    "circle",
    "ellipse",
    "line",
    "polyline",
    "polygon",
    "text",
    "tspan",
    "title",
    "desc",
    "defs",
    "linearGradient",
    "radialGradient",
    "stop",
    "clipPath",
    "mask",
    "use",
];

/// Why a file is not taken as a logo.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLogo {
    /// It is larger than [`LOGO_MAX`].
    #[error("a logo has at most {LOGO_MAX} bytes; this has {0}")]
    TooLarge(usize),
    /// It is neither.
    #[error("a logo is a PNG or an SVG file")]
    Type,
    /// A side is too long, or nothing.
    #[error("a PNG logo has sides of 1 to {SIDE_MAX} pixels; this is {0} × {1}")]
    Sides(u32, u32),
    /// It is no XML.
    #[error("the SVG cannot be read: {0}")]
    Syntax(String),
    /// It does more than draw.
    #[error("an SVG logo only draws: {0}")]
    Forbidden(String),
}

/// What a logo is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogoType {
    /// A PNG.
    Png,
    /// An SVG.
    Svg,
}

impl fmt::Display for LogoType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Png => "image/png",
            Self::Svg => "image/svg+xml",
        })
    }
}

/// Finds out what the file is, by what it holds, and whether it may be a logo.
///
/// # Errors
/// [`InvalidLogo`].
pub fn check(bytes: &[u8]) -> Result<LogoType, InvalidLogo> {
    if bytes.len() > LOGO_MAX {
        return Err(InvalidLogo::TooLarge(bytes.len()));
    }
    if bytes.starts_with(PNG_HEAD) {
        return check_png(bytes).map(|()| LogoType::Png);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| InvalidLogo::Type)?;
    let text = text.trim_start_matches('\u{feff}');
    if !text.trim_start().starts_with('<') {
        return Err(InvalidLogo::Type);
    }
    check_svg(text).map(|()| LogoType::Svg)
}

/// What a logo is known by: its address holds it, so that a browser keeps it until there is another one.
#[must_use]
pub fn hash(bytes: &[u8]) -> String {
    let sum = Sha256::digest(bytes);
    sum.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// PNG, third edition, 11.2.1: the header comes first, 13 bytes, and begins with the sides.
fn check_png(bytes: &[u8]) -> Result<(), InvalidLogo> {
    let header = bytes.get(PNG_HEAD.len()..).unwrap_or_default();
    let side = |from: usize| {
        let bytes = header.get(from..from + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    let is_header = header.starts_with(&[0, 0, 0, 13, b'I', b'H', b'D', b'R']);
    let (Some(width), Some(height), true) = (side(8), side(12), is_header) else {
        return Err(InvalidLogo::Type);
    };
    if !(1..=SIDE_MAX).contains(&width) || !(1..=SIDE_MAX).contains(&height) {
        return Err(InvalidLogo::Sides(width, height));
    }
    Ok(())
}

fn check_svg(text: &str) -> Result<(), InvalidLogo> {
    // No DTD: entities can grow without end.
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: NODES_MAX,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options);
    let document = document.map_err(|error| InvalidLogo::Syntax(error.to_string()))?;
    if document.root_element().tag_name().name() != "svg" {
        return Err(InvalidLogo::Type);
    }
    document.descendants().try_for_each(|node| check_node(&node))?;
    // What is used and uses something itself is drawn once for each, so that a few lines become a billion shapes.
    let uses = |node: &Node<'_, '_>| node.descendants().any(|inner| inner.tag_name().name() == "use");
    let target = |node: Node<'_, '_>| {
        let link = node
            .attributes()
            .find(|attribute| attribute.name().eq_ignore_ascii_case("href"));
        link.and_then(|link| link.value().trim().strip_prefix('#').map(str::to_owned))
    };
    let used: Vec<String> = document
        .descendants()
        .filter(|node| node.tag_name().name() == "use")
        .filter_map(target)
        .collect();
    let again = document.descendants().find(|node| {
        let id = node.attribute("id").unwrap_or_default();
        used.iter().any(|used| used == id) && uses(node)
    });
    match again {
        Some(_) => Err(InvalidLogo::Forbidden(
            "a <use> of what uses something itself".to_owned(),
        )),
        None => Ok(()),
    }
}

fn check_node(node: &Node<'_, '_>) -> Result<(), InvalidLogo> {
    let forbidden = |what: String| Err(InvalidLogo::Forbidden(what));
    if node.is_pi() {
        // A style sheet would be named so.
        return forbidden("a processing instruction".to_owned());
    }
    if !node.is_element() {
        return Ok(());
    }
    let name = node.tag_name();
    if name.namespace() != Some(SVG) || !ELEMENTS.contains(&name.name()) {
        return forbidden(format!("<{}>", shown(name.name())));
    }
    for attribute in node.attributes() {
        let (key, value) = (attribute.name(), attribute.value());
        let lower = key.to_ascii_lowercase();
        let is_link = lower == "href" || attribute.namespace() == Some(XLINK);
        if lower.starts_with("on") || (is_link && !value.trim().starts_with('#')) || !loads_nothing(value) {
            return forbidden(format!(
                "the attribute {} of <{}>",
                shown(key),
                shown(name.name())
            ));
        }
    }
    Ok(())
}

/// Nothing in the value names something outside of the file. CSS may write any letter as an escape, so none is let through.
fn loads_nothing(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let urls = lower.split("url(").skip(1);
    let stays = urls
        .map(|rest| rest.trim_start_matches(|c: char| c.is_whitespace() || c == '"' || c == '\''))
        .all(|rest| rest.starts_with('#'));
    let bad = [
        "\\",
        "/*",
        "@import",
        "javascript:",
        "data:",
        "image(",
        "image-set(",
        "src(",
        "expression(",
    ];
    stays && !bad.iter().any(|bad| lower.contains(bad))
}

fn shown(name: &str) -> String {
    domain::clean(name, 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(inner: &str) -> Vec<u8> {
        format!(r#"<svg xmlns="{SVG}" xmlns:xlink="{XLINK}" viewBox="0 0 16 16">{inner}</svg>"#).into_bytes()
    }

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = PNG_HEAD.to_vec();
        bytes.extend([0, 0, 0, 13]);
        bytes.extend(b"IHDR");
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 6, 0, 0, 0]);
        bytes
    }

    #[test]
    fn a_drawing_is_taken() {
        assert_eq!(check(&png(64, 64)), Ok(LogoType::Png));
        for inner in [
            r##"<path d="M2 12h5l4-8h3" fill="none" stroke="#3153cf"/>"##,
            r##"<defs><linearGradient id="a"><stop offset="0" stop-color="red"/></linearGradient></defs><rect width="9" height="9" fill="url(#a)"/>"##,
            r##"<g id="b"><circle r="1"/></g><use href="#b"/><use xlink:href="#b"/>"##,
            r##"<title>Acme</title><text style="font-size:9px;fill:url( '#a' )">A</text>"##,
            "<!-- drawn by hand -->",
        ] {
            assert_eq!(check(&svg(inner)), Ok(LogoType::Svg), "{inner}");
        }
        let with_declaration = [br#"<?xml version="1.0"?>"#.to_vec(), svg("")].concat();
        assert_eq!(check(&with_declaration), Ok(LogoType::Svg));
    }

    #[test]
    fn what_runs_links_loads_or_grows_is_refused() {
        for inner in [
            "<script>alert(1)</script>",
            "<SCRIPT>alert(1)</SCRIPT>",
            r#"<script xlink:href="https://evil.example/x.js"/>"#,
            r#"<path onload="alert(1)" d=""/>"#,
            r#"<path ONCLICK="alert(1)" d=""/>"#,
            r#"<a href="https://evil.example"><path d=""/></a>"#,
            r#"<use href="https://evil.example/x.svg#a"/>"#,
            r#"<use xlink:href="javascript:alert(1)"/>"#,
            r#"<use href="data:image/svg+xml,x"/>"#,
            r#"<image href="https://evil.example/pixel.png"/>"#,
            r#"<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>"#,
            r#"<iframe xmlns="http://www.w3.org/1999/xhtml"/>"#,
            r##"<animate attributeName="href" to="javascript:alert(1)"/>"##,
            r#"<set attributeName="onclick" to="alert(1)"/>"#,
            "<style>@import 'https://evil.example/x.css'</style>",
            r#"<rect style="fill:url(https://evil.example/x)"/>"#,
            r#"<rect style="fill:u\72l(https://evil.example/x)"/>"#,
            r#"<rect fill="url('https://evil.example/x')"/>"#,
            r##"<rect fill="url(#a) url(//evil.example/x)"/>"##,
            r#"<rect style="background:image-set('https://evil.example/x' 1x)"/>"#,
            "<handler/>",
            r##"<g id="a"><use href="#b"/><use href="#b"/></g><g id="b"><use href="#c"/></g><rect id="c"/><use href="#a"/>"##,
            r#"<?xml-stylesheet href="https://evil.example/x.css"?>"#,
        ] {
            let refused = check(&svg(inner));
            assert!(
                matches!(refused, Err(InvalidLogo::Forbidden(_))),
                "{inner}: {refused:?}"
            );
        }
        let mut bomb = br#"<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>"#.to_vec();
        bomb.extend(svg("&b;"));
        assert!(matches!(check(&bomb), Err(InvalidLogo::Syntax(_))));
        let many = svg(&"<g/>".repeat(3000));
        assert!(matches!(check(&many), Err(InvalidLogo::Syntax(_))));
        let deep = svg(&"<g>".repeat(1500));
        assert!(matches!(check(&deep), Err(InvalidLogo::Syntax(_))));
    }

    #[test]
    fn what_is_no_image_or_too_large_is_refused() {
        assert_eq!(
            check(&[b'a'; LOGO_MAX + 1]),
            Err(InvalidLogo::TooLarge(LOGO_MAX + 1))
        );
        assert_eq!(check(&png(1025, 1)), Err(InvalidLogo::Sides(1025, 1)));
        assert_eq!(check(&png(0, 1)), Err(InvalidLogo::Sides(0, 1)));
        for rubbish in [
            &b""[..],
            b"\x89PNG\r\n\x1a\n",
            b"GIF89a",
            b"\xff\xd8\xff",
            b"hello",
            b"<html></html>",
            b"\x80\x81",
            b"{}",
            b"<svg",
        ] {
            assert!(check(rubbish).is_err(), "{rubbish:?}");
        }
        // No namespace: it is not an SVG.
        assert!(check(b"<svg><path/></svg>").is_err());
    }
}
