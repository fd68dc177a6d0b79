# What `cmake --install` puts where: libraries, headers, the licence, a pkg-config file and a CMake package.
include(CMakePackageConfigHelpers)

install(TARGETS uform EXPORT uform_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS uform_static EXPORT uform_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/uform DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(UFORM_PACKAGE_DIRECTORY ${CMAKE_INSTALL_LIBDIR}/cmake/uform)
install(EXPORT uform_shared NAMESPACE uform:: FILE uform-shared.cmake DESTINATION ${UFORM_PACKAGE_DIRECTORY})
install(EXPORT uform_static NAMESPACE uform:: FILE uform-static.cmake DESTINATION ${UFORM_PACKAGE_DIRECTORY})
list(JOIN UFORM_PICTURE_MODULES " " UFORM_PACKAGE_PICTURES)
configure_package_config_file(cmake/uform-config.cmake.in ${PROJECT_BINARY_DIR}/uform-config.cmake
  INSTALL_DESTINATION ${UFORM_PACKAGE_DIRECTORY})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/uform-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/uform-config.cmake ${PROJECT_BINARY_DIR}/uform-config-version.cmake
  DESTINATION ${UFORM_PACKAGE_DIRECTORY})

# The pkg-config file finds its prefix from where it lies, so that an installed tree can be moved.
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR UFORM_LIBDIR_IS_ABSOLUTE)
if(UFORM_LIBDIR_IS_ABSOLUTE)
  set(UFORM_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  set(UFORM_PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH UFORM_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" UFORM_PC_UP "${UFORM_PC_UP}")
  set(UFORM_PC_PREFIX "\${pcfiledir}/${UFORM_PC_UP}")
  set(UFORM_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_INCLUDEDIR UFORM_INCLUDEDIR_IS_ABSOLUTE)
if(UFORM_INCLUDEDIR_IS_ABSOLUTE)
  set(UFORM_PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(UFORM_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
# Not as requirements of the file, which would ask the linker for what only static ones of these libraries need.
list(JOIN HWLOC_LDFLAGS " " UFORM_PC_HWLOC)
list(JOIN PICTURES_LDFLAGS " " UFORM_PC_PICTURES)
configure_file(cmake/uform.pc.in ${PROJECT_BINARY_DIR}/uform.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/uform.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
