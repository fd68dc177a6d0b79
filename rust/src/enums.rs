//! Enumerations: classes, vendors, scalars, poolings, moods. Values are the C interface's; so are the names, which
//! `Display` and `FromStr` ask C for.

use std::ffi::CString;
use std::fmt;
use std::str::FromStr;

use crate::ffi;
use crate::status::{check, fail, static_text, Result, Status};

/// An enumeration of C's, variant by variant.
macro_rules! enumeration {
    ($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(i32)]
        pub enum $name {
            $($(#[$what])* $variant = $value,)*
        }

        impl $name {
            /// Every variant, by value.
            #[allow(dead_code)]
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The variant of a value; `None` for zero's "derived" and for values of newer libraries.
            #[allow(dead_code)]
            pub(crate) fn from_value(value: i32) -> Option<Self> {
                Self::ALL.iter().copied().find(|variant| *variant as i32 == value)
            }
        }
    };
}

/// `Display` and `FromStr` through the C interface.
macro_rules! tokens {
    ($name:ident, $type:path, $repr:ty, $name_of:ident, $parse:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                // SAFETY: any value may be asked about, and the answer has static storage.
                formatter.pad(unsafe { static_text(ffi::$name_of($type(*self as $repr))) })
            }
        }

        impl FromStr for $name {
            type Err = Status;

            fn from_str(token: &str) -> Result<Self> {
                let token = c_token(token)?;
                let mut value = $type(0);
                // SAFETY: the token ends with a NUL, and the value outlives the call.
                check(unsafe { ffi::$parse(token.as_ptr(), &mut value) })?;
                let $type(value) = value;
                Self::from_value(value as i32).ok_or_else(|| {
                    fail(Status::NotFound, format!("{}: {:?} is none of this crate's", stringify!($name), token))
                })
            }
        }
    };
}

/// A token for C, which can't hold a NUL.
fn c_token(token: &str) -> Result<CString> {
    CString::new(token).map_err(|_| fail(Status::NotFound, format!("{:?} holds a NUL, which no token does", token)))
}

enumeration! {
    /// How an idle executor waits for its next call.
    ///
    /// Mirrors `uform_mood_t`.
    Mood {
        /// Threads busy-wait for the next call: the fastest answer, a core a thread.
        Spinning = 1,
        /// A short spin, then the kernel's sleep: what a new executor has.
        Chilling = 2,
        /// Straight to the kernel's sleep.
        Sleeping = 3,
    }
}

enumeration! {
    /// The CPU families UForm ships tuned variants for: dispatch reports its pick in this vocabulary, and a RAM placement
    /// may pin one.
    ///
    /// Mirrors `uform_cpu_class_t`.
    CPUClass {
        /// The portable floor: no SIMD assumptions.
        Serial = 1,
        /// Haswell-class x86: AVX2 & FMA, the 256-bit floor.
        IntelHaswell = 2,
        /// Sierra Forest-class x86 - the E-core Xeons: AVX-VNNI and its successors without AVX-512.
        IntelSierra = 3,
        /// Skylake-class x86: the AVX-512 foundation tier.
        IntelSkylake = 4,
        /// Icelake-class x86: AVX-512 VNNI & VPOPCNT.
        IntelIcelake = 5,
        /// Genoa-class x86 - Zen 4 and newer: native bf16 dot products over AVX-512.
        AmdGenoa = 6,
        /// Sapphire Rapids-class x86: the Genoa bundle plus AVX-512 FP16 and the AMX-BF16 & AMX-INT8 tiles.
        IntelSapphire = 7,
        /// Granite Rapids-class x86: the Sapphire Rapids bundle plus the AMX-FP16 tiles.
        IntelGranite = 8,
        /// Diamond Rapids-class x86: the Granite Rapids bundle plus AVX10.2's FP8 conversions.
        IntelDiamond = 9,
        /// Graviton2-class Arm - Neoverse N1, the bare NEON floor; phones predating Armv8.6 land here too.
        AwsG2 = 10,
        /// Armv8.6+ NEON: dot products, bf16 & f16 fused multiplies - Apple M2, Cortex-A710 & X2 class silicon.
        AppleM2 = 11,
        /// Apple M4-class Arm: the Armv8.6 NEON bundle plus the SME outer-product tiles.
        AppleM4 = 12,
        /// Graviton5-class Arm - Neoverse V3, Armv9.2.
        AwsG5 = 13,
        /// Vera-class Arm - NVIDIA's Armv9.2-generation cores with FP8 dot products.
        NvidiaVera = 14,
        /// Alibaba C930-class RISC-V - T-Head's XuanTie core, RVA23 vectors.
        AlibabaC930 = 15,
        /// WebAssembly every engine loads: 32-bit, single-threaded, the fixed-width simd128 tier.
        Wasm32V128 = 16,
        /// WebAssembly with relaxed SIMD, shared memory for real thread pools, and 64-bit addressing.
        Wasm64Extended = 17,
        /// The one class of a monoversioned build: every capability its floor implies or its preset vouches for, as the
        /// kernel libraries compiled them.
        Monoversioned = 18,
    }
}

