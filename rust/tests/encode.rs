//! Models and calls: the same numbers whichever way they are asked for, options, and what fails.

mod common;

use common::{directory, model, poisoned_model, texts};
use uform::{last_detail, B1x8, Bf16, Executor, Item, Model, ModelOptions, Pooling, Scalar, Status, F16};

fn executor(threads: usize) -> Executor {
    Executor::for_ram(&[], None, threads, 0).expect("an executor")
}

#[test]
fn rows_do_not_depend_on_the_way() {
    let (model, alone, three) = (model("pooling_mean"), Executor::default(), executor(3));
    let texts = texts();
    let together = model.on(&alone).encode_texts::<f32>(&texts).expect("embeddings");
    assert_eq!((together.len(), together.dimensions()), (texts.len(), model.describe().dimensions));
    assert_eq!(model.on(&three).encode_texts::<f32>(&texts).as_ref(), Ok(&together));

    let mut rows = vec![0f32; model.on(&three).output_elements::<f32>(texts.len()).expect("a size")];
    let mut items = vec![Item::default(); texts.len()];
    assert_eq!(model.on(&three).encode_texts_into(&texts, &mut rows, &mut items), Ok(()));
    assert_eq!(items, together.items());
    assert_eq!(model.on(&three).encode_texts_into(&texts, &mut rows, &mut []), Ok(()));
    for (index, text) in texts.iter().enumerate().step_by(17) {
        let single = model.on(&alone).encode_texts::<f32>(&[text.as_bytes()]).expect("an embedding");
        assert_eq!(single.row(0), together.row(index));
        assert_eq!(single.token_count(), model.on(&alone).tokenize(text).expect("ids").len());
    }
    assert_eq!(together.into_vec(), Ok(rows));
}

#[test]
fn every_scalar_is_the_same_row_rounded() {
    let (model, alone) = (model("normalize"), Executor::default());
    let on = model.on(&alone);
    let exact = on.encode_texts::<f32>(&["hello"]).and_then(|found| found.into_vec()).expect("f32");
    assert!((exact.iter().map(|number| number * number).sum::<f32>() - 1.0).abs() < 1e-5);
    let halves = on.encode_texts::<F16>(&["hello"]).and_then(|found| found.into_vec()).expect("f16");
    let brains = on.encode_texts::<Bf16>(&["hello"]).and_then(|found| found.into_vec()).expect("bf16");
    let bytes = on.encode_texts::<i8>(&["hello"]).and_then(|found| found.into_vec()).expect("i8");
    let bits = on.encode_texts::<B1x8>(&["hello"]).and_then(|found| found.into_vec()).expect("b1");
    assert_eq!((halves.len(), brains.len(), bytes.len()), (exact.len(), exact.len(), exact.len()));
    assert_eq!(bits.len(), (exact.len() + 7) / 8);
    for (index, number) in exact.iter().enumerate() {
        assert!((f32::from(halves[index]) - number).abs() <= 1e-3);
        assert!((f32::from(brains[index]) - number).abs() <= 8e-3);
        assert!((f32::from(bytes[index]) / 127.0 - number).abs() <= 5e-3);
        assert_eq!(bits[index / 8].0 >> (7 - index % 8) & 1 == 1, *number > 0.0);
    }
}

#[test]
fn options_change_the_call() {
    let (model, alone) = (model("pooling_mean"), Executor::default());
    let on = model.on(&alone);
    let (width, text) = (model.describe().width, ["one two three"]);
    let plain = on.encode_texts::<f32>(&text).and_then(|found| found.into_vec()).expect("plain");

    let two = on.clone().pooling(&[Pooling::Mean, Pooling::Cls]).encode_texts::<f32>(&text).expect("two modes");
    assert_eq!(two.dimensions(), 2 * width);
    assert_eq!(&two.row(0).expect("a row")[width..], &plain[..]);

    let cut = on.clone().dimensions(5).normalize(true).encode_texts::<f32>(&text).expect("a cut");
    let length = plain[..5].iter().map(|number| number * number).sum::<f32>().sqrt();
    assert_eq!(cut.dimensions(), 5);
    for (found, whole) in cut.row(0).expect("a row").iter().zip(&plain) {
        assert!((found - whole / length).abs() < 1e-5);
    }
    let ids = on.tokenize(text[0]).expect("ids");
    let first = on.clone().max_tokens(4).tokenize(text[0]).expect("ids");
    let last = on.clone().max_tokens(4).truncate_left(true).tokenize(text[0]).expect("ids");
    assert_eq!((first.len(), &first[..3]), (4, &ids[..3]));
    assert_eq!((last.len(), &last[1..]), (4, &ids[ids.len() - 3..]));
    let short = on.clone().max_tokens(4).encode_texts::<f32>(&text).expect("an embedding");
    assert_eq!((short.items()[0].token_count, short.items()[0].truncated), (4, true));
    assert_ne!(on.tokenize("[SEP]"), on.clone().literal_specials(true).tokenize("[SEP]"));

    assert_eq!(on.clone().dimensions(width + 1).encode_texts::<f32>(&text), Err(Status::InvalidArgument));
    assert!(last_detail().contains("dimensions"), "{}", last_detail());
    assert_eq!(on.clone().prompt_name("no such").encode_texts::<f32>(&text), Err(Status::NotFound));
    assert_eq!(on.clone().prompt("a\0b").encode_texts::<f32>(&text), Err(Status::InvalidArgument));
    assert!(last_detail().contains("prompt"), "{}", last_detail());
}

