//! Sizes in words: `512MiB`.

/// Bytes from a number with an optional unit, as Docker reads them: `k`, `m`, `g` with or without `b`
/// or `iB`, in any case, all of them powers of 1,024.
///
/// # Errors
/// A sentence for the fault list.
pub(super) fn parse_bytes(text: &str) -> Result<i64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = &lower[..lower.len() - digits.len()];
    let unit = match digits.trim_start() {
        "" | "b" => Some(1_i64),
        "k" | "kb" | "kib" => Some(1 << 10),
        "m" | "mb" | "mib" => Some(1 << 20),
        "g" | "gb" | "gib" => Some(1 << 30),
        _ => None,
    };
    number
        .parse::<i64>()
        .ok()
        .filter(|n| *n > 0)
        .zip(unit)
        .and_then(|(n, unit)| n.checked_mul(unit))
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
        assert_eq!(parse_bytes("96m"), Ok(96 << 20));
        assert_eq!(parse_bytes("2 GB"), Ok(2 << 30));
        for bad in ["", "-1", "0", "GiB", "1.5g", "4 apples", "9999999999GiB"] {
            assert!(parse_bytes(bad).is_err(), "{bad:?} was taken");
        }
    }
}
