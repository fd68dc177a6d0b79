//! Images: the reference's numbers, the same whichever way they are asked for, options, and what fails.

mod common;

use common::{model, picture, tests, vision_model};
use uform::{last_detail, B1x8, Executor, Image, Item, Pooling, Status};

/// The picture that tools/golden_vision.py makes, [height, width, 3].
fn formula(width: usize, height: usize) -> Vec<u8> {
    let mut pixels = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        for x in 0..width {
            for c in 0..3 {
                let waves = x * (5 + 4 * c) + y * (3 + 2 * c) + ((x * y) >> 3) * (c + 1);
                pixels.push((waves + ((x / 5 + y / 7) & 1) * 60 + 40 * c) as u8);
            }
        }
    }
    pixels
}

/// An uncompressed file of the same pixels: rows from the bottom, blue first, each filled up to four bytes.
fn bmp(pixels: &[u8], width: usize) -> Vec<u8> {
    let rows = pixels.chunks(width * 3).rev();
    let header: [u32; 13] = [54, 40, width as u32, rows.len() as u32, 1 | 24 << 16, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut file = b"BM\0\0\0\0\0\0\0\0".to_vec();
    header[..11].iter().for_each(|number| file.extend_from_slice(&number.to_le_bytes()));
    for row in rows {
        row.chunks(3).for_each(|pixel| file.extend(pixel.iter().rev()));
        file.resize((file.len() - 54 + 3) / 4 * 4 + 54, 0);
    }
    file
}

/// The rows of numbers behind a key of an expectation.
fn expected_rows(text: &str, key: &str) -> Vec<Vec<f64>> {
    let (_, rest) = text.split_once(&format!("\"{}\": [", key)).expect("the key");
    let (rows, _) = rest.split_once("]]").expect("its end");
    rows.split('[')
        .skip(1)
        .map(|row| {
            let numbers = row.trim_end().trim_end_matches(',').trim_end_matches(']').split(',');
            numbers.map(|number| number.trim().parse().expect("a number")).collect()
        })
        .collect()
}

fn cosine(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let found: Vec<f64> = found.iter().map(|number| f64::from(*number)).collect();
    dot(&found, expected) / (dot(&found, &found) * dot(expected, expected)).sqrt()
}

fn length(row: &[f32]) -> f32 {
    row.iter().map(|number| number * number).sum::<f32>().sqrt()
}

#[test]
fn vectors_are_the_reference_s() {
    let executor = Executor::for_ram(&[], None, 2, 0).expect("an executor");
    for (name, is_unit) in
        [("clip", true), ("siglip", true), ("siglip2", true), ("uform_bert", true), ("vit", false), ("dinov3", false)]
    {
        let path = tests().join("golden/vision/expected").join(name).with_extension("json");
        let text = std::fs::read_to_string(path).expect("an expectation");
        let sizes = expected_rows(&text, "pictures");
        let pixels: Vec<_> = sizes.iter().map(|size| formula(size[0] as usize, size[1] as usize)).collect();
        let images: Vec<_> = sizes
            .iter()
            .zip(&pixels)
            .map(|(size, pixels)| Image::rgb(pixels, size[0] as usize, size[1] as usize))
            .collect();
        let model = vision_model(name);
        let found = model.on(&executor).encode_images::<f32>(&images).expect("embeddings");
        let expected = expected_rows(&text, "image_vectors");
        assert!(!expected.is_empty() && found.len() == expected.len());
        for (row, vector) in found.rows().zip(&expected) {
            let row = row.expect("a row");
            assert!(cosine(row, vector) > 0.999_99, "{}: {}", name, cosine(row, vector));
            assert_eq!((length(row) - 1.0).abs() < 1e-5, is_unit, "{}", name);
        }
        let raw = model.on(&executor).normalize(false).encode_images::<f32>(&images).expect("embeddings");
        for (row, vector) in raw.rows().zip(&expected) {
            let expected = vector.iter().map(|number| number * number).sum::<f64>().sqrt() as f32;
            assert!((length(row.expect("a row")) / expected - 1.0).abs() < 1e-4, "{}", name);
        }
    }
}

#[test]
fn texts_and_images_share_a_space() {
    let alone = Executor::default();
    for name in ["clip", "siglip", "siglip2", "uform_roberta"] {
        let model = vision_model(name);
        let texts = model.on(&alone).encode_texts::<f32>(&["a photo of a cat", ""]).expect("texts");
        let file = picture("rgb.jpg");
        let images = model.on(&alone).encode_images::<f32>(&[Image::file(&file)]).expect("images");
        assert_eq!(texts.dimensions(), images.dimensions());
        for row in texts.rows().chain(images.rows()) {
            assert!((length(row.expect("a row")) - 1.0).abs() < 1e-5);
        }
    }
}

#[test]
fn rows_do_not_depend_on_the_way() {
    let (model, alone) = (vision_model("clip"), Executor::default());
    let three = Executor::for_ram(&[], None, 3, 0).expect("an executor");
    let pixels: Vec<_> = (0..40).map(|index| formula(20 + index, 60 - index)).collect();
    let images: Vec<_> =
        pixels.iter().enumerate().map(|(index, pixels)| Image::rgb(pixels, 20 + index, 60 - index)).collect();
    let together = model.on(&alone).encode_images::<f32>(&images).expect("embeddings");
    let on = model.on(&three);
    assert_eq!(on.encode_images::<f32>(&images).as_ref(), Ok(&together));
    assert_eq!(on.defer_images::<f32>(&images).and_then(|call| call.wait()).as_ref(), Ok(&together));

    let mut rows = vec![0f32; on.output_elements::<f32>(images.len()).expect("a size")];
    let mut items = vec![Item::default(); images.len()];
    assert_eq!(on.encode_images_into(&images, &mut rows, &mut items), Ok(()));
    assert_eq!(items, together.items());
    assert_eq!(on.encode_images_into(&images, &mut rows, &mut []), Ok(()));
    assert_eq!(on.encode_images_into(&images, &mut rows[1..], &mut []), Err(Status::InvalidArgument));
    assert!(last_detail().contains("rows"), "{}", last_detail());
    assert_eq!(on.encode_images_into(&images, &mut rows, &mut items[1..]), Err(Status::InvalidArgument));
    for (index, image) in images.iter().enumerate().step_by(7) {
        let single = model.on(&alone).encode_images::<f32>(&[*image]).expect("an embedding");
        assert_eq!(single.row(0), together.row(index));
        assert_eq!(Some(single.token_count()), model.describe().image_tokens);
    }
    assert_eq!(together.into_vec(), Ok(rows));
    assert!(on.encode_images::<f32>(&[]).expect("nothing").is_empty());
    assert!(on.defer_images::<f32>(&[]).and_then(|call| call.wait()).expect("nothing").is_empty());
}

/// A file, raw pixels of every layout and rows with gaps between them are the same image.
#[test]
fn layouts_are_the_same_image() {
    let (model, alone) = (vision_model("siglip"), Executor::default());
    let (on, width, height) = (model.on(&alone), 37, 29);
    let pixels = formula(width, height);
    let file = bmp(&pixels, width);
    let opaque: Vec<u8> = pixels.chunks(3).flat_map(|pixel| [pixel[0], pixel[1], pixel[2], 255]).collect();
    let mut wide: Vec<u8> = pixels.chunks(width * 3).flat_map(|row| [row, &[77; 9]].concat()).collect();
    wide.truncate(wide.len() - 9); // the last row needs no gap
    let wide_opaque: Vec<u8> = opaque.chunks(width * 4).flat_map(|row| [row, &[77; 5]].concat()).collect();
    let images = [
        Image::rgb(&pixels, width, height),
        Image::rgb(&pixels, width, height).stride_bytes(width * 3),
        Image::rgb(&wide, width, height).stride_bytes(width * 3 + 9),
        Image::rgba(&opaque, width, height),
        Image::rgba(&wide_opaque, width, height).stride_bytes(width * 4 + 5),
        Image::file(&file),
    ];
    let found = on.encode_images::<f32>(&images).expect("embeddings");
    let expected = on.image_pixels(images[0]).expect("pixels");
    for (index, image) in images.iter().enumerate() {
        assert_eq!(found.row(index), found.row(0), "{:?}", image);
        assert_eq!(on.image_pixels(*image).as_ref(), Ok(&expected), "{:?}", image);
    }
    let gray: Vec<u8> = pixels.iter().copied().step_by(3).collect();
    let spread: Vec<u8> = gray.iter().flat_map(|level| [*level; 3]).collect();
    let found = on
        .encode_images::<f32>(&[Image::gray(&gray, width, height), Image::rgb(&spread, width, height)])
        .expect("embeddings");
    assert_eq!(found.row(0), found.row(1));
    assert!(format!("{:?}", images[2]).contains(&wide.len().to_string()), "{:?}", images[2]);
}

#[test]
fn an_image_that_fails_leaves_the_others() {
    let model = vision_model("clip");
    let pixels = formula(30, 20);
    let mut cut = picture("rgb.jpg");
    cut.truncate(20);
    let whole = Image::rgb(&pixels, 30, 20);
    let broken = [
        (Image::file(b"no picture"), Status::Malformed),
        (Image::file(b""), Status::Malformed),
        (Image::file(&cut), Status::Malformed),
        (Image::rgb(&pixels, 30, 21), Status::InvalidArgument),
        (Image::rgb(&pixels, 30, 20).stride_bytes(89), Status::InvalidArgument),
        (Image::rgba(&pixels, 30, 20), Status::InvalidArgument),
        (Image::gray(&pixels, 0, 20), Status::InvalidArgument),
        (Image::gray(&pixels, usize::MAX, usize::MAX), Status::Unsupported),
    ];
    let images: Vec<_> = broken.iter().flat_map(|(image, _)| [*image, whole]).collect();
    for executor in [Executor::default(), Executor::for_ram(&[], None, 3, 0).expect("an executor")] {
        let on = model.on(&executor);
        let found = on.encode_images::<f32>(&images).expect("a call that ran");
        let expected = on.encode_images::<f32>(&[whole]).expect("an embedding");
        for (index, (image, status)) in broken.iter().enumerate() {
            assert_eq!(found.row(2 * index), Err(*status), "{:?}", image);
            assert_eq!(found.row(2 * index + 1), expected.row(0));
            assert_eq!(on.image_pixels(*image), Err(*status));
        }
        assert_eq!(found.clone().into_vec(), Err(Status::Malformed));
        let deferred = on.defer_images::<f32>(&images).and_then(|call| call.wait()).expect("a call that ran");
        assert_eq!(deferred.items(), found.items());
        assert_eq!(on.encode_images::<B1x8>(&images).expect("a call that ran").items(), found.items());

        let mut rows = vec![7f32; on.output_elements::<f32>(2).expect("a size")];
        let mut items = [Item::default(); 2];
        let pair = [whole, Image::file(b"no picture")];
        assert_eq!(on.encode_images_into(&pair, &mut rows, &mut items), Err(Status::Malformed));
        assert!(last_detail().contains("image 1"), "{}", last_detail());
        assert_eq!((items[0].status, items[1].status), (Ok(()), Err(Status::Malformed)));
        assert_eq!(Ok(&rows[..found.dimensions()]), expected.row(0));
        assert!(rows[found.dimensions()..].iter().all(|number| number.is_nan()));
    }
}

#[test]
fn what_a_deferred_call_reads_is_its_own() {
    for executor in [Executor::default(), Executor::for_ram(&[], None, 2, 0).expect("an executor")] {
        let (model, pixels, file) = (vision_model("siglip2"), formula(50, 40), picture("rgb.jpg"));
        let images = vec![Image::rgb(&pixels, 40, 40).stride_bytes(150), Image::file(&file)];
        let expected = model.on(&executor).encode_images::<f32>(&images).expect("embeddings");
        let call = model.on(&executor).defer_images::<f32>(&images).expect("a call");
        drop(images);
        drop((model, pixels, file));
        assert_eq!(call.wait(), Ok(expected));
    }
}

#[test]
fn pixels_are_what_the_tower_gets() {
    let alone = Executor::default();
    let white = [255u8; 24 * 18];
    let image = Image::gray(&white, 24, 18);
    let pixels = vision_model("clip").on(&alone).image_pixels(image).expect("pixels");
    assert_eq!((pixels.shape, pixels.numbers.len()), ([3, 32, 32], 3 * 32 * 32));
    // The mean and the deviation that its preprocessor_config.json has for each channel.
    let channels = [(0.48145466, 0.26862954), (0.4578275, 0.26130258), (0.40821073, 0.27577711f64)];
    for (channel, (mean, deviation)) in channels.iter().enumerate() {
        let expected = ((1.0 - mean) / deviation) as f32;
        assert!(pixels.numbers[channel * 1024..][..1024].iter().all(|number| (number - expected).abs() < 1e-5));
    }
    // Where the size depends on the image, its shape comes from it: patches of 6 x 6, at most 30.
    let model = vision_model("siglip2");
    assert_eq!((model.describe().image_height, model.describe().image_tokens), (None, None));
    let pixels = model.on(&alone).image_pixels(image).expect("pixels");
    let [channels, height, width] = pixels.shape;
    assert_eq!((channels, height % 6, width % 6), (3, 0, 0));
    assert!(width > height && height / 6 * (width / 6) <= 30, "{:?}", pixels.shape);
    assert_eq!(pixels.numbers.len(), channels * height * width);
    assert!(pixels.numbers.iter().all(|number| (number - 1.0).abs() < 1e-6));
}

#[test]
fn options_change_the_call() {
    let (model, alone) = (vision_model("clip"), Executor::default());
    let on = model.on(&alone);
    let (stored, turned) = (picture("turned_1.jpg"), picture("turned_6.jpg"));
    let images = [Image::file(&stored), Image::file(&turned)];
    let upright = on.encode_images::<f32>(&images).expect("embeddings");
    assert_ne!(upright.row(0), upright.row(1));
    assert_eq!(on.clone().image_orientation(true).encode_images::<f32>(&images).as_ref(), Ok(&upright));
    let left = on.clone().image_orientation(false).encode_images::<f32>(&images).expect("embeddings");
    assert_eq!((left.row(0), left.row(1)), (upright.row(0), upright.row(0)));

    let (clear, white, black) = ([0u8; 9 * 9 * 4], [255u8; 9 * 9], [0u8; 9 * 9]);
    let (clear, white, black) = (Image::rgba(&clear, 9, 9), Image::gray(&white, 9, 9), Image::gray(&black, 9, 9));
    assert_eq!(on.image_pixels(clear), on.image_pixels(black));
    assert_eq!(on.clone().image_flatten(false).image_pixels(clear), on.image_pixels(black));
    assert_eq!(on.clone().image_flatten(true).image_pixels(clear), on.image_pixels(white));

    assert!(on.clone().image_pixel_limit(81).encode_images::<f32>(&[white]).expect("a call").row(0).is_ok());
    let refused = on.clone().image_pixel_limit(80).encode_images::<f32>(&[white]).expect("a call");
    assert_eq!(refused.row(0), Err(Status::Unsupported));
    let file = picture("rgb.jpg");
    assert_eq!(on.clone().image_pixel_limit(80).image_pixels(Image::file(&file)), Err(Status::Unsupported));
    assert!(last_detail().contains("80"), "{}", last_detail());

    let cut = on.clone().dimensions(5).encode_images::<f32>(&[white]).expect("a cut");
    assert_eq!((cut.dimensions(), (length(cut.row(0).expect("a row")) - 1.0).abs() < 1e-5), (5, true));
    let beyond = on.clone().dimensions(10_000);
    assert_eq!(beyond.encode_images::<f32>(&[white]), Err(Status::InvalidArgument));
    assert_eq!(beyond.defer_images::<f32>(&[white]).map(|_| ()), Err(Status::InvalidArgument));
    assert!(last_detail().contains("dimensions"), "{}", last_detail());
}

/// Options that texts would be refused with don't concern images, and their rows have the room they need all the same.
#[test]
fn options_of_texts_are_ignored() {
    let (model, alone, file) = (vision_model("clip"), Executor::default(), picture("rgb.jpg"));
    let (on, images) = (model.on(&alone), [Image::file(&file)]);
    let wrong = on.clone().max_tokens(100_000).prompt_name("no such").prompt("a\0b").literal_specials(true);
    assert!(wrong.encode_texts::<f32>(&["text"]).is_err());
    assert_eq!(wrong.output_dimensions(), on.output_dimensions());
    let expected = on.encode_images::<f32>(&images).expect("an embedding");
    assert_eq!(wrong.encode_images::<f32>(&images).as_ref(), Ok(&expected));
    assert_eq!(wrong.defer_images::<f32>(&images).and_then(|call| call.wait()).as_ref(), Ok(&expected));
    assert_eq!(wrong.image_pixels(images[0]), on.image_pixels(images[0]));

    let pooled = vision_model("siglip").on(&alone).pooling(&[Pooling::Cls]).encode_images::<f32>(&images);
    assert_eq!(pooled, Err(Status::Unsupported));
}

#[test]
fn towers_that_are_not_there_say_so() {
    let (alone, white) = (Executor::default(), [255u8; 100]);
    let image = Image::gray(&white, 10, 10);
    for texts in [model("normalize"), vision_model("clip_text_projection")] {
        assert!(texts.describe().encodes_texts && !texts.describe().encodes_images);
        assert_eq!(texts.describe().image_tokens, None);
        assert_eq!(texts.on(&alone).encode_images::<f32>(&[image]), Err(Status::Unsupported));
        assert!(last_detail().contains("images"), "{}", last_detail());
        assert_eq!(texts.on(&alone).defer_images::<f32>(&[image]).map(|_| ()), Err(Status::Unsupported));
        assert_eq!(texts.on(&alone).image_pixels(image), Err(Status::Unsupported));
        assert!(texts.on(&alone).encode_texts::<f32>(&["text"]).is_ok());
    }
    let images = vision_model("vit");
    assert!(!images.describe().encodes_texts && images.describe().encodes_images);
    assert_eq!(images.on(&alone).encode_texts::<f32>(&["text"]), Err(Status::Unsupported));
    assert!(last_detail().contains("texts"), "{}", last_detail());
    assert_eq!(images.on(&alone).tokenize("text"), Err(Status::Unsupported));
    assert!(images.on(&alone).encode_images::<f32>(&[image]).is_ok());
}

#[test]
fn descriptions_tell_of_both_towers() {
    let model = vision_model("clip");
    let description = model.describe();
    assert!(description.encodes_texts && description.encodes_images);
    assert_eq!((description.image_height, description.image_width), (Some(32), Some(32)));
    let side = 32 / description.patch_size;
    assert_eq!(description.image_tokens, Some(side * side + 1));
    assert!(description.image_layers > 0 && description.image_hidden_width > 0);
    assert!(description.flops_per_image.expect("a number") > 0.0);
    assert!((description.logit_scale.expect("a scale").ln() - 2.5).abs() < 1e-5);
    assert_eq!(description.logit_bias, None);
    assert_ne!(vision_model("siglip").describe().logit_bias, None);
    assert_eq!(vision_model("vit").describe().logit_scale, None);
}