#[test]
fn prompts_are_the_directory_s() {
    let (model, alone) = (model("prompts"), Executor::default());
    let prompts = model.prompts().expect("prompts");
    assert!(!prompts.is_empty());
    for prompt in &prompts {
        let named = model.on(&alone).prompt_name(&prompt.name).tokenize("text").expect("ids");
        assert_eq!(model.on(&alone).prompt(&prompt.text).tokenize("text"), Ok(named));
    }
    let default = model.describe().default_prompt.clone().expect("a default prompt");
    assert_eq!(model.on(&alone).tokenize("text"), model.on(&alone).prompt_name(&default).tokenize("text"));
}

#[test]
fn the_directory_s_cut_is_followed() {
    let (model, alone) = (model("truncate_dim"), Executor::default());
    let cut = model.describe().dimensions;
    assert!(cut < model.describe().width);
    let on = model.on(&alone);
    assert_eq!(on.encode_texts::<f32>(&["a"]).expect("a row").dimensions(), cut);
    assert_eq!(on.clone().pooling(&[Pooling::Cls, Pooling::Max]).output_dimensions(), cut);
    assert_eq!(on.clone().dimensions(cut + 1).encode_texts::<f32>(&["a"]).expect("a row").dimensions(), cut + 1);
}

// A directory's own cut comes after its Normalize, a caller's before: the same numbers, but only the latter's length is one.
#[test]
fn only_a_caller_s_cut_is_normalized() {
    let (model, alone) = (model("truncate_dim_normalized"), Executor::default());
    let on = model.on(&alone);
    let length = |on: &uform::On<'_>| {
        let row = on.encode_texts::<f32>(&["hello"]).and_then(|found| found.into_vec()).expect("a row");
        row.iter().map(|number| number * number).sum::<f32>()
    };
    assert!(length(&on) < 0.99);
    assert!((length(&on.clone().dimensions(on.output_dimensions())) - 1.0).abs() < 1e-5);
    assert_eq!(on.clone().dimensions(100_000).encode_texts::<f32>(&["a"]).err(), Some(Status::InvalidArgument));
    assert_eq!(on.clone().dimensions(100_000).output_dimensions(), 100_000);
}

#[test]
fn texts_may_be_anything() {
    let (model, alone) = (model("pooling_mean"), Executor::default());
    let on = model.on(&alone);
    let none: [&str; 0] = [];
    let empty = on.encode_texts::<f32>(&none).expect("nothing");
    assert!(empty.is_empty() && empty.rows().len() == 0);
    assert_eq!(on.encode_texts_into::<f32>(&none, &mut [], &mut []), Ok(()));
    let odd: [&[u8]; 4] = [b"", b"a\0b", b"\xFF\xC0", "\u{1F600}".as_bytes()];
    let rows = on.encode_texts::<f32>(&odd).expect("embeddings");
    assert!(rows.rows().all(|row| row.is_ok()));
    assert_eq!(on.tokenize(b"\xFF"), on.tokenize("\u{FFFD}"));
    let long = "word ".repeat(100_000);
    assert!(on.encode_texts::<f32>(&[long]).expect("an embedding").items()[0].truncated);
}

#[test]
fn slices_of_the_wrong_length_are_refused() {
    let (model, alone) = (model("pooling_mean"), Executor::default());
    let on = model.on(&alone);
    let size = on.output_elements::<f32>(2).expect("a size");
    let mut rows = vec![7f32; size + 1];
    assert_eq!(on.encode_texts_into(&["a", "b"], &mut rows, &mut []), Err(Status::InvalidArgument));
    assert_eq!(on.encode_texts_into(&["a", "b"], &mut rows[..size - 1], &mut []), Err(Status::InvalidArgument));
    assert!(last_detail().contains("rows"), "{}", last_detail());
    let mut items = [Item::default(); 3];
    assert_eq!(on.encode_texts_into(&["a", "b"], &mut rows[..size], &mut items), Err(Status::InvalidArgument));
    assert!(rows.iter().all(|number| *number == 7.0));
    assert_eq!(on.output_elements::<f32>(usize::MAX), Err(Status::OutOfMemory));
}

