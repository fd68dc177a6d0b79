//! What tests share: models of the tree, executors, and what a call has to give.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use uform::{Model, ModelOptions, Scalar};

/// The folder of a tiny random model.
pub fn directory(name: &str) -> PathBuf {
    tests().join("golden/models").join(name)
}

/// A tiny random model in f32.
pub fn model(name: &str) -> Model {
    load(&directory(name))
}

/// A tiny random model with a tower for images, in f32.
pub fn vision_model(name: &str) -> Model {
    load(&tests().join("golden/vision/models").join(name))
}

/// A picture's file in the corpus.
pub fn picture(name: &str) -> Vec<u8> {
    std::fs::read(tests().join("pictures/corpus").join(name)).expect("a picture")
}

/// The tree's own tests.
pub fn tests() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

fn load(directory: &Path) -> Model {
    let options = ModelOptions { precision: Some(Scalar::F32), ..ModelOptions::default() };
    Model::load_ram(directory, &[], &options).unwrap_or_else(|status| panic!("{}: {}", status, uform::last_detail()))
}

/// A model that can't encode texts beyond six tokens, since the seventh position's vector holds NaNs.
pub fn poisoned_model(name: &str) -> Model {
    let copy = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    copy_folder(&directory("normalize"), &copy);
    let path = copy.join("model.safetensors");
    let mut bytes = std::fs::read(&path).expect("weights");
    let header_size = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    let header = String::from_utf8(bytes[8..8 + header_size].to_vec()).expect("a header");
    let (_, entry) = header.split_once("\"embeddings.position_embeddings.weight\":").expect("the tensor");
    let (_, offsets) = entry.split_once("\"data_offsets\":[").expect("its place");
    let begin: usize = offsets.split(',').next().and_then(|number| number.parse().ok()).expect("a number");
    let row_bytes = 4 * model("normalize").describe().width;
    let row = 8 + header_size + begin + 6 * row_bytes;
    bytes[row..row + row_bytes].fill(0xFF);
    std::fs::write(&path, bytes).expect("weights written");
    Model::load_ram(&copy, &[], &ModelOptions::default()).expect("a model")
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let copy = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_folder(&path, &copy);
        } else {
            std::fs::copy(&path, &copy).expect("a copy");
        }
    }
}

/// Texts of different lengths, more than one panel of them.
pub fn texts() -> Vec<String> {
    (0..200)
        .map(|index| "the quick brown fox jumps over the lazy dog ".repeat(index % 5) + &index.to_string())
        .collect()
}
