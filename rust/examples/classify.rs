//! What is in a picture: one image and several texts in, how well each of them fits out, the best first.
//!
//!     cargo run --release --example classify MODEL_DIRECTORY IMAGE TEXT...

use std::process::ExitCode;

use uform::{Executor, Image, Model, ModelOptions, Result};

fn show_fits(directory: &str, file: &[u8], texts: &[String]) -> Result<()> {
    let executor = Executor::for_ram(&[], None, 0, 0)?;
    let model = Model::load_ram(directory, &[], &ModelOptions::default())?;
    let on = model.on(&executor).normalize(true);

    let images = on.encode_images::<f32>(&[Image::file(file)])?;
    let labels = on.encode_texts::<f32>(texts)?;
    let image = images.row(0)?;

    let mut fits = Vec::new();
    for (label, text) in labels.rows().zip(texts) {
        // Rows have length one, so a dot product is the cosine.
        fits.push((image.iter().zip(label?).map(|(a, b)| a * b).sum::<f32>(), text));
    }
    fits.sort_by(|(first, _), (second, _)| second.total_cmp(first));
    for (cosine, text) in fits {
        println!("{:.3}  {}", cosine, text);
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() < 4 {
        eprintln!("usage: classify MODEL_DIRECTORY IMAGE TEXT...");
        return ExitCode::from(2);
    }
    let file = match std::fs::read(&arguments[2]) {
        Ok(file) => file,
        Err(error) => {
            eprintln!("{}: {}", arguments[2], error);
            return ExitCode::FAILURE;
        }
    };
    match show_fits(&arguments[1], &file, &arguments[3..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(status) => {
            eprintln!("{}: {}", status.name(), uform::last_detail());
            ExitCode::FAILURE
        }
    }
}
