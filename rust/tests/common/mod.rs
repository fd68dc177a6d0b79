//! What tests share: models of the tree, executors, and what a call has to give.
#![allow(dead_code)]

use std::path::PathBuf;

use uform::{Model, ModelOptions, Scalar};

/// The folder of a tiny random model.
pub fn directory(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/models").join(name)
}

/// A tiny random model in f32.
pub fn model(name: &str) -> Model {
    let options = ModelOptions { precision: Some(Scalar::F32), ..ModelOptions::default() };
    Model::load_ram(directory(name), &[], &options)
        .unwrap_or_else(|status| panic!("{}: {}", status, uform::last_detail()))
}

/// Texts of different lengths, more than one panel of them.
pub fn texts() -> Vec<String> {
    (0..200)
        .map(|index| "the quick brown fox jumps over the lazy dog ".repeat(index % 5) + &index.to_string())
        .collect()
}
