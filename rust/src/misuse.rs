//! What doesn't compile. Each case stands beside its twin that does, so that it can only fail for the reason it is about;
//! the codes are checked where the compiler lets examples name them.
//!
//! An executor isn't shared between threads, as two threads that overlap take one apiece:
//!
//! ```
//! let executor = uform::Executor::default();
//! std::thread::spawn(move || executor.drain(uform::Mood::Sleeping)).join().unwrap().unwrap();
//! ```
//! ```compile_fail,E0277
//! let executor = uform::Executor::default();
//! std::thread::scope(|scope| {
//!     scope.spawn(|| executor.drain(uform::Mood::Sleeping));
//! });
//! ```
//!
//! Neither is a call on it:
//!
//! ```
//! fn share(model: &uform::Model) {
//!     std::thread::scope(|scope| {
//!         scope.spawn(|| model.describe());
//!     });
//! }
//! ```
//! ```compile_fail,E0277
//! fn share(on: &uform::On<'_>) {
//!     std::thread::scope(|scope| {
//!         scope.spawn(|| on.output_dimensions());
//!     });
//! }
//! ```
//!
//! An executor has one owner, so it is freed once:
//!
//! ```
//! let model: Option<uform::Model> = None;
//! let other = model.clone();
//! ```
//! ```compile_fail,E0599
//! let executor = uform::Executor::default();
//! let other: uform::Executor = executor.clone();
//! ```
//!
//! It outlives what is called on it, while a model is kept by whatever uses it:
//!
//! ```
//! fn call(model: uform::Model, executor: uform::Executor) {
//!     let on = model.on(&executor);
//!     drop(model);
//!     let _ = on.encode_texts::<f32>(&["text"]);
//!     drop(executor);
//! }
//! ```
//! ```compile_fail,E0505
//! fn call(model: uform::Model, executor: uform::Executor) {
//!     let on = model.on(&executor);
//!     drop(executor);
//!     let _ = on.encode_texts::<f32>(&["text"]);
//! }
//! ```
//! ```compile_fail,E0597
//! fn call(model: uform::Model) -> usize {
//!     let on = {
//!         let executor = uform::Executor::default();
//!         model.on(&executor)
//!     };
//!     on.output_dimensions()
//! }
//! ```
//!
//! So do deferred calls, which keep everything else themselves and are awaited once:
//!
//! ```
//! fn call(model: uform::Model, executor: uform::Executor, text: String) -> uform::Result<()> {
//!     let call = model.on(&executor).defer_texts::<f32>(&[&text])?;
//!     drop(model);
//!     drop(text);
//!     call.wait().map(drop)
//! }
//! ```
//! ```compile_fail,E0505
//! fn call(model: uform::Model, executor: uform::Executor) -> uform::Result<()> {
//!     let call = model.on(&executor).defer_texts::<f32>(&["text"])?;
//!     drop(executor);
//!     call.wait().map(drop)
//! }
//! ```
//! ```compile_fail,E0515
//! fn call(model: uform::Model) -> uform::Result<uform::Deferred<'static, f32>> {
//!     let executor = uform::Executor::default();
//!     model.on(&executor).defer_texts::<f32>(&["text"])
//! }
//! ```
//! ```compile_fail,E0382
//! fn call(call: uform::Deferred<'_, f32>) {
//!     let first = call.wait();
//!     let second = call.wait();
//! }
//! ```
//!
//! An image's bytes outlive it, and nobody changes them meanwhile; a deferred call has copied them:
//!
//! ```
//! fn call(on: &uform::On<'_>, mut file: Vec<u8>) -> uform::Result<()> {
//!     let call = on.defer_images::<f32>(&[uform::Image::file(&file)])?;
//!     file.clear();
//!     call.wait().map(drop)
//! }
//! ```
//! ```compile_fail,E0502
//! fn call(on: &uform::On<'_>, mut file: Vec<u8>) -> uform::Result<()> {
//!     let image = uform::Image::file(&file);
//!     file.clear();
//!     on.encode_images::<f32>(&[image]).map(drop)
//! }
//! ```
//! ```compile_fail,E0515
//! fn read(path: &str) -> uform::Image<'static> {
//!     let file = std::fs::read(path).unwrap();
//!     uform::Image::file(&file)
//! }
//! ```
//!
//! Pieces of an arena live until it is reset, and no longer:
//!
//! ```
//! fn fill(mut arena: uform::Arena) -> uform::Result<()> {
//!     let (first, second) = (arena.allocate::<f32>(3)?, arena.allocate::<f32>(3)?);
//!     first[0] = second[0];
//!     arena.reset()
//! }
//! ```
//! ```compile_fail,E0502
//! fn fill(mut arena: uform::Arena) -> uform::Result<()> {
//!     let first = arena.allocate::<f32>(3)?;
//!     arena.reset()?;
//!     first[0] = 1.0;
//!     Ok(())
//! }
//! ```
//! ```compile_fail,E0505
//! fn fill(arena: uform::Arena) -> uform::Result<()> {
//!     let first = arena.allocate::<f32>(3)?;
//!     drop(arena);
//!     first[0] = 1.0;
//!     Ok(())
//! }
//! ```
//! ```compile_fail,E0277
//! fn fill(arena: uform::Arena) {
//!     std::thread::scope(|scope| {
//!         scope.spawn(|| arena.allocate::<f32>(3).map(|piece| piece.len()));
//!     });
//! }
//! ```
//!
//! A row lives in its embeddings:
//!
//! ```
//! fn first(embeddings: &uform::Embeddings<f32>) -> &[f32] {
//!     embeddings.row(0).unwrap()
//! }
//! ```
//! ```compile_fail,E0505
//! fn first(embeddings: uform::Embeddings<f32>) {
//!     let row = embeddings.row(0).unwrap();
//!     let all = embeddings.into_vec();
//!     println!("{}", row[0]);
//! }
//! ```
//!
//! A row that couldn't be computed is no embedding until somebody has looked at its status:
//!
//! ```
//! fn first(embeddings: &uform::Embeddings<f32>) -> uform::Result<f32> {
//!     Ok(embeddings.row(0)?[0])
//! }
//! ```
//! ```compile_fail,E0608
//! fn first(embeddings: &uform::Embeddings<f32>) -> uform::Result<f32> {
//!     Ok(embeddings.row(0)[0])
//! }
//! ```
//!
//! Rows are made of what the library writes, and of nothing else:
//!
//! ```
//! fn encode(on: &uform::On<'_>, rows: &mut [f32]) -> uform::Result<()> {
//!     on.encode_texts_into(&["text"], rows, &mut [])
//! }
//! ```
//! ```compile_fail,E0277
//! fn encode(on: &uform::On<'_>, rows: &mut [bool]) -> uform::Result<()> {
//!     on.encode_texts_into(&["text"], rows, &mut [])
//! }
//! ```
//! ```compile_fail,E0277
//! #[derive(Clone, Copy, Default, PartialEq)]
//! struct Own(bool);
//! impl uform::Element for Own {
//!     const SCALAR: uform::Scalar = uform::Scalar::I8;
//!     const DIMENSIONS: usize = 1;
//! }
//! ```
//!
//! What C is lent, somebody has to vouch for:
//!
//! ```
//! // SAFETY: there are no streams that could end too early.
//! let executor = unsafe { uform::Executor::for_vram(&[0], None, &[], None, &[], 0, 0) };
//! ```
//! ```compile_fail,E0133
//! let executor = uform::Executor::for_vram(&[0], None, &[], None, &[], 0, 0);
//! ```
//! ```compile_fail,E0133
//! let executor = uform::Executor::on_pool(&[], None, std::ptr::null_mut(), 0);
//! ```