enumeration! {
    /// The GPU families UForm ships tuned variants for, the device twin of [`CPUClass`]: dispatch reports its pick in this
    /// vocabulary, and a VRAM placement may pin one.
    ///
    /// Mirrors `uform_gpu_class_t`.
    GPUClass {
        /// Ampere-class NVIDIA and every GPU without a class of its own - A100, A10 & RTX 30.
        NvidiaAmpere = 1,
        /// Ada-class NVIDIA - L4, L40S & RTX 40: the fp8 conversions.
        NvidiaAda = 2,
        /// Hopper-class NVIDIA - H100 & H200.
        NvidiaHopper = 3,
        /// Blackwell-class NVIDIA - B200, B300 & GB300.
        NvidiaBlackwell = 4,
        /// Consumer Blackwell NVIDIA - RTX 50, RTX PRO 6000 & DGX Spark.
        NvidiaBlackwellRtx = 5,
        /// Rubin-class NVIDIA - the Vera-Rubin platform's device half.
        NvidiaRubin = 6,
        /// CDNA3 AMD - MI300X & MI325X: gfx942, FNUZ fp8.
        AmdCdna3 = 7,
        /// CDNA4 AMD - MI350X & MI355X: gfx950, OCP fp8.
        AmdCdna4 = 8,
        /// CDNA5 AMD - MI400: gfx1250.
        AmdCdna5 = 9,
        /// Apple7-family GPUs and every Apple GPU without a class of its own - M1 & M2.
        AppleMetal7 = 10,
        /// Apple9-family GPUs - M3 & M4.
        AppleMetal9 = 11,
        /// Apple10-family GPUs - M5.
        AppleMetal10 = 12,
    }
}

enumeration! {
    /// The GPU vendors one binary drives at once.
    ///
    /// Mirrors `uform_gpu_vendor_t`.
    GPUVendor {
        /// NVIDIA, through the CUDA driver.
        Nvidia = 1,
        /// AMD, through the HIP runtime.
        Amd = 2,
        /// Apple, through Metal.
        Apple = 3,
    }
}

enumeration! {
    /// How a mesh's NVLink domains reduce.
    ///
    /// Mirrors `uform_multimem_tier_t`.
    MultimemTier {
        /// The NVLink switch reduces through multicast memory.
        SwitchReduced = 0,
        /// Every member reads its peers in a fixed order, where multicast is absent; bit-identical results.
        PeerRead = 1,
    }
}

enumeration! {
    /// Scalar types of weights, of arithmetic and of embeddings.
    ///
    /// Mirrors `uform_scalar_t`.
    Scalar {
        /// 32-bit floating point.
        F32 = 1,
        /// 16-bit floating point: IEEE half precision.
        F16 = 2,
        /// 16-bit floating point: the upper half of an f32.
        Bf16 = 3,
        /// Signed bytes, -1 to 1 mapped to -127 to 127.
        I8 = 4,
        /// Signs, eight to a byte, the first in the highest bit.
        B1 = 5,
    }
}

enumeration! {
    /// How token vectors become one vector; several at once are concatenated in ascending order of value.
    ///
    /// Mirrors `uform_pooling_t`.
    Pooling {
        /// The first token's vector.
        Cls = 1,
        /// The largest of each dimension.
        Max = 2,
        /// The mean.
        Mean = 4,
        /// The sum, divided by the square root of the number of tokens.
        MeanSqrtLen = 8,
        /// The mean, weighted by position.
        Weightedmean = 16,
        /// The last token's vector.
        Lasttoken = 32,
    }
}

