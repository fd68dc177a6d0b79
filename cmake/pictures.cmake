# The libraries that decode pictures, by their pkg-config files, as one target: PkgConfig::PICTURES. The installed package asks for
# the same ones, and so does the build script of the Rust crate.
set(UFORM_PICTURE_MODULES libjpeg>=2.0 spng>=0.7 zlib libwebp>=1.0 libwebpdemux libavif>=0.11 libgif>=5.1 libtiff-4>=4.5)
pkg_check_modules(PICTURES REQUIRED IMPORTED_TARGET ${UFORM_PICTURE_MODULES})
