//! Executors, devices and capabilities: what they promise to Rust.

use std::panic::{RefUnwindSafe, UnwindSafe};

use uform::{
    gpu_devices, last_detail, CPUClass, Executor, GPUClass, GPUDevice, GPUVendor, Model, Mood, MultimemTier, Status,
};

#[test]
fn every_mood_is_adopted() {
    let executor = Executor::for_ram(&[], None, 2, 0).expect("an executor");
    assert!(format!("{:?}", executor).contains("Chilling"));
    for mood in [Mood::Spinning, Mood::Sleeping, Mood::Chilling] {
        assert_eq!(executor.drain(mood), Ok(()));
        assert!(format!("{:?}", executor).contains(&format!("{:?}", mood)));
        assert_eq!(Executor::default().drain(mood), Ok(()));
    }
}

#[test]
fn executors_move_between_threads() {
    let executor = Executor::for_ram(&[], None, 2, 0).expect("an executor");
    let back = std::thread::spawn(move || executor.drain(Mood::Sleeping).map(|()| executor)).join().expect("no panic");
    assert_eq!(back.and_then(|executor| executor.drain(Mood::Chilling)), Ok(()));
}

#[test]
fn what_cannot_be_made_says_why() {
    let made = |domains: &[i32], class, threads| Executor::for_ram(domains, class, threads, 0).map(|_| ());
    assert_eq!(made(&[], None, 1_000_000), Err(Status::InvalidArgument));
    assert!(last_detail().contains("threads"), "{}", last_detail());
    assert_eq!(made(&[0, 0], None, 1), Err(Status::InvalidArgument));
    assert_eq!(made(&[-1], None, 1), Err(Status::InvalidArgument));
    assert_eq!(made(&[99_999], None, 1), Err(Status::NotFound));
    assert_eq!(made(&[], Some(CPUClass::AlibabaC930), 1), Err(Status::Unsupported));
    assert!(last_detail().contains("alibaba_c930"), "{}", last_detail());
}

/// This program has none of ForkUnion's functions, and a pool without them is never looked into.
#[test]
fn pools_need_their_functions() {
    let mut pool = 0u64;
    // SAFETY: the pool is refused before it is used.
    let shared = unsafe { Executor::on_pool(&[], None, (&mut pool as *mut u64).cast(), 0) };
    assert_eq!(shared.map(|_| ()), Err(Status::Unsupported));
    assert!(last_detail().contains("ForkUnion"), "{}", last_detail());
    // SAFETY: so is none.
    let none = unsafe { Executor::on_pool(&[], None, std::ptr::null_mut(), 0) };
    assert_eq!(none.map(|_| ()), Err(Status::InvalidArgument));
}

#[test]
fn devices_are_counted_without_room_too() {
    let count = gpu_devices(&mut []).expect("a count");
    let mut devices = vec![GPUDevice::default(); count + 1];
    assert_eq!(gpu_devices(&mut devices), Ok(count));
    assert!(devices[..count].iter().all(|device| device.vendor().is_some()));
    assert_eq!(devices[count].vendor(), None);
}

#[test]
fn video_memory_is_unsupported() {
    assert_eq!(Model::load_vram("somewhere", &[0], &Default::default()).map(|_| ()), Err(Status::Unsupported));
    assert!(!last_detail().is_empty());
    let streams = [std::ptr::null_mut(); 3];
    // SAFETY: three streams for two devices are refused before any is used.
    let wrong = unsafe { Executor::for_vram(&[0, 1], Some(GPUClass::NvidiaHopper), &[0], None, &streams, 0, 0) };
    assert_eq!(wrong.map(|_| ()), Err(Status::InvalidArgument));
}

#[test]
fn capabilities_are_tokens_of_classes() {
    let compiled: Vec<CPUClass> =
        uform::capabilities_compiled().split(',').map(|token| token.parse().expect("a class")).collect();
    for token in uform::capabilities_available().split(',') {
        assert!(compiled.contains(&token.parse().expect("a class")), "{}", token);
    }
}

/// Derives as the reference page lists them, and no Default where it lists none.
#[test]
fn traits_are_the_page_s() {
    use std::fmt::{Debug, Display};
    use std::hash::Hash;
    use std::str::FromStr;
    fn plain<T: Clone + Copy + PartialEq + Eq + Debug + Hash + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}
    fn named<T: Display + FromStr<Err = Status>>() {}
    fn device<T: Clone + Copy + Default + Debug + Send + Sync>() {}
    fn executor<T: Debug + Send + Default>() {}
    fn model<T: Clone + Debug + Send + Sync>() {}
    fn error<T: std::error::Error + Copy + Send + Sync + 'static>() {}
    plain::<CPUClass>();
    plain::<GPUClass>();
    plain::<GPUVendor>();
    plain::<MultimemTier>();
    plain::<Mood>();
    named::<CPUClass>();
    named::<GPUClass>();
    named::<MultimemTier>();
    named::<Mood>();
    device::<GPUDevice>();
    executor::<Executor>();
    model::<Model>();
    error::<Status>();
    assert_eq!((CPUClass::Monoversioned as i32, GPUClass::AppleMetal10 as i32, GPUVendor::Apple as i32), (18, 12, 3));
    assert_eq!((MultimemTier::SwitchReduced as i32, MultimemTier::PeerRead as i32, Mood::Spinning as i32), (0, 1, 1));
}
