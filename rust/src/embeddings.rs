//! What comes out of a call: rows of an embedding matrix, and what became of each item.

use crate::ffi;
use crate::status::{fail, result_of};
use crate::{Result, Scalar, Status};

/// A number that rows of an embedding matrix are made of: [`f32`], [`F16`], [`Bf16`], [`i8`] or [`B1x8`].
///
/// It is sealed: these are the types the library writes.
pub trait Element: sealed::Sealed + Copy + Default + PartialEq + Send + Sync + 'static {
    /// Its name in the C interface.
    const SCALAR: Scalar;
    /// Dimensions one element holds.
    const DIMENSIONS: usize;
}

mod sealed {
    /// Promises that any bytes are a value, so that C may write them.
    pub trait Sealed {}
}

/// Half precision, as its bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(transparent)]
pub struct F16(pub u16);

/// The upper half of an [`f32`], as its bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// The signs of eight dimensions, the first in the highest bit; a one stands for a positive number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(transparent)]
pub struct B1x8(pub u8);

macro_rules! elements {
    ($($type:ty: $scalar:ident, $dimensions:literal;)*) => {
        $(
            impl sealed::Sealed for $type {}
            impl Element for $type {
                const SCALAR: Scalar = Scalar::$scalar;
                const DIMENSIONS: usize = $dimensions;
            }
        )*
    };
}

elements! {
    f32: F32, 1;
    F16: F16, 1;
    Bf16: Bf16, 1;
    i8: I8, 1;
    B1x8: B1, 8;
}

impl From<Bf16> for f32 {
    fn from(number: Bf16) -> Self {
        f32::from_bits(u32::from(number.0) << 16)
    }
}

impl From<F16> for f32 {
    fn from(number: F16) -> Self {
        let (sign, exponent, mantissa) = (number.0 >> 15, number.0 >> 10 & 31, number.0 & 1023);
        let magnitude = match exponent {
            // Below the smallest normal number, steps of 2^-24.
            0 => f32::from(mantissa) * f32::from_bits((127 - 24) << 23),
            31 => f32::from_bits(0x7F80_0000 | u32::from(mantissa) << 13),
            _ => f32::from_bits((u32::from(exponent) + 127 - 15) << 23 | u32::from(mantissa) << 13),
        };
        if sign == 0 {
            magnitude
        } else {
            -magnitude
        }
    }
}

/// What became of one item of a call.
///
/// Mirrors `uform_item_report_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Item {
    /// Why its row is null, if it is.
    pub status: Result<()>,
    /// Tokens encoded, special ones included; of an image its patches and the tokens before them.
    pub token_count: u32,
    /// Whether the text was longer than the limit.
    pub truncated: bool,
}

impl Default for Item {
    fn default() -> Self {
        Self { status: Ok(()), token_count: 0, truncated: false }
    }
}

impl Item {
    pub(crate) fn from_c(item: &ffi::ItemReport) -> Self {
        Self { status: result_of(item.status), token_count: item.token_count, truncated: item.truncated }
    }
}

/// Embeddings of one call: a row for each text or image, in their order.
///
/// One that couldn't be encoded doesn't fail the others: its row answers its status, so that it can't be taken for an
/// embedding.
#[derive(Clone, PartialEq, Debug)]
pub struct Embeddings<S: Element> {
    /// [items, row_elements]
    elements: Vec<S>,
    row_elements: usize,
    dimensions: usize,
    items: Vec<Item>,
}

impl<S: Element> Embeddings<S> {
    pub(crate) fn new(elements: Vec<S>, dimensions: usize, items: Vec<Item>) -> Self {
        Self { elements, row_elements: row_elements::<S>(dimensions), dimensions, items }
    }

    /// How many rows there are: one for each item.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Dimensions of a row.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// An item's embedding, or why there is none.
    ///
    /// # Errors
    ///
    /// The item's status; [`Status::InvalidArgument`] beyond the last row.
    pub fn row(&self, index: usize) -> Result<&[S]> {
        let item = self.items.get(index).ok_or_else(|| {
            fail(Status::InvalidArgument, format!("index: expected less than {}, found {}", self.len(), index))
        })?;
        item.status.map(|()| &self.elements[index * self.row_elements..(index + 1) * self.row_elements])
    }

    /// All rows in order, each its embedding or why there is none.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Result<&[S]>> + '_ {
        (0..self.len()).map(move |index| self.row(index))
    }

    /// What became of each item.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Tokens encoded over all items.
    pub fn token_count(&self) -> usize {
        self.items.iter().map(|item| item.token_count as usize).sum()
    }

    /// The whole matrix, row after row, if every item was encoded.
    ///
    /// # Errors
    ///
    /// The status of the first item that wasn't.
    pub fn into_vec(self) -> Result<Vec<S>> {
        self.items.iter().try_for_each(|item| item.status)?;
        Ok(self.elements)
    }
}

/// Elements that a row of so many dimensions takes.
pub(crate) fn row_elements<S: Element>(dimensions: usize) -> usize {
    dimensions / S::DIMENSIONS + usize::from(dimensions % S::DIMENSIONS > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision() {
        let known: [(u16, f32); 8] = [
            (0x0000, 0.0),
            (0x0001, 5.960_464_5e-8),
            (0x03FF, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x3C00, 1.0),
            (0xC100, -2.5),
            (0x7BFF, 65504.0),
            (0x7C00, f32::INFINITY),
        ];
        for (bits, number) in known {
            assert_eq!(f32::from(F16(bits)), number);
        }
        assert!(f32::from(F16(0x8000)).is_sign_negative());
        assert!(f32::from(F16(0x7E00)).is_nan());
        assert_eq!(f32::from(Bf16(0x3FC0)), 1.5);
        assert!(f32::from(Bf16(0x7FC0)).is_nan());
    }

    #[test]
    fn rows_of_bits_are_rounded_up() {
        assert_eq!(row_elements::<B1x8>(0), 0);
        assert_eq!(row_elements::<B1x8>(8), 1);
        assert_eq!(row_elements::<B1x8>(9), 2);
        assert_eq!(row_elements::<f32>(9), 9);
    }

    #[test]
    fn rows_that_failed_are_not_embeddings() {
        let failed = Item { status: Err(Status::NotFinite), ..Item::default() };
        let embeddings = Embeddings::new(
            vec![1.0f32, 2.0, f32::NAN, f32::NAN, 3.0, 4.0],
            2,
            vec![Item { token_count: 3, ..Item::default() }, failed, Item { token_count: 4, ..Item::default() }],
        );
        let rows: Vec<_> = embeddings.rows().collect();
        assert_eq!(rows, [Ok(&[1.0, 2.0][..]), Err(Status::NotFinite), Ok(&[3.0, 4.0][..])]);
        assert_eq!(embeddings.row(3), Err(Status::InvalidArgument));
        assert_eq!((embeddings.len(), embeddings.dimensions(), embeddings.token_count()), (3, 2, 7));
        assert_eq!(embeddings.into_vec(), Err(Status::NotFinite));
    }
}
