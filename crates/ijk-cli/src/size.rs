//! Numbers of bytes, as options take them.

/// Units, and the bytes of one.
const UNITS: [(&str, u64); 10] = [
    ("", 1),
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// Number of bytes of `512MiB`, `1.5 GB` or `4096`; case does not matter.
///
/// # Errors
/// Parses a size; an error says which texts are valid.
pub fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = |c: char| c.is_ascii_digit() || c == '.';
    let (number, unit) = text.split_at(text.find(|c| !digits(c)).unwrap_or(text.len()));
    let unit = unit.trim_start();
    let value: f64 = number.parse().map_err(|_| FORM.to_owned())?;
    if matches!(unit.to_ascii_lowercase().as_str(), "k" | "m" | "g" | "t") {
        let unit = unit.to_ascii_uppercase();
        return Err(format!(
            "write {number}{unit}iB (powers of 1024) or {number}{unit}B (of 1000)"
        ));
    }
    let known = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let (_, each) = known.ok_or_else(|| format!("`{unit}` is no unit of bytes: {FORM}"))?;
    // Whole numbers are exact.
    let bytes = match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(*each),
        Err(_) => Some(value * *each as f64).filter(|b| *b < u64::MAX as f64).map(|b| b as u64),
    };
    bytes.ok_or_else(|| format!("{text} is more than any machine has"))
}

const FORM: &str = "a size is written 512MiB, 2GB, 1.5GiB or, in bytes, 4096";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4096B", 4096),
            ("2GB", 2_000_000_000),
            ("512MiB", 512 << 20),
            ("512 mib", 512 << 20),
            ("1.5KiB", 1536),
            (".5kb", 500),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn mistakes_are_answered() {
        for text in ["", "MiB", "-1", "1e9", "1.2.3MB", "lots", "∞"] {
            assert!(size(text).unwrap_err().contains("512MiB"), "{text}");
        }
        assert_eq!(size("2g").unwrap_err(), "write 2GiB (powers of 1024) or 2GB (of 1000)");
        assert!(size("5 parsecs").unwrap_err().starts_with("`parsecs` is no unit of bytes"));
        for text in ["18446744073709551616", "99999999TiB", "99999999.5TiB"] {
            assert!(size(text).unwrap_err().ends_with("more than any machine has"), "{text}");
        }
    }
}
