# Installed tree; the package files come with the packaging work.
install(TARGETS cmg EXPORT cmg-targets PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
