//! GPUs that the process can drive.

use std::fmt;
use std::os::raw::c_char;

use crate::ffi;
use crate::status::check;
use crate::{GPUClass, GPUVendor, Result};

/// One GPU as UForm numbers it: its position in what [`gpu_devices`] lists is the ordinal every VRAM placement names it by.
///
/// The default is none.
///
/// Mirrors `uform_gpu_device_t`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct GPUDevice(ffi::GPUDevice);

impl GPUDevice {
    /// The vendor whose runtime drives the device.
    pub fn vendor(&self) -> Option<GPUVendor> {
        GPUVendor::from_value(self.0.vendor.0)
    }

    /// The device's ordinal in its vendor's runtime, as nvidia-smi or rocm-smi list it.
    pub fn vendor_ordinal(&self) -> u32 {
        self.0.vendor_ordinal
    }

    /// The class whose kernels run on it.
    pub fn gpu_class(&self) -> Option<GPUClass> {
        GPUClass::from_value(self.0.gpu_class.0)
    }

    /// Streaming multiprocessors or compute units.
    pub fn compute_units(&self) -> u32 {
        self.0.compute_units
    }

    /// Device memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes
    }

    /// The vendor's own name for the device, cut before a character the truncation split.
    pub fn name(&self) -> &str {
        let name = &self.0.name;
        let length = name.iter().position(|letter| *letter == 0).unwrap_or(name.len());
        // SAFETY: a C character is a byte, and these are the array's own.
        let bytes = unsafe { std::slice::from_raw_parts(name.as_ptr().cast::<u8>(), length) };
        match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or(""),
        }
    }
}

impl Default for GPUDevice {
    fn default() -> Self {
        Self(ffi::GPUDevice {
            vendor: ffi::GPUVendor(0),
            vendor_ordinal: 0,
            gpu_class: ffi::GPUClass(0),
            compute_units: 0,
            memory_bytes: 0,
            name: [0 as c_char; 128],
        })
    }
}

impl fmt::Debug for GPUDevice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GPUDevice")
            .field("vendor", &self.vendor())
            .field("vendor_ordinal", &self.vendor_ordinal())
            .field("gpu_class", &self.gpu_class())
            .field("compute_units", &self.compute_units())
            .field("memory_bytes", &self.memory_bytes())
            .field("name", &self.name())
            .finish()
    }
}

/// Lists every GPU this process can drive into `devices`, NVIDIA devices first, then AMD, and answers how many there are,
/// which may exceed what `devices` holds.
///
/// A vendor this build does not compile, or whose runtime is absent, lists no devices, so a machine without GPUs answers
/// zero.
///
/// Calls `uform_gpu_devices`.
///
/// ```
/// let mut devices = [uform::GPUDevice::default(); 16];
/// let count = uform::gpu_devices(&mut devices)?;
/// for device in devices.iter().take(count) {
///     println!("{}: {} bytes", device.name(), device.memory_bytes());
/// }
/// # uform::Result::Ok(())
/// ```
pub fn gpu_devices(devices: &mut [GPUDevice]) -> Result<usize> {
    let mut count = 0;
    // SAFETY: a GPUDevice is a uform_gpu_device_t, whose every bit pattern is a value, and there are as many as said.
    check(unsafe { ffi::uform_gpu_devices(devices.as_mut_ptr().cast(), devices.len(), &mut count) })?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(bytes: &[u8]) -> GPUDevice {
        let mut device = GPUDevice::default();
        for (place, byte) in device.0.name.iter_mut().zip(bytes) {
            *place = *byte as c_char;
        }
        device
    }

    #[test]
    fn names_end_before_what_is_not_text() {
        assert_eq!(named(b"NVIDIA H200\0rest").name(), "NVIDIA H200");
        assert_eq!(named(b"").name(), "");
        assert_eq!(named(&[b'x'; 128]).name(), "x".repeat(128));
        assert_eq!(named(b"cut \xC3").name(), "cut ");
        assert_eq!(named(b"cut \xC3\0").name(), "cut ");
    }

    #[test]
    fn the_default_is_none() {
        let device = GPUDevice::default();
        assert_eq!((device.vendor(), device.gpu_class(), device.name()), (None, None, ""));
        assert_eq!((device.vendor_ordinal(), device.compute_units(), device.memory_bytes()), (0, 0, 0));
    }

    #[test]
    fn values_are_read_as_what_they_name() {
        let mut device = named(b"one");
        device.0.vendor = ffi::GPUVendor(2);
        device.0.gpu_class = ffi::GPUClass(7);
        assert_eq!((device.vendor(), device.gpu_class()), (Some(GPUVendor::Amd), Some(GPUClass::AmdCdna3)));
        device.0.vendor = ffi::GPUVendor(99);
        assert_eq!(device.vendor(), None);
    }
}
