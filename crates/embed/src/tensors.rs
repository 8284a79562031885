//! Reads one table of numbers out of a file of tensors: a header in JSON, then the numbers, the lowest byte first.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Longest header that is read, in bytes.
const HEADER_BYTES: usize = 1024 * 1024;

/// A table of numbers: so many rows of so many.
#[derive(Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) width: usize,
    numbers: Vec<f32>,
}

impl Table {
    /// A row.
    pub(crate) fn row(&self, index: usize) -> Option<&[f32]> {
        self.numbers.get(index.checked_mul(self.width)?..)?.get(..self.width)
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.numbers.len().checked_div(self.width).unwrap_or(0)
    }
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

/// The table of this name, of 32-bit or 16-bit numbers.
pub(crate) fn table(bytes: &[u8], name: &str) -> Result<Table, String> {
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or("it is too short for a file of tensors")?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok().filter(|length| *length <= HEADER_BYTES);
    let (header, data) =
        length.and_then(|length| rest.split_at_checked(length)).ok_or("its header is cut or too long")?;
    let header: BTreeMap<String, Value> = serde_json::from_slice(header).map_err(|_| "its header is not JSON")?;
    let tensor = header.get(name).ok_or_else(|| format!("it has no tensor \"{name}\""))?;
    let tensor: Tensor =
        serde_json::from_value(tensor.clone()).map_err(|_| format!("what it says of \"{name}\" cannot be read"))?;
    let [rows, width] = tensor.shape[..] else { return Err(format!("\"{name}\" is no table of rows")) };
    let (from, to) = tensor.data_offsets;
    let bytes = data.get(from..to).ok_or_else(|| format!("\"{name}\" lies outside the file"))?;
    let numbers: Vec<f32> = match tensor.dtype.as_str() {
        "F32" => bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect(),
        "F16" => bytes.chunks_exact(2).map(|two| half(u16::from_le_bytes([two[0], two[1]]))).collect(),
        other => return Err(format!("\"{name}\" holds {other}; F32 and F16 are read")),
    };
    if width == 0 || rows.checked_mul(width) != Some(numbers.len()) {
        return Err(format!("\"{name}\" has another size than it says"));
    }
    Ok(Table { width, numbers })
}

/// A number of 16 bits: a sign, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from((bits >> 10) & 0x1f), f32::from(bits & 0x03ff));
    match exponent {
        0 => sign * fraction * 2.0_f32.powi(-24),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        exponent => sign * (1.0 + fraction / 1024.0) * 2.0_f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_read_as_they_are_defined() {
        for (bits, number) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95), (0x0001, 5.960_464_5e-8), (0x7bff, 65504.0)]
        {
            assert!((half(bits) - number).abs() <= number.abs() * 1e-6, "{bits:x}");
        }
        assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan());
    }

    #[test]
    fn a_damaged_file_is_told_and_harms_nothing() {
        let good = file(r#"{"embeddings":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}"#, &[0; 8]);
        assert_eq!(table(&good, "embeddings").expect("a table").rows(), 2);
        for end in 0..good.len() {
            assert!(table(&good[..end], "embeddings").is_err(), "cut at {end}");
        }
        for header in [
            r#"{"embeddings":{"dtype":"F32","shape":[3,1],"data_offsets":[0,8]}}"#,
            r#"{"embeddings":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#,
            r#"{"embeddings":{"dtype":"F32","shape":[18446744073709551615,2],"data_offsets":[0,8]}}"#,
            r#"{"embeddings":{"dtype":"F32","shape":[2,1],"data_offsets":[8,0]}}"#,
            r#"{"embeddings":{"dtype":"I8","shape":[8,1],"data_offsets":[0,8]}}"#,
            r#"{"other":{}}"#,
            "[]",
        ] {
            assert!(table(&file(header, &[0; 8]), "embeddings").is_err(), "{header}");
        }
        assert!(table(&u64::MAX.to_le_bytes(), "embeddings").is_err());
    }

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(data);
        bytes
    }
}
