//! The reference page's own block, line by line, with a stand-in for ForkUnion's pool in this program.

mod common;

use std::os::raw::c_void;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use uform::{last_detail, CPUClass, Executor, Mood, Result, Status};

/// What is lent: it counts how often it was driven.
struct Pool {
    threads: usize,
    driven: AtomicUsize,
}

#[no_mangle]
extern "C" fn fu_pool_count_threads(pool: *const Pool) -> usize {
    // SAFETY: the executor gives back the pool it was lent.
    unsafe { (*pool).threads }
}

#[no_mangle]
extern "C" fn fu_pool_for_threads(
    pool: *const Pool,
    share: extern "C" fn(*mut c_void, usize, usize),
    context: *mut c_void,
) {
    // SAFETY: the executor gives back the pool it was lent.
    let pool = unsafe { &*pool };
    pool.driven.fetch_add(1, Ordering::Relaxed);
    let context = context as usize;
    let threads: Vec<_> =
        (1..pool.threads).map(|index| std::thread::spawn(move || share(context as *mut c_void, index, 0))).collect();
    share(context as *mut c_void, 0, 0);
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
}

#[test]
fn the_page_s_block() -> Result<()> {
    let lent = Pool { threads: 3, driven: AtomicUsize::new(0) };
    let pool = &lent as *const Pool as *mut c_void;

    let threads = Executor::for_ram(&[], None, 8, 0)?; // eight threads, where zero takes 7/8 of the cores
    let domains = Executor::for_ram(&[0, 1], None, 0, 0); // threads interleaved across two NUMA nodes
    let serial = Executor::for_ram(&[], Some(CPUClass::Serial), 0, 0)?; // dispatches as the portable floor
    let streams = unsafe { Executor::for_vram(&[0, 1], None, &[], None, &[], 0, 0) }; // one stream per device
    let shared = unsafe { Executor::on_pool(&[], None, pool, 0)? }; // borrows a ForkUnion pool's threads
    let local = Executor::default(); // owns nothing, runs on the calling thread

    threads.drain(Mood::Spinning)?; // waits until no call holds it, then keeps spinning

    assert_eq!(streams.map(|_| ()), Err(Status::Unsupported));
    match domains {
        Ok(domains) => domains.drain(Mood::Sleeping)?,
        // Not every machine has a second node.
        Err(Status::NotFound) => assert!(!Path::new("/sys/devices/system/node/node1").exists()),
        Err(status) => panic!("{}: {}", status, last_detail()),
    }
    for (executor, words) in [
        (&threads, ["threads: 8", "Spinning"]),
        (&serial, ["Serial", "Chilling"]),
        (&shared, ["threads: 3", "Chilling"]),
        (&local, ["threads: 1", "Sleeping"]),
    ] {
        let shown = format!("{:?}", executor);
        assert!(words.iter().all(|word| shown.contains(word)), "{}", shown);
    }

    // One model on all of them gives the same bits, but for the class that was pinned.
    let model = common::model("pooling_mean");
    let expected = model.on(&local).encode_texts::<f32>(&common::texts())?;
    assert_eq!(model.on(&threads).encode_texts::<f32>(&common::texts())?, expected);
    assert_eq!(model.on(&serial).encode_texts::<f32>(&common::texts())?.items(), expected.items());
    assert_eq!(lent.driven.load(Ordering::Relaxed), 0);
    assert_eq!(model.on(&shared).encode_texts::<f32>(&common::texts())?, expected);
    assert_eq!(lent.driven.load(Ordering::Relaxed), 1);
    assert_eq!(model.on(&shared).defer_texts::<f32>(&common::texts())?.wait()?, expected);
    assert_eq!(lent.driven.load(Ordering::Relaxed), 2);
    Ok(())
}
