//! The smallest whole use of the crate: three texts in, their pairwise similarities out.
//!
//!     cargo run --release --example embed MODEL_DIRECTORY

use std::process::ExitCode;

use uform::{Executor, Model, ModelOptions, Result};

fn show_similarities(directory: &str) -> Result<()> {
    let executor = Executor::for_ram(&[], None, 0, 0)?; // every memory domain, the CPU's own class, 7/8 of its cores
    let model = Model::load_ram(directory, &[], &ModelOptions::default())?;

    let texts = ["a cat on a mat", "a kitten on a rug", "an interest rate"];
    let embeddings = model.on(&executor).normalize(true).encode_texts::<f32>(&texts)?;

    for (i, text) in texts.iter().enumerate() {
        for (j, other) in texts.iter().enumerate().take(i) {
            // Rows have length one, so a dot product is the cosine.
            let cosine: f32 = embeddings.row(i)?.iter().zip(embeddings.row(j)?).map(|(a, b)| a * b).sum();
            println!("{:.3}  {} / {}", cosine, text, other);
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 2 {
        eprintln!("usage: embed MODEL_DIRECTORY");
        return ExitCode::from(2);
    }
    match show_similarities(&arguments[1]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(status) => {
            eprintln!("{}: {}", status.name(), uform::last_detail());
            ExitCode::FAILURE
        }
    }
}
