//! Deferred calls and arenas: the same embeddings as direct calls, whatever becomes of the handles.

mod common;

use std::mem::forget;
use std::time::Duration;

use common::{model, poisoned_model, texts};
use uform::{last_detail, Arena, B1x8, Embeddings, Executor, Model, Mood, Status};

fn executors() -> [Executor; 3] {
    [1, 3]
        .map(|threads| Executor::for_ram(&[], None, threads, 0).expect("an executor"))
        .into_iter()
        .chain([Executor::default()])
        .collect::<Vec<_>>()
        .try_into()
        .expect("three")
}

fn expected(model: &Model) -> Embeddings<f32> {
    model.on(&Executor::default()).encode_texts(&texts()).expect("embeddings")
}

#[test]
fn deferred_calls_give_the_same_embeddings() {
    let model = model("pooling_mean");
    let expected = expected(&model);
    for executor in &executors() {
        let calls: Vec<_> = (0..5).map(|_| model.on(executor).defer_texts::<f32>(&texts()).expect("a call")).collect();
        let direct = model.on(executor).encode_texts::<f32>(&texts());
        assert_eq!(direct.as_ref(), Ok(&expected));
        for call in calls.into_iter().rev() {
            assert_eq!(call.wait().as_ref(), Ok(&expected));
        }
    }
}

#[test]
fn what_a_call_reads_is_its_own() {
    for executor in &executors() {
        let (model, texts) = (model("prompts"), texts());
        let on = model.on(executor).prompt(&String::from("a prompt: "));
        let expected = on.encode_texts::<B1x8>(&texts).expect("embeddings");
        let call = on.defer_texts::<B1x8>(&texts).expect("a call");
        drop((on, model, texts));
        assert_eq!(call.wait(), Ok(expected));
    }
}

#[test]
fn waiting_can_be_bounded() {
    let model = model("pooling_mean");
    for executor in &executors() {
        let call = model.on(executor).defer_texts::<f32>(&texts()).expect("a call");
        while !call.wait_for(Duration::from_millis(1)) {}
        assert!(call.is_finished() && call.wait_for(Duration::ZERO));
        let call = model.on(executor).defer_texts::<f32>(&texts()).expect("a call");
        assert!(call.wait_for(Duration::MAX));
        let call = model.on(executor).defer_texts::<f32>(&texts()).expect("a call");
        while !call.is_finished() {
            std::thread::yield_now();
        }
        assert_eq!(call.wait(), Ok(expected(&model)));
    }
}

#[test]
fn calls_may_be_dropped_or_forgotten() {
    for executor in executors() {
        let model = model("pooling_mean");
        drop(model.on(&executor).defer_texts::<f32>(&texts()).expect("a call"));
        for _ in 0..3 {
            forget(model.on(&executor).defer_texts::<f32>(&texts()).expect("a call"));
        }
        drop(model);
        // Now the executor is freed, which finishes what was forgotten.
    }
}

#[test]
fn a_drain_finishes_them() {
    let model = model("pooling_mean");
    let executor = Executor::for_ram(&[], None, 2, 0).expect("an executor");
    let call = model.on(&executor).defer_texts::<f32>(&texts()).expect("a call");
    assert_eq!(executor.drain(Mood::Sleeping), Ok(()));
    assert!(call.is_finished());
}

#[test]
fn a_full_table_is_contended() {
    let model = model("pooling_mean");
    let executor = Executor::for_ram(&[], None, 2, 3).expect("an executor");
    let long: Vec<String> = (0..4000).map(|index| format!("{} ", index).repeat(40)).collect();
    let mut calls = Vec::new();
    let refused = loop {
        match model.on(&executor).defer_texts::<f32>(&long) {
            Ok(call) => calls.push(call),
            Err(status) => break status,
        }
        assert!(calls.len() < 1000, "the table never fills");
    };
    assert_eq!(refused, Status::Contended);
    assert!(last_detail().contains("deferred"), "{}", last_detail());
    assert!(calls.len() >= 3);
    for call in calls {
        assert!(call.wait().is_ok());
    }
    assert!(model.on(&executor).defer_texts::<f32>(&["again"]).and_then(|call| call.wait()).is_ok());
}

#[test]
fn what_is_wrong_is_said_at_once() {
    let model = model("pooling_mean");
    for executor in &executors() {
        let on = model.on(executor);
        let beyond = on.clone().dimensions(10_000).defer_texts::<f32>(&["text"]);
        assert_eq!(beyond.map(|_| ()), Err(Status::InvalidArgument));
        assert!(last_detail().contains("dimensions"), "{}", last_detail());
        let none: [&str; 0] = [];
        assert!(on.defer_texts::<f32>(&none).and_then(|call| call.wait()).expect("nothing").is_empty());
    }
}

#[test]
fn a_text_that_fails_leaves_the_others() {
    let model = poisoned_model("poisoned_deferred");
    for executor in &executors() {
        let call = model.on(executor).defer_texts::<f32>(&["a", "a b c d e f g h", "b"]).expect("a call");
        assert!(call.wait_for(Duration::MAX));
        let found = call.wait().expect("a call that ran");
        assert_eq!(found.items().iter().filter(|item| item.status == Err(Status::NotFinite)).count(), 1);
        assert_eq!(found.row(0), model.on(executor).encode_texts(&["a"]).expect("it").row(0));
        assert_eq!(found.row(1), Err(Status::NotFinite));
    }
}

#[test]
fn arenas_hold_rows() {
    let model = model("normalize");
    for executor in executors() {
        let mut arena = Arena::new_in(&executor, 1000).expect("an arena");
        for _ in 0..3 {
            let on = model.on(&executor);
            let size = on.output_elements::<f32>(texts().len()).expect("a size");
            let (first, second) =
                (arena.allocate::<f32>(size).expect("a piece"), arena.allocate::<f32>(size).expect("a piece"));
            assert!(first.iter().chain(&*second).all(|number| *number == 0.0));
            assert_eq!(first.as_ptr() as usize % 64, 0);
            assert_eq!(on.encode_texts_into(&texts(), first, &mut []), Ok(()));
            assert!(second.iter().all(|number| *number == 0.0));
            second.copy_from_slice(first);
            assert_eq!(on.encode_texts::<f32>(&texts()).and_then(|rows| rows.into_vec()).as_deref(), Ok(&*second));
            assert_eq!(arena.reset(), Ok(()));
        }
        assert!(arena.allocate::<i8>(0).expect("nothing").is_empty());
        assert_eq!(arena.allocate::<f32>(usize::MAX).map(|_| ()), Err(Status::OutOfMemory));
        assert_eq!(arena.allocate::<f32>(usize::MAX / 8).map(|_| ()), Err(Status::OutOfMemory));
        drop(executor);
        arena.allocate::<B1x8>(100).expect("a piece")[99] = B1x8(255);
        let moved = std::thread::spawn(move || arena.allocate::<f32>(10).map(|piece| piece.len()));
        assert_eq!(moved.join().expect("no panic"), Ok(10));
    }
}