#[test]
fn a_model_is_shared_and_outlives_its_first_holder() {
    let model = model("pooling_mean");
    let expected = model.on(&Executor::default()).encode_texts::<f32>(&texts()).expect("embeddings");
    let threads: Vec<_> = (0..3)
        .map(|threads| {
            let model = model.clone();
            std::thread::spawn(move || {
                let executor = if threads == 0 { Executor::default() } else { executor(threads) };
                model.on(&executor).encode_texts::<f32>(&texts())
            })
        })
        .collect();
    drop(model);
    for thread in threads {
        assert_eq!(thread.join().expect("no panic").as_ref(), Ok(&expected));
    }
}

#[test]
fn one_executor_serves_many_models() {
    let executor = executor(2);
    for name in ["pooling_mean", "normalize", "dense_tanh"] {
        let model = model(name);
        let rows = model.on(&executor).encode_texts::<f32>(&texts()).expect("embeddings");
        assert_eq!(model.on(&Executor::default()).encode_texts::<f32>(&texts()), Ok(rows));
    }
}

#[test]
fn descriptions_tell_what_was_loaded() {
    let options = ModelOptions { precision: Some(Scalar::Bf16), cpu_class: Some(uform::CPUClass::Serial) };
    let model = Model::load_ram(directory("pooling_cls_max_mean"), &[], &options).expect("a model");
    let description = model.describe();
    assert_eq!(description.precision, Some(Scalar::Bf16));
    assert_eq!(description.cpu_class, Some(uform::CPUClass::Serial));
    assert_eq!(description.pooling, [Pooling::Cls, Pooling::Max, Pooling::Mean]);
    assert_eq!(description.dimensions, 3 * description.width);
    assert_eq!(description.architecture, "bert");
    assert!(format!("{:?}", model).contains("bert"));
}

#[test]
fn what_cannot_be_loaded_says_why() {
    let load = |path: &str| Model::load_ram(path, &[], &ModelOptions::default()).map(|_| ());
    assert_eq!(load("no/such/directory"), Err(Status::NotFound));
    assert!(last_detail().contains("no/such/directory"), "{}", last_detail());
    assert_eq!(load("with\0nul"), Err(Status::InvalidArgument));
    assert!(last_detail().contains("NUL"), "{}", last_detail());
    let options = ModelOptions { precision: Some(Scalar::B1), ..ModelOptions::default() };
    assert!(Model::load_ram(directory("normalize"), &[], &options).is_err());
    assert!(Model::load_ram(directory("normalize"), &[-1], &ModelOptions::default()).is_err());
}

#[test]
fn a_text_that_fails_leaves_the_others() {
    let (model, alone) = (poisoned_model("poisoned_encode"), Executor::default());
    let on = model.on(&alone);
    let texts = ["a", "a b c d e f g h", "b"];
    let found = on.encode_texts::<f32>(&texts).expect("a call that ran");
    assert_eq!(found.row(1), Err(Status::NotFinite));
    for index in [0, 2] {
        assert_eq!(Ok(found.row(index).expect("a row")), on.encode_texts(&[texts[index]]).expect("it").row(0));
    }
    assert_eq!(
        found.items().iter().map(|item| item.status).collect::<Vec<_>>(),
        [Ok(()), Err(Status::NotFinite), Ok(())]
    );
    assert_eq!(found.items()[1].token_count, 10);
    assert_eq!(found.clone().into_vec(), Err(Status::NotFinite));

    let mut rows = vec![7f32; on.output_elements::<f32>(3).expect("a size")];
    let mut items = [Item::default(); 3];
    assert_eq!(on.encode_texts_into(&texts, &mut rows, &mut items), Err(Status::NotFinite));
    assert!(last_detail().contains("text 1"), "{}", last_detail());
    assert_eq!(items, found.items());
    let width = found.dimensions();
    assert_eq!(Ok(&rows[..width]), found.row(0));
    assert!(rows[width..2 * width].iter().all(|number| number.is_nan()));
    assert_eq!(Ok(&rows[2 * width..]), found.row(2));
    assert_eq!(on.encode_texts::<i8>(&texts).expect("a call that ran").row(1), Err(Status::NotFinite));
}
