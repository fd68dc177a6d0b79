//! The C interface as the headers in `include/uform` declare it, every type and function written once.
//!
//! The macros below make both the declarations and, for tests, their C spelling: `ffi_tests.rs` has a C compiler
//! compare each size, offset, type and prototype with the headers, so that the two can't drift apart.

use std::os::raw::{c_char, c_void};

/// Opaque handles, enumerations and sets of bits: a transparent type of its own for each, so that they can't be mixed up.
macro_rules! newtypes {
    ($($name:ident($inner:ty) = $c:literal;)*) => {
        $(
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            #[repr(transparent)]
            pub struct $name(pub $inner);

            #[cfg(test)]
            impl spelling::CType for $name {
                fn spell() -> String {
                    $c.into()
                }
            }
        )*
    };
}

/// Structs that cross the interface, field by field in the headers' order.
macro_rules! structs {
    ($($name:ident = $c:literal { $($field:ident: $type:ty,)* })*) => {
        $(
            #[derive(Clone, Copy)]
            #[repr(C)]
            pub struct $name {
                $(pub $field: $type,)*
            }

            #[cfg(test)]
            impl spelling::CType for $name {
                fn spell() -> String {
                    $c.into()
                }
            }
        )*

        /// Assertions in C about every struct's size and every field's offset and type.
        #[cfg(test)]
        pub fn spell_structs() -> Vec<String> {
            let mut lines = Vec::new();
            $({
                let place = std::mem::MaybeUninit::<$name>::uninit();
                let base = place.as_ptr();
                lines.push(spelling::size_line($c, std::mem::size_of::<$name>()));
                // SAFETY: only addresses within `place` are taken, nothing is read.
                $(lines.push(spelling::field_line::<$type>(
                    $c, stringify!($field), unsafe { std::ptr::addr_of!((*base).$field) } as usize - base as usize));)*
            })*
            lines
        }
    };
}

/// Functions of the library.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        extern "C" {
            $(pub fn $name($($argument: $type),*) $(-> $result)?;)*
        }

        /// Pointers in C of the type declared here, set to the headers' functions.
        #[cfg(test)]
        pub fn spell_functions() -> Vec<String> {
            vec![$({
                let arguments: Vec<String> = vec![$(<$type as spelling::CType>::spell()),*];
                let results: Vec<String> = vec![$(<$result as spelling::CType>::spell())?];
                spelling::function_line(stringify!($name), &arguments, results.first())
            }),*]
        }
    };
}

newtypes! {
    Executor(*mut c_void) = "uform_executor_t";
    Model(*mut c_void) = "uform_model_t";
    Call(*mut c_void) = "uform_call_t";
    Arena(*mut c_void) = "uform_arena_t";
    Status(i32) = "uform_status_t";
    Mood(i32) = "uform_mood_t";
    Scalar(i32) = "uform_scalar_t";
    CPUClass(i32) = "uform_cpu_class_t";
    GPUClass(i32) = "uform_gpu_class_t";
    GPUVendor(i32) = "uform_gpu_vendor_t";
    MultimemTier(i32) = "uform_multimem_tier_t";
    Switch(i32) = "uform_switch_t";
    ImageLayout(i32) = "uform_image_layout_t";
    Pooling(u32) = "uint32_t";
}

structs! {
    GPUDevice = "uform_gpu_device_t" {
        vendor: GPUVendor,
        vendor_ordinal: u32,
        gpu_class: GPUClass,
        compute_units: u32,
        memory_bytes: u64,
        name: [c_char; 128],
    }

    ExecutorDescription = "uform_executor_description_t" {
        threads: usize,
        cpu_class: CPUClass,
        mood: Mood,
    }

    ModelOptions = "uform_model_options_t" {
        size: usize,
        precision: Scalar,
        cpu_class: CPUClass,
    }

    ModelDescription = "uform_model_description_t" {
        architecture: [c_char; 32],
        activation: [c_char; 32],
        precision: Scalar,
        cpu_class: CPUClass,
        dimensions: usize,
        width: usize,
        layers: usize,
        heads: usize,
        feed_forward_width: usize,
        vocabulary_count: usize,
        max_tokens: usize,
        pooling: Pooling,
        dense_count: usize,
        normalize: bool,
        prompt_count: usize,
        default_prompt: [c_char; 64],
        weights_bytes: usize,
        flops_per_token: f64,
        encodes_texts: bool,
        encodes_images: bool,
        image_height: usize,
        image_width: usize,
        patch_size: usize,
        image_tokens: usize,
        image_layers: usize,
        image_hidden_width: usize,
        flops_per_image: f64,
        logit_scale: f64,
        logit_bias: f64,
        has_logit_bias: bool,
    }

    Text = "uform_text_t" {
        data: *const c_char,
        length: usize,
    }

    Image = "uform_image_t" {
        data: *const c_void,
        length: usize,
        layout: ImageLayout,
        width: usize,
        height: usize,
        stride_bytes: usize,
    }

    EncodeOptions = "uform_encode_options_t" {
        size: usize,
        scalar: Scalar,
        dimensions: usize,
        normalize: Switch,
        pooling: Pooling,
        prompt_name: *const c_char,
        prompt: *const c_char,
        max_tokens: usize,
        truncate_left: Switch,
        literal_specials: bool,
        image_orientation: Switch,
        image_flatten: Switch,
        image_pixel_limit: usize,
    }

    ItemReport = "uform_item_report_t" {
        status: Status,
        token_count: u32,
        truncated: bool,
    }

    EncodeReport = "uform_encode_report_t" {
        size: usize,
        items: *mut ItemReport,
        token_count: usize,
        truncated_count: usize,
        failed_count: usize,
    }
}

