//! Packs the built page (`ui/dist`) into the function: each file gzipped, with its media type and entity tag. It calls no npm;
//! where `dist` was made from other sources than those that lie here, a release build fails and any other warns.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use miniz_oxide::deflate::compress_to_vec;
use sha2::{Digest as _, Sha256};

#[path = "src/files/media.rs"]
mod media;

const MENDS: &str = "npm --prefix functions/chat_api/ui run build";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/files/media.rs");
    let ui = PathBuf::from(setting("CARGO_MANIFEST_DIR")?).join("ui");
    let out = PathBuf::from(setting("OUT_DIR")?);
    check(&ui)?;
    let dist = ui.join("dist");
    let mut table = String::from("&[\n");
    for (number, path) in files(&dist.join("assets"))?.iter().enumerate() {
        let bytes = fs::read(path)?;
        let packed = out.join(format!("{number}.gz"));
        fs::write(&packed, gzip(&bytes))?;
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let media = media::media(&name).ok_or_else(|| format!("no media type is known for {name}"))?;
        let tag = hex(&Sha256::digest(&bytes), 16);
        table.push_str(&format!(
            "Held {{ name: {name:?}, media: {media:?}, tag: \"\\\"{tag}\\\"\", packed: include_bytes!({packed:?}) }},\n"
        ));
    }
    table.push(']');
    fs::write(out.join("assets.rs"), table)?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "what cargo tells a build script")]
fn setting(name: &str) -> Result<String, env::VarError> {
    env::var(name)
}

/// The same sum as `ui/scripts/source.mjs`.
fn check(ui: &Path) -> Result<(), Box<dyn Error>> {
    let mut sum = Sha256::new();
    let mut named = Vec::new();
    for entry in fs::read_dir(ui)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if name == "node_modules" || name == "dist" {
            continue;
        }
        println!("cargo::rerun-if-changed={}", path.display());
        named.extend(if path.is_dir() { files(&path)? } else { vec![path] });
    }
    println!("cargo::rerun-if-changed={}", ui.join("dist").display());
    let mut named: Vec<(String, PathBuf)> = named
        .into_iter()
        .map(|path| Ok((path.strip_prefix(ui)?.to_string_lossy().replace('\\', "/"), path)))
        .collect::<Result<_, Box<dyn Error>>>()?;
    named.sort();
    for (name, path) in named {
        let bytes = fs::read(path)?;
        sum.update(format!("{name}\0{}\0", bytes.len()));
        sum.update(bytes);
    }
    let known = fs::read_to_string(ui.join("dist/.source")).unwrap_or_default();
    if known.trim() == hex(&sum.finalize(), usize::MAX) {
        return Ok(());
    }
    let differs = format!("ui/dist was not built from ui/ as it is here: {MENDS}");
    if setting("PROFILE")? == "release" {
        return Err(differs.into());
    }
    println!("cargo::warning={differs}");
    Ok(())
}

/// Every file below the folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        found.extend(if path.is_dir() { files(&path)? } else { vec![path] });
    }
    found.sort();
    Ok(found)
}

/// RFC 1952: a head, the deflated bytes, their CRC-32 and their length.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];
    packed.extend(compress_to_vec(bytes, 9));
    packed.extend(crc32(bytes).to_le_bytes());
    packed.extend((bytes.len() as u32).to_le_bytes());
    packed
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

fn hex(bytes: &[u8], most: usize) -> String {
    bytes
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>()
        .chars()
        .take(most)
        .collect()
}
