//! Sizes in words: `512MiB`.

/// Bytes from a number with an optional `KiB`, `MiB` or `GiB`.
///
/// # Errors
/// A sentence for the fault list.
pub(super) fn parse_bytes(text: &str) -> Result<i64, String> {
    let units = [("KiB", 1_i64 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let (number, unit) = units
        .iter()
        .find_map(|(word, unit)| text.strip_suffix(word).map(|number| (number, *unit)))
        .unwrap_or((text, 1));
    number
        .trim()
        .parse::<i64>()
        .ok()
        .filter(|n| *n > 0)
        .and_then(|n| n.checked_mul(unit))
        .ok_or_else(|| format!("{text:?} is not a size: write a number with KiB, MiB or GiB"))
}

#[cfg(test)]
mod tests {
    use super::parse_bytes;

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(parse_bytes("4GiB"), Ok(4 << 30));
        assert_eq!(parse_bytes("64 MiB"), Ok(64 << 20));
        assert_eq!(parse_bytes("1024"), Ok(1024));
        for bad in ["", "-1", "0", "4GB", "4 apples", "9999999999GiB"] {
            assert!(parse_bytes(bad).is_err(), "{bad:?} was taken");
        }
    }
}