functions! {
    fn uform_status_name(status: Status) -> *const c_char;
    fn uform_status_text(status: Status) -> *const c_char;
    fn uform_last_detail() -> *const c_char;

    fn uform_scalar_name(scalar: Scalar) -> *const c_char;
    fn uform_scalar_parse(token: *const c_char, scalar: *mut Scalar) -> Status;
    fn uform_cpu_class_name(cpu_class: CPUClass) -> *const c_char;
    fn uform_cpu_class_parse(token: *const c_char, cpu_class: *mut CPUClass) -> Status;
    fn uform_gpu_class_name(gpu_class: GPUClass) -> *const c_char;
    fn uform_gpu_class_parse(token: *const c_char, gpu_class: *mut GPUClass) -> Status;
    fn uform_multimem_tier_name(tier: MultimemTier) -> *const c_char;
    fn uform_multimem_tier_parse(token: *const c_char, tier: *mut MultimemTier) -> Status;
    fn uform_mood_name(mood: Mood) -> *const c_char;
    fn uform_mood_parse(token: *const c_char, mood: *mut Mood) -> Status;
    fn uform_pooling_name(pooling: Pooling) -> *const c_char;
    fn uform_pooling_parse(token: *const c_char, pooling: *mut Pooling) -> Status;

    fn uform_capabilities_compiled() -> *const c_char;
    fn uform_capabilities_available() -> *const c_char;

    fn uform_gpu_devices(devices: *mut GPUDevice, capacity: usize, count: *mut usize) -> Status;

    fn uform_executor_for_ram(
        memory_domains: *const i32,
        memory_domain_count: usize,
        cpu_class: CPUClass,
        threads: usize,
        deferred_limit: usize,
        executor: *mut Executor,
    ) -> Status;
    fn uform_executor_on_pool(
        memory_domains: *const i32,
        memory_domain_count: usize,
        cpu_class: CPUClass,
        pool: *mut c_void,
        deferred_limit: usize,
        executor: *mut Executor,
    ) -> Status;
    fn uform_executor_for_vram(
        devices: *const i32,
        device_count: usize,
        gpu_class: GPUClass,
        memory_domains: *const i32,
        memory_domain_count: usize,
        cpu_class: CPUClass,
        streams: *const *mut c_void,
        stream_count: usize,
        scratch_limit: usize,
        deferred_limit: usize,
        executor: *mut Executor,
    ) -> Status;
    fn uform_executor_drain(executor: Executor, mood: Mood) -> Status;
    fn uform_executor_free(executor: Executor);
    fn uform_executor_describe(executor: Executor, description: *mut ExecutorDescription) -> Status;

    fn uform_call_await(call: Call, timeout_seconds: f64) -> Status;
    fn uform_call_poll(call: Call, finished: *mut bool) -> Status;
    fn uform_call_free(call: Call);

    fn uform_arena_new_in(executor: Executor, bytes: usize, arena: *mut Arena) -> Status;
    fn uform_arena_allocate(arena: Arena, bytes: usize, alignment: usize, memory: *mut *mut c_void) -> Status;
    fn uform_arena_reset(arena: Arena) -> Status;
    fn uform_arena_free(arena: Arena);

    fn uform_model_load_ram(
        directory: *const c_char,
        memory_domains: *const i32,
        memory_domain_count: usize,
        options: *const ModelOptions,
        model: *mut Model,
    ) -> Status;
    fn uform_model_load_vram(
        directory: *const c_char,
        devices: *const i32,
        device_count: usize,
        options: *const ModelOptions,
        model: *mut Model,
    ) -> Status;
    fn uform_model_free(model: Model);
    fn uform_model_describe(model: Model, description: *mut ModelDescription) -> Status;
    fn uform_model_prompt(
        model: Model,
        index: usize,
        name: *mut *const c_char,
        text: *mut *const c_char,
    ) -> Status;

    fn uform_encode_texts(
        model: Model,
        executor: Executor,
        texts: *const Text,
        count: usize,
        options: *const EncodeOptions,
        embeddings: *mut c_void,
        stride_bytes: usize,
        report: *mut EncodeReport,
    ) -> Status;
    fn uform_encode_images(
        model: Model,
        executor: Executor,
        images: *const Image,
        count: usize,
        options: *const EncodeOptions,
        embeddings: *mut c_void,
        stride_bytes: usize,
        report: *mut EncodeReport,
    ) -> Status;
    fn uform_image_pixels(
        model: Model,
        image: Image,
        options: *const EncodeOptions,
        pixels: *mut f32,
        capacity: usize,
        shape: *mut usize,
    ) -> Status;
    fn uform_defer_texts(
        model: Model,
        executor: Executor,
        texts: *const Text,
        count: usize,
        options: *const EncodeOptions,
        embeddings: *mut c_void,
        stride_bytes: usize,
        report: *mut EncodeReport,
        call: *mut Call,
    ) -> Status;
    fn uform_defer_images(
        model: Model,
        executor: Executor,
        images: *const Image,
        count: usize,
        options: *const EncodeOptions,
        embeddings: *mut c_void,
        stride_bytes: usize,
        report: *mut EncodeReport,
        call: *mut Call,
    ) -> Status;
    fn uform_encode_dimensions(model: Model, options: *const EncodeOptions, dimensions: *mut usize) -> Status;
    fn uform_tokenize(
        model: Model,
        text: Text,
        options: *const EncodeOptions,
        ids: *mut u32,
        capacity: usize,
        count: *mut usize,
    ) -> Status;
}

/// How the types above are written in C.
#[cfg(test)]
#[path = "ffi_spelling.rs"]
mod spelling;

#[cfg(test)]
#[path = "ffi_tests.rs"]
mod tests;
