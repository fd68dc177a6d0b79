//! UForm turns texts and images into embeddings on CPUs: it reads a sentence-transformers or transformers model directory as
//! it is and gives the vectors that those give.
//!
//! A [`Model`] is a directory in memory, an [`Executor`] the threads calls run on, and a call turns texts, or
//! [images](Image), into rows:
//!
//! ```
//! use uform::{Executor, Model};
//!
//! # let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/models/normalize");
//! let model = Model::load_ram(directory, &[], &Default::default())?;
//! let executor = Executor::for_ram(&[], None, 0, 0)?; // 7/8 of the cores
//! let embeddings = model.on(&executor).encode_texts::<f32>(&["a cat on a mat", "a kitten on a rug"])?;
//! let cosine: f32 = embeddings.row(0)?.iter().zip(embeddings.row(1)?).map(|(a, b)| a * b).sum();
//! # assert!(cosine > -1.1 && cosine < 1.1);
//! # uform::Result::Ok(())
//! ```
//!
//! Whatever can fail answers a [`Status`]; [`last_detail`] says it in words. Misuse doesn't compile: an executor outlives
//! the calls on it, a model lives as long as anything uses it, and memory that a call writes belongs to that call alone.
//!
//! The crate has no dependencies. It links the C library `libuform`, which `build.rs` builds from the tree the crate lies
//! in, or finds installed; the README says how.

#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_debug_implementations)]

mod arena;
mod call;
mod deferred;
mod devices;
mod embeddings;
mod enums;
mod executor;
mod ffi;
mod image;
#[cfg(doctest)]
mod misuse;
mod model;
mod on;
mod status;

/// The README's program compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use arena::Arena;
pub use deferred::Deferred;
pub use devices::{gpu_devices, GPUDevice};
pub use embeddings::{B1x8, Bf16, Element, Embeddings, Item, F16};
pub use enums::{CPUClass, GPUClass, GPUVendor, Mood, MultimemTier, Pooling, Scalar};
pub use executor::Executor;
pub use image::{Image, Pixels};
pub use model::{Model, ModelDescription, ModelOptions, Prompt};
pub use on::On;
pub use status::{last_detail, Result, Status};

/// Comma-separated hardware capabilities the library was compiled with.
///
/// Calls `uform_capabilities_compiled`.
///
/// ```
/// assert!(uform::capabilities_compiled().split(',').any(|class| class == "serial"));
/// ```
pub fn capabilities_compiled() -> &'static str {
    // SAFETY: the answer has static storage.
    unsafe { status::static_text(ffi::uform_capabilities_compiled()) }
}

/// Comma-separated hardware capabilities this machine offers at runtime.
///
/// Calls `uform_capabilities_available`.
///
/// ```
/// assert!(uform::capabilities_available().split(',').any(|class| class == "serial"));
/// ```
pub fn capabilities_available() -> &'static str {
    // SAFETY: the answer has static storage.
    unsafe { status::static_text(ffi::uform_capabilities_available()) }
}
