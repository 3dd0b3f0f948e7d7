//! LZ4 as numcodecs writes it: the decoded size, in four bytes, then a block of LZ4.

/// Bytes of the length before a block.
const HEADER: usize = 4;

/// Shortest match.
const MATCH: usize = 4;

/// A length of four bits that goes on in the bytes after.
const LONG: usize = 15;

/// Decodes at most `most` bytes.
pub(super) fn decode(encoded: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let truncated = || format!("it has {} bytes, and is truncated", encoded.len());
    let (header, block) = encoded.split_first_chunk::<HEADER>().ok_or_else(truncated)?;
    let length = u32::from_le_bytes(*header) as usize;
    if length > most {
        return Err(format!("it becomes {length} bytes, but at most {most} are expected"));
    }
    let mut out = Vec::new();
    out.try_reserve_exact(length).map_err(|error| error.to_string())?;
    sequences(block, length, &mut out).ok_or("its block is corrupt")?;
    match out.len() == length {
        true => Ok(out),
        false => Err(format!("it becomes {} bytes, but says {length}", out.len())),
    }
}

/// Appends literals and matches, of which the last sequence has none; `None` where that is no block, or becomes more
/// than `length` bytes.
fn sequences(mut block: &[u8], length: usize, out: &mut Vec<u8>) -> Option<()> {
    while let Some((&token, rest)) = block.split_first() {
        block = rest;
        let literals = run(usize::from(token >> 4), &mut block)?;
        let (copied, rest) = block.split_at_checked(literals)?;
        out.extend_from_slice(copied);
        if out.len() > length {
            return None;
        }
        if rest.is_empty() {
            return Some(());
        }
        let (offset, rest) = rest.split_first_chunk::<2>()?;
        block = rest;
        let offset = usize::from(u16::from_le_bytes(*offset));
        let count = run(usize::from(token & 15), &mut block)?.checked_add(MATCH)?;
        let start = out.len().checked_sub(offset).filter(|_| offset > 0)?;
        if count > length - out.len() {
            return None;
        }
        repeat(out, start, count);
    }
    // An empty input is a token without literals.
    None
}

/// A length, whose further bytes are taken from the block.
fn run(short: usize, block: &mut &[u8]) -> Option<usize> {
    let mut all = short;
    if short == LONG {
        loop {
            let (&more, rest) = block.split_first()?;
            *block = rest;
            all = all.checked_add(usize::from(more))?;
            if more < u8::MAX {
                break;
            }
        }
    }
    Some(all)
}

/// Appends bytes from a place on, which may be those that are being appended.
fn repeat(out: &mut Vec<u8>, start: usize, count: usize) {
    let mut left = count;
    while left > 0 {
        // A multiple of the offset, but for the last time.
        let next = left.min(out.len() - start);
        out.extend_from_within(start..start + next);
        left -= next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_length(length: u32, block: &[u8]) -> Vec<u8> {
        [&length.to_le_bytes()[..], block].concat()
    }

    #[test]
    fn blocks_are_decoded() {
        // Literals `ab`, a match of 6 that overlaps itself, literals `c`.
        let encoded = with_length(9, &[0x22, b'a', b'b', 2, 0, 0x10, b'c']);
        assert_eq!(decode(&encoded, 9), Ok(b"ababababc".to_vec()));
        // 300 literals: 15 + 255 + 30.
        let literals = [7; 300];
        let encoded = with_length(300, &[&[0xf0, 255, 30][..], &literals].concat());
        assert_eq!(decode(&encoded, 300), Ok(literals.to_vec()));
        assert_eq!(decode(&with_length(0, &[0]), 0), Ok(Vec::new()));
    }

    #[test]
    fn corrupt_blocks_are_refused() {
        let whole = with_length(9, &[0x22, b'a', b'b', 2, 0, 0x10, b'c']);
        for length in 0..whole.len() {
            assert!(decode(&whole[..length], 9).is_err(), "{length}");
        }
        for at in 0..whole.len() {
            for value in 0..=u8::MAX {
                let mut bytes = whole.clone();
                bytes[at] = value;
                // No panic, and no more bytes than are expected.
                assert!(
                    decode(&bytes, 9).is_ok_and(|out| out.len() <= 9) || decode(&bytes, 9).is_err()
                );
            }
        }
        assert!(decode(&whole, 8).unwrap_err().contains("becomes 9 bytes, but at most 8"));
        let longer = with_length(8, &whole[4..]);
        assert_eq!(decode(&longer, 9), Err("its block is corrupt".into()));
        assert!(decode(&with_length(99, &[0x1f, 0, 1, 0]), 99).is_err());
    }
}
