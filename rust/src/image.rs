//! Images on their way into a model: files in memory, or raw pixels.

use std::fmt;

use crate::ffi;

/// An image of the caller's: a file in memory, or raw pixels.
///
/// It borrows its bytes and is as cheap to copy as a slice. Whether they are an image is found out by the call that encodes
/// it: one that is broken doesn't fail the others.
///
/// Mirrors `uform_image_t`.
///
/// ```
/// use uform::{Executor, Image, Model};
///
/// # let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/vision/models/clip");
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/pictures/corpus/rgb.jpg");
/// let model = Model::load_ram(directory, &[], &Default::default())?;
/// let executor = Executor::for_ram(&[], None, 2, 0)?;
/// let file = std::fs::read(path).expect("a picture");
/// let screen = [0u8; 480 * 640 * 4]; // 640 pixels wide
/// let images = [Image::file(&file), Image::rgba(&screen, 640, 480)];
/// let embeddings = model.on(&executor).encode_images::<f32>(&images)?;
/// assert_eq!(embeddings.row(1)?.len(), model.describe().dimensions);
/// # uform::Result::Ok(())
/// ```
#[derive(Clone, Copy)]
pub struct Image<'bytes> {
    bytes: &'bytes [u8],
    layout: Layout,
    width: usize,
    height: usize,
    stride_bytes: usize,
}

/// What the bytes are, with the value that C has for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
enum Layout {
    File = 0,
    Rgb = 1,
    Rgba = 2,
    Gray = 3,
}

/// The tensor that a tower for images gets; see [`On::image_pixels`](crate::On::image_pixels).
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Pixels {
    /// Channels, height and width.
    pub shape: [usize; 3],
    /// [channels, height, width]
    pub numbers: Vec<f32>,
}

impl<'bytes> Image<'bytes> {
    /// A whole file, whose format its first bytes tell: JPEG, PNG, WebP, AVIF, GIF, BMP or TIFF.
    pub fn file(bytes: &'bytes [u8]) -> Self {
        Self { bytes, layout: Layout::File, width: 0, height: 0, stride_bytes: 0 }
    }

    /// Raw pixels of three bytes each, row by row from the top left.
    pub fn rgb(pixels: &'bytes [u8], width: usize, height: usize) -> Self {
        Self { bytes: pixels, layout: Layout::Rgb, width, height, stride_bytes: 0 }
    }

    /// Raw pixels of four bytes each, row by row from the top left; alpha is treated as a file's is.
    pub fn rgba(pixels: &'bytes [u8], width: usize, height: usize) -> Self {
        Self { layout: Layout::Rgba, ..Self::rgb(pixels, width, height) }
    }

    /// Raw pixels of one byte each, row by row from the top left.
    pub fn gray(pixels: &'bytes [u8], width: usize, height: usize) -> Self {
        Self { layout: Layout::Gray, ..Self::rgb(pixels, width, height) }
    }

    /// Takes rows of raw pixels to be so many bytes apart; zero, as at first, stands for densely packed ones. A file has none.
    pub fn stride_bytes(mut self, stride: usize) -> Self {
        self.stride_bytes = stride;
        self
    }

    pub(crate) fn bytes(&self) -> &'bytes [u8] {
        self.bytes
    }

    /// The image in C's form, with its bytes, or a copy of them, here.
    pub(crate) fn to_c(self, bytes: &[u8]) -> ffi::Image {
        ffi::Image {
            data: bytes.as_ptr().cast(),
            length: bytes.len(),
            layout: ffi::ImageLayout(self.layout as i32),
            width: self.width,
            height: self.height,
            stride_bytes: self.stride_bytes,
        }
    }
}

impl fmt::Debug for Image<'_> {
    /// Shows how many bytes there are, not which.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Image");
        shown.field("layout", &self.layout).field("bytes", &self.bytes.len());
        if self.layout != Layout::File {
            shown.field("width", &self.width).field("height", &self.height).field("stride_bytes", &self.stride_bytes);
        }
        shown.finish()
    }
}