tokens!(Mood, ffi::Mood, i32, uform_mood_name, uform_mood_parse);
tokens!(CPUClass, ffi::CPUClass, i32, uform_cpu_class_name, uform_cpu_class_parse);
tokens!(GPUClass, ffi::GPUClass, i32, uform_gpu_class_name, uform_gpu_class_parse);
tokens!(MultimemTier, ffi::MultimemTier, i32, uform_multimem_tier_name, uform_multimem_tier_parse);
tokens!(Scalar, ffi::Scalar, i32, uform_scalar_name, uform_scalar_parse);
tokens!(Pooling, ffi::Pooling, u32, uform_pooling_name, uform_pooling_parse);

impl Pooling {
    /// The modes in a set of bits, in ascending order.
    pub(crate) fn from_bits(bits: ffi::Pooling) -> Vec<Self> {
        Self::ALL.iter().copied().filter(|pooling| bits.0 & *pooling as u32 != 0).collect()
    }
}

/// The value C has for a CPU class that may be left to it.
pub(crate) fn cpu_class_value(cpu_class: Option<CPUClass>) -> ffi::CPUClass {
    ffi::CPUClass(cpu_class.map_or(0, |cpu_class| cpu_class as i32))
}

/// The value C has for a GPU class that may be left to it.
pub(crate) fn gpu_class_value(gpu_class: Option<GPUClass>) -> ffi::GPUClass {
    ffi::GPUClass(gpu_class.map_or(0, |gpu_class| gpu_class as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A variant's name in C: words of lower case, joined by underscores.
    fn snake(variant: &str) -> String {
        let mut token = String::new();
        for (index, letter) in variant.char_indices() {
            if letter.is_uppercase() && index > 0 {
                token.push('_');
            }
            token.extend(letter.to_lowercase());
        }
        token
    }

    /// Every variant has C's name for its value, comes back from it, and no value beyond them has a name.
    fn check_names<T>(variants: &[T], name_of: impl Fn(i32) -> String, value_of: impl Fn(T) -> i32)
    where
        T: Copy + PartialEq + fmt::Debug + fmt::Display + FromStr<Err = Status>,
    {
        for variant in variants {
            let token = variant.to_string();
            assert_eq!(token, snake(&format!("{:?}", variant)));
            assert_eq!(token, name_of(value_of(*variant)));
            assert_eq!(token.parse::<T>(), Ok(*variant));
            assert_eq!(format!("{:>32}", variant).len(), 32);
            assert_eq!(token.to_uppercase().parse::<T>(), Err(Status::NotFound));
        }
        let largest = variants.iter().map(|variant| value_of(*variant)).max().unwrap_or(0);
        assert_eq!(name_of(largest + 1), "unknown");
        for token in ["", "derived", "unknown", "serial\0", " f32"] {
            assert_eq!(token.parse::<T>(), Err(Status::NotFound), "{:?}", token);
        }
    }

    #[test]
    fn names_are_those_of_the_library() {
        // SAFETY: any value may be asked about, and answers have static storage.
        unsafe {
            check_names(
                Mood::ALL,
                |value| static_text(ffi::uform_mood_name(ffi::Mood(value))).into(),
                |mood| mood as i32,
            );
            check_names(
                CPUClass::ALL,
                |value| static_text(ffi::uform_cpu_class_name(ffi::CPUClass(value))).into(),
                |class| class as i32,
            );
            check_names(
                GPUClass::ALL,
                |value| static_text(ffi::uform_gpu_class_name(ffi::GPUClass(value))).into(),
                |class| class as i32,
            );
            check_names(
                MultimemTier::ALL,
                |value| static_text(ffi::uform_multimem_tier_name(ffi::MultimemTier(value))).into(),
                |tier| tier as i32,
            );
            check_names(
                Scalar::ALL,
                |value| static_text(ffi::uform_scalar_name(ffi::Scalar(value))).into(),
                |scalar| scalar as i32,
            );
        }
    }

    #[test]
    fn poolings_are_those_of_the_library() {
        for (index, pooling) in Pooling::ALL.iter().enumerate() {
            assert_eq!(*pooling as i32, 1 << index);
            assert_eq!(pooling.to_string(), snake(&format!("{:?}", pooling)));
            assert_eq!(pooling.to_string().parse(), Ok(*pooling));
        }
        // SAFETY: any value may be asked about, and the answer has static storage.
        let beyond = unsafe { static_text(ffi::uform_pooling_name(ffi::Pooling(1 << Pooling::ALL.len()))) };
        assert_eq!(beyond, "unknown");
        assert_eq!("cls+mean".parse::<Pooling>(), Err(Status::NotFound));
    }
}
